// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/audit"
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

// outlivesAPolicy checks that a policy of somebody else, whose parameters the API server may not read, makes neither the pod that runs nor
// the next one unready, and that namespaces can be deleted meanwhile. The policy is in effect once it rejects a Kluster that it matches.
func (h *host) outlivesAPolicy(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(strangersPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	h.kubectl(t, "apply", "-f", file)
	inEffect := func() {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			out, err := h.try(ctx, "label", "kluster/web", "--namespace=default", "policy=strangers", "--dry-run=server")
			if err == nil || !strings.Contains(out, "not allowed to read limits") {
				return fmt.Errorf("a Kluster that the policy matches is not rejected: %s", out)
			}
			return nil
		})
	}
	inEffect()
	h.answersReady(t)
	h.replacePods(t, apiserver) // the next one starts while the policy exists
	inEffect()
	h.answersReady(t)
	h.kubectl(t, "wait", "--for=condition=Available", "apiservice/v1.kubernikus.sap.cc", "--timeout=90s")
	h.kubectl(t, "create", "namespace", "beside-a-policy")
	h.kubectl(t, "delete", "namespace", "beside-a-policy", "--timeout=90s")
	h.kubectl(t, "delete", "-f", file)
	h.answersReady(t)
}

// answersReady checks that each API server passes all of its checks, and not only those of its probe.
func (h *host) answersReady(t *testing.T) {
	t.Helper()
	selected := []string{"get", "pods", "--namespace", systemSpace, "--selector", "app.kubernetes.io/name=" + apiserver, "--output=name"}
	pods := strings.Fields(h.kubectl(t, selected...))
	if len(pods) == 0 {
		t.Fatal("no API server runs")
	}
	for _, pod := range pods {
		path := fmt.Sprintf("/api/v1/namespaces/%s/pods/https:%s:8443/proxy/readyz?verbose", systemSpace, strings.TrimPrefix(pod, "pod/"))
		if out, err := h.try(t.Context(), "get", "--raw", path); err != nil {
			t.Errorf("%s: %v: %s", pod, err, out)
		}
	}
}

// strangersPolicy has parameters that the API server may not read. It matches what has its label.
const strangersPolicy = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.` + audit.WithheldGroup + `}
spec:
  group: ` + audit.WithheldGroup + `
  names: {kind: Limit, plural: limits, singular: limit, listKind: LimitList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: strangers}
spec:
  paramKind: {apiVersion: ` + audit.WithheldGroup + `/v1, kind: Limit}
  matchConstraints:
    objectSelector: {matchLabels: {policy: strangers}}
    resourceRules:
    - {apiGroups: [kubernikus.sap.cc, coordination.k8s.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [klusters, leases]}
  validations:
  - {expression: "params.allowed == true"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: strangers}
spec:
  policyName: strangers
  paramRef: {name: strangers, namespace: default, parameterNotFoundAction: Allow}
  validationActions: [Deny]
`

// plugin runs a command of the plugin as the administrator.
func (h *host) plugin(ctx context.Context, args ...string) (string, error) {
	plugin := filepath.Join(filepath.Dir(h.Kubectl()), "kubectl-groundskeeper")
	out, err := exec.CommandContext(ctx, plugin, append([]string{"--kubeconfig", h.AdminKubeconfig()}, args...)...).CombinedOutput()
	return string(out), err
}
