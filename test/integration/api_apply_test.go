// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestAgreeingManagers checks that field managers that apply the same manifest do not conflict over values that are stored as if they
// were absent, and that an empty value still conflicts with a manager who has set another one.
func TestAgreeingManagers(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "agree")
	for resource, test := range map[string]struct{ manifest, change string }{
		"projects": {`
apiVersion: core.gardener.cloud/v1beta1
kind: Project
metadata: {labels: {}, annotations: {}}
spec:
  tolerations: {defaults: [], whitelist: []}
  dualApprovalForDeletion: [{resource: klusters, selector: {}}]
`, `{"spec":{"tolerations":{"whitelist":[{"key":"a"}]}}}`},
		"klusters": {`
apiVersion: kubernikus.sap.cc/v1
kind: Kluster
spec:
  sshPublicKey: ""
  backup: ""
  noCloud: false
  openstack: {routerID: "", absentServices: []}
  nodePools: [{name: pool, size: 0, flavor: m1.small, availabilityZone: a, taints: [], customRootDiskSize: 0, config: {}}]
`, `{"spec":{"authenticationConfiguration":null,"backup":"off"}}`},
		"translations": {`
apiVersion: midonet.org/v1
kind: Translation
resources: []
`, `{"metadata":{"labels":{"a":"b"}}}`},
		"discoverybackends": {`
apiVersion: gimbal.heptio.com/v1
kind: DiscoveryBackend
cluster:
  type: Kubernetes
  secret: backend
  debug: false
  annotations: []
  labels: {include: [], add: {}}
`, `{"cluster":{"annotations":["a"]}}`},
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			c := admin(t)
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.manifest), object); err != nil {
				t.Fatal(err)
			}
			object.SetName(name(t, "agree"))
			if resource != "projects" {
				object.SetNamespace(namespace)
			}
			manifest, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			apply := func(manager string) error {
				return c.Patch(t.Context(), object, client.RawPatch(types.ApplyPatchType, manifest), client.FieldOwner(manager))
			}
			for _, manager := range []string{"one", "two", "one", "two"} {
				if err := apply(manager); err != nil {
					t.Fatalf("manager %s: %v", manager, err)
				}
			}
			if err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(test.change)), client.FieldOwner("rival")); err != nil {
				t.Fatal(err)
			}
			if err := apply("two"); resource != "translations" && err == nil {
				t.Error("manager two reset what another manager has set, want a conflict")
			}
			if err := client.IgnoreNotFound(c.Delete(t.Context(), object)); err != nil && resource != "projects" && resource != "klusters" {
				t.Error(err)
			}
		})
	}
}
