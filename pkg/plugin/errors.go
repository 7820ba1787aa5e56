// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
)

// Exit codes.
const (
	// ExitFindings: the command worked, and there is something to report, or it was not confirmed.
	ExitFindings = 1
	// ExitFailed means that a check or an action failed.
	ExitFailed = 2
	// ExitInterrupted: it was interrupted, as by Ctrl-C.
	ExitInterrupted = 130
)

// errFindings ends a command that has printed what there is to report.
var errFindings = errors.New("there are findings")

// ExitCode returns the exit code of the error of a command, and the text that is still to be printed, "" for none.
func ExitCode(ctx context.Context, err error) (code int, text string) {
	switch {
	case err == nil:
		return 0, ""
	case errors.Is(err, errFindings):
		return ExitFindings, ""
	case ctx.Err() != nil:
		return ExitInterrupted, "interrupted. What was started continues; run the same command again to see it"
	case errors.Is(err, errDeclined), errors.Is(err, errBlocked):
		return ExitFindings, err.Error()
	default:
		return ExitFailed, err.Error()
	}
}

// explained replaces or completes errors of client libraries that do not state a remedy. Others remain unchanged.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		return errors.New("the cluster rejects your credentials (401 Unauthorized): they are invalid or have expired; check with kubectl auth " +
			"whoami")
	case meta.IsNoMatchError(err):
		return fmt.Errorf("Groundskeeper is not installed in this cluster, or not with this API (%w): "+ //nolint:staticcheck // a name
			"see kubectl get apiservices, and docs/install.md", err)
	}
	if group := groupOf(err); isOwn(group) {
		return fmt.Errorf("groundskeeper-apiserver is unavailable (%w): see its log, and kubectl describe apiservice %s", causeOf(err),
			apiServiceOf(group))
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the cluster does not respond: %w. Check the server of the kubeconfig (kubectl cluster-info)", failed)
	}
	return err
}

// kubeconfigError explains why the kubeconfig and the flags are not usable.
func kubeconfigError(err error) error {
	if files := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); clientcmd.IsEmptyConfig(err) && files != "" {
		return fmt.Errorf("there is no kubeconfig: KUBECONFIG is %s, which is empty or does not exist; correct it, or pass --kubeconfig", files)
	}
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("there is no kubeconfig: set KUBECONFIG, or pass --kubeconfig")
	}
	return fmt.Errorf("cannot use the kubeconfig: %w (see kubectl config view, and kubectl config get-contexts)", err)
}

// groupOf returns the API group that is not served or unavailable by an error, "" if that is not the error.
func groupOf(err error) string {
	if kind, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return kind.GroupKind.Group
	}
	if resource, ok := errors.AsType[*meta.NoResourceMatchError](err); ok {
		return resource.PartialResource.Group
	}
	if failed, ok := errors.AsType[*apiutil.ErrResourceDiscoveryFailed](err); ok {
		for version := range *failed {
			if isOwn(version.Group) {
				return version.Group
			}
		}
	}
	var status apierrors.APIStatus
	if apierrors.IsServiceUnavailable(err) && errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Group
	}
	return ""
}

// causeOf returns what the server responded, without what the client libraries were doing.
func causeOf(err error) error {
	if failed, ok := errors.AsType[*apiutil.ErrResourceDiscoveryFailed](err); ok {
		for version, cause := range *failed {
			if isOwn(version.Group) {
				return cause
			}
		}
	}
	return err
}

// apiServiceOf returns the name of the APIService of a group of Groundskeeper.
func apiServiceOf(group string) string {
	return newScheme().PrioritizedVersionsForGroup(group)[0].Version + "." + group
}

// isOwn reports whether a group is served by Groundskeeper. Every scheme has types without a group.
func isOwn(group string) bool {
	return group != "" && len(newScheme().PrioritizedVersionsForGroup(group)) > 0
}

// newScheme has the kinds of Groundskeeper.
func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	// It fails only for types that contradict each other, which every test would notice.
	_ = scheme.AddToScheme(s)
	return s
}
