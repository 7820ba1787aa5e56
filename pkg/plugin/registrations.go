// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// rejectedProxy is the remedy where the kube-apiserver accepts a user, and the API server of Groundskeeper does not accept the
// kube-apiserver: with a CA that it does not know, each of its requests is anonymous.
const rejectedProxy = "groundskeeper-apiserver rejects the requests of the kube-apiserver (401 Unauthorized): it does not trust the " +
	"certificate of its front proxy. Compare --requestheader-client-ca-file of the kube-apiserver with requestheader-client-ca-file in " +
	"ConfigMap kube-system/extension-apiserver-authentication, and run kubectl rollout restart -n groundskeeper-system " +
	"deployment/groundskeeper-apiserver"

// explained is the function of that name, with the cause that the cluster reports: whether it rejects the user or its API server, and
// why an API that is registered is not served.
func (c *command) explained(ctx context.Context, err error) error {
	switch {
	case c.client == nil:
	case apierrors.IsUnauthorized(err) && c.authenticated(ctx):
		return errors.New(rejectedProxy)
	default:
		if reason := c.unserved(ctx, groupOf(err)); reason != "" {
			return errors.New(reason)
		}
	}
	return explained(err)
}

// authenticated reports whether the kube-apiserver accepts the credentials of the user. A denial is no rejection of the credentials.
func (c *command) authenticated(ctx context.Context) bool {
	err := c.client.Create(ctx, &authenticationv1.SelfSubjectReview{})
	return err == nil || apierrors.IsForbidden(err)
}

// unserved returns why an API of Groundskeeper is not served, as its APIService reports it; "" if that reports nothing, or does not exist.
func (c *command) unserved(ctx context.Context, group string) string {
	if !isOwn(group) {
		return ""
	}
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	name := apiServiceOf(group)
	switch err := c.client.Get(ctx, client.ObjectKey{Name: name}, service); {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("%s is not served, and you are not allowed to read APIService %s, which shows why: ask a cluster administrator",
			group, name)
	case err != nil:
		return ""
	}
	reason := unavailableReason(service)
	namespace := &corev1.Namespace{}
	if reason != "" && c.client.Get(ctx, client.ObjectKey{Name: uninstall.SystemNamespace}, namespace) == nil &&
		!namespace.DeletionTimestamp.IsZero() {
		return fmt.Sprintf("APIService %s is unavailable: %s", name, uninstall.Terminating)
	}
	return reason
}

// unavailableReason returns why an APIService of Groundskeeper is not available, with what to do about it; "" if it is, or if another
// server has it.
func unavailableReason(service *unstructured.Unstructured) string {
	if namespace, _, _ := unstructured.NestedString(service.Object, "spec", "service", "namespace"); namespace != uninstall.SystemNamespace {
		return ""
	}
	reason, message, known := uninstall.Unavailability(service)
	switch {
	case message == "":
		return ""
	case !known:
		return fmt.Sprintf("APIService %s is unavailable: the kube-apiserver has not checked it yet", service.GetName())
	}
	message = strings.TrimSuffix(message, ".")
	return fmt.Sprintf("APIService %s is unavailable: %s: %s: %s", service.GetName(), reason, message, remedyOf(reason, message))
}

// remedyOf returns what to do about an APIService that is unavailable.
func remedyOf(reason, message string) string {
	switch {
	case reason == "ServiceNotFound", reason == "ServicePortError":
		return "apply the manifests of the installation again (docs/install.md)"
	case reason == "EndpointsNotFound", reason == "MissingEndpoints":
		return "no pod of groundskeeper-apiserver is ready: kubectl groundskeeper check shows why"
	case strings.Contains(message, "x509"):
		return "the caBundle does not match the certificate of the server: docs/certificates.md"
	case strings.HasSuffix(message, ": 401"):
		return rejectedProxy
	}
	return "see kubectl logs -n groundskeeper-system deployment/groundskeeper-apiserver, and whether a network policy or firewall blocks " +
		"port 8443 from the control plane"
}
