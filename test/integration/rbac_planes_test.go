// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/permissions"
	"groundskeeper.io/groundskeeper/test/plane"
)

// used is what the audit logs of all planes show about the permissions in artifacts/.
var used *permissions.Use

// startAudited starts a plane that is audited.
func startAudited(ctx context.Context, t *testing.T, options plane.Options) (*plane.Plane, error) {
	t.Helper()
	return plane.Start(ctx, audited(t, options))
}

// audited returns the options of a plane of which is read, when the test is over and the plane is stopped, which permissions
// Groundskeeper's processes needed there. One without a dedicated audit log gets one. Its servers send no lists by watches, as
// those before Kubernetes 1.34, so that a client that watches has to list, too; the shared plane is like those of today.
func audited(t *testing.T, options plane.Options) plane.Options {
	t.Helper()
	log := auditLogOf(options)
	if log == "" {
		log = filepath.Join(t.TempDir(), "audit.log")
		options.KubeAPIServerFlags = append(options.KubeAPIServerFlags, "--audit-policy-file="+write(t, auditPolicy), "--audit-log-path="+log)
	}
	const noStreams = "--feature-gates=WatchList=false"
	options.KubeAPIServerFlags = append(slices.Clone(options.KubeAPIServerFlags), noStreams, blocksOwners)
	if !slices.Contains(options.APIServerFlags, streams) {
		options.APIServerFlags = append(slices.Clone(options.APIServerFlags), noStreams)
	}
	options.GOGC = gogc
	t.Cleanup(func() { // after the one that stops the plane, which is registered later
		if err := used.Read(log); err != nil && !errors.Is(err, os.ErrNotExist) { // a plane that did not start has no audit log
			t.Error(err)
		}
	})
	return options
}

// streams lets the API servers of an audited plane send lists by watches nevertheless.
const streams = "--feature-gates=WatchList=true"

// gogc saves a fifth of the CPU time that the start of a plane takes. Groundskeeper's commands save memory instead; the plane of
// TestMetrics runs them as shipped.
const gogc = 400

// blocksOwners lets kube-apiserver check whether a user who blocks the deletion of an owner is allowed to do so, as OpenShift's
// does.
const blocksOwners = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"

func auditLogOf(options plane.Options) string {
	for _, f := range options.KubeAPIServerFlags {
		if path, ok := strings.CutPrefix(f, "--audit-log-path="); ok {
			return path
		}
	}
	return ""
}

// applyArtifacts applies files or directories of artifacts/ as an administrator.
func applyArtifacts(t *testing.T, p *plane.Plane, paths ...string) {
	t.Helper()
	for _, path := range paths {
		flag := "-k"
		if filepath.Ext(path) != "" {
			flag = "-f"
		}
		apply := exec.CommandContext(t.Context(), p.Kubectl(), "--kubeconfig", p.AdminKubeconfig(), "apply", flag, filepath.Join("../../artifacts", path))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// kubeconfigFor applies artifacts, and returns a kubeconfig of a ServiceAccount from them.
func kubeconfigFor(t *testing.T, p *plane.Plane, name string, paths ...string) string {
	t.Helper()
	applyArtifacts(t, p, paths...)
	namespace := "groundskeeper-system"
	if name == "discoverer" {
		namespace = "gimbal"
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.KubeconfigFor(path, "system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+namespace); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkPermissionsAreNeeded fails for each permission in artifacts/ that no request of the run needed: it has to go, or a test is missing.
// With it, and with the checks that nothing was forbidden, no rule can be removed without a test that fails. It reports nothing
// after a run of some of the tests, as with -short.
func checkPermissionsAreNeeded() error {
	if selected() || testing.Short() {
		return nil
	}
	if unneeded := used.Unneeded(isProvedByTest); len(unneeded) > 0 {
		return fmt.Errorf("nothing in this run needed these permissions of artifacts/:\n%s", strings.Join(unneeded, "\n"))
	}
	return nil
}

// selected reports whether only some of the tests run.
func selected() bool {
	return flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != ""
}

// isProvedByTest reports whether a dedicated test proves that a right is needed.
func isProvedByTest(right permissions.Right) bool {
	return slices.ContainsFunc(unaudited, func(u permissions.Right) bool {
		return right.Verb == u.Verb && right.Group == u.Group && right.Resource == u.Resource && right.Name == ""
	})
}
