// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/audit"
)

// limited is the kind of the parameters, which only administrators may read.
const limited = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.GROUP}
spec:
  group: GROUP
  scope: Cluster
  names: {plural: limits, singular: limit, kind: Limit, listKind: LimitList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {longest: {type: integer}}}}
`

// limitedPolicy is a policy for the objects of this test.
const limitedPolicy = `
apiVersion: GROUP/v1
kind: Limit
metadata: {name: NAME}
longest: 3
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  paramKind: {apiVersion: GROUP/v1, kind: Limit}
  matchConstraints:
    objectSelector: {matchLabels: {limited: NAME}}
    resourceRules:
    - {apiGroups: [kubernikus.sap.cc], apiVersions: ["*"], operations: [CREATE], resources: [klusters]}
  validations:
  - {expression: "size(object.metadata.name) <= params.longest", message: the name is too long}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  paramRef: {name: NAME, parameterNotFoundAction: Deny}
  validationActions: [Deny]
`

// limitedRole lets Groundskeeper's API server read the parameters.
const limitedRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME, labels: {groundskeeper.io/aggregate-to-policy-parameters: "true"}}
rules:
- {apiGroups: [GROUP], resources: [limits], verbs: [get, list, watch]}
`

// TestPoliciesWithParameters checks that a policy rejects the objects it matches if the API server cannot read its parameters, that
// the status page and the plugin report the missing permission, and that a ClusterRole with the label grants it.
func TestPoliciesWithParameters(t *testing.T) {
	t.Parallel()
	namespace, own := freshNamespace(t, "limits"), name(t, "limited")
	apply := func(manifest string) {
		t.Helper()
		manifest = strings.NewReplacer("NAME", own, "GROUP", audit.WithheldGroup).Replace(manifest)
		eventually(t, func(context.Context) error { // a new kind is not served immediately
			out, err := kubectl(t, manifest, "apply", "-f", "-")
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
		t.Cleanup(func() {
			command := kubectlCommand(context.Background(), "delete", "--ignore-not-found", "-f", "-")
			command.Stdin = strings.NewReader(manifest)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	create := func(ctx context.Context, name string) error {
		k := klusterIn(namespace, name, "1.36.3")
		k.Spec.Name, k.Labels = "short", map[string]string{"limited": own}
		return admin(t).Create(ctx, k, client.DryRunAll)
	}
	problem := "ValidatingAdmissionPolicy " + own
	const reason = "not allowed to get, list, watch limits." + audit.WithheldGroup
	page := func(server int) string {
		c, err := kubernetes.NewForConfig(shared.DirectConfig(server))
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.RESTClient().Get().AbsPath("/statusz/groundskeeper").SetHeader("Accept", "application/json").Do(t.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	plugin := func() string {
		command := exec.CommandContext(t.Context(), shared.Kubectl(), "groundskeeper", "--kubeconfig", shared.AdminKubeconfig(), "status")
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(shared.Kubectl())+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && (!failed || exit.ExitCode() != 1) { // there are findings
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}

	apply(limited)
	apply(limitedPolicy)
	soon(t, "not allowed to read limits."+audit.WithheldGroup, func(ctx context.Context) error { return create(ctx, "k") })
	for what, text := range map[string]string{"the status page": page(0), "the plugin": plugin()} {
		if !strings.Contains(text, problem) || !strings.Contains(text, reason) {
			t.Errorf("%s does not report %q and %q: %s", what, problem, reason, text)
		}
	}

	apply(limitedRole)
	eventually(t, func(ctx context.Context) error { return create(ctx, "k") })
	soon(t, "the name is too long", func(ctx context.Context) error { return create(ctx, "long") })
	for what, text := range map[string]string{"the status page": page(1), "the plugin": plugin()} {
		if strings.Contains(text, problem) {
			t.Errorf("%s still reports %q: %s", what, problem, text)
		}
	}
}
