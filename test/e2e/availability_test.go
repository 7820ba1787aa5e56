// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// survivesLoss checks that the API server cannot be deleted by accident, and that the plugin frees the cluster when it is lost: its
// namespaces can be deleted again, and the API works after it was registered again.
func (h *host) survivesLoss(t *testing.T, b build) {
	t.Helper()
	for _, args := range [][]string{
		{"delete", "namespace", systemSpace}, {"delete", "service", "--namespace", systemSpace, apiserver},
		{"scale", "--namespace", systemSpace, "--replicas=0", "deployment/" + apiserver},
	} {
		if out, err := h.try(t.Context(), append(args, "--dry-run=server")...); err == nil || !strings.Contains(out, "kubectl groundskeeper uninstall") {
			t.Errorf("kubectl %q: %v, %s, want that it is denied, and the remedy", args, err, out)
		}
	}
	h.kubectl(t, "annotate", "namespace", systemSpace, "confirmation.gardener.cloud/deletion=true")
	h.kubectl(t, "scale", "--namespace", systemSpace, "--replicas=0", "deployment/"+apiserver)
	h.kubectl(t, "wait", "--namespace", systemSpace, "--for=delete", "pod", "--selector", "app.kubernetes.io/name="+apiserver, "--timeout=120s")
	h.kubectl(t, "create", "namespace", "stuck")
	// The webhooks cannot check what is in it, and without them it would be stuck.
	if out, err := h.try(t.Context(), "delete", "namespace", "stuck", "--wait=false"); err == nil || !strings.Contains(out, "is unavailable") {
		t.Errorf("delete a namespace: %v, %s, want that it is denied", err, out)
	}
	const free = "uninstall --force-unregister"
	if out, err := h.plugin(t.Context(), append(strings.Fields(free), "--yes")...); err != nil {
		t.Fatalf("%s: %v: %s", free, err, out)
	}
	h.kubectl(t, "delete", "namespace", "stuck", "--timeout=90s")
	h.kubectl(t, "scale", "--namespace", systemSpace, "--replicas=1", "deployment/"+apiserver)
	h.kubectl(t, "annotate", "namespace", systemSpace, "confirmation.gardener.cloud/deletion-")
	h.install(t, b)
	h.isReady(t, "example")
}

// plugin runs a command of the plugin as the administrator.
func (h *host) plugin(ctx context.Context, args ...string) (string, error) {
	plugin := filepath.Join(filepath.Dir(h.Kubectl()), "kubectl-groundskeeper")
	out, err := exec.CommandContext(ctx, plugin, append([]string{"--kubeconfig", h.AdminKubeconfig()}, args...)...).CombinedOutput()
	return string(out), err
}
