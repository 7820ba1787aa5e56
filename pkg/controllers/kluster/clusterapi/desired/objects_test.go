// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func content(t *testing.T, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const clusterV1beta1 = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: web, namespace: shop, uid: u1, resourceVersion: "7", labels: {groundskeeper.io/deorbit: "true"}}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, serviceDomain: cluster.local, apiServerPort: 6443}
  controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: web}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, name: web-os, namespace: shop}
status:
  infrastructureReady: true
  failureDomains: {nova: {controlPlane: true}}
  conditions:
  - {type: Ready, status: "True", lastTransitionTime: "2030-01-01T00:00:00Z"}
  - {type: DeorbitCompleted, status: "False", severity: Info, reason: Pods, message: m, lastTransitionTime: "2030-01-01T00:00:00Z"}
`

const clusterV1beta2 = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: web, namespace: shop, uid: u1, resourceVersion: "7", labels: {groundskeeper.io/deorbit: "true"}}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: web-os}
status:
  initialization: {infrastructureProvisioned: true}
  failureDomains: [{name: nova, controlPlane: true}]
  conditions:
  - {type: DeorbitCompleted, status: "False", reason: Pods, message: m, lastTransitionTime: "2030-01-01T00:00:00Z", observedGeneration: 3}
`

// A Cluster reads the same in both versions of Cluster API.
func TestClusterOf(t *testing.T) {
	want := &Cluster{
		Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "7", Selection: "true", Labels: map[string]string{Selection: "true"}, PodRanges: []string{"192.168.0.0/16"},
		Infrastructure: Reference{Group: InfrastructureGroup, Kind: KindOpenStackCluster, Name: "web-os"},
		Completed:      &Condition{Type: ConditionCompleted, Status: "False", Reason: "Pods", Message: "m"},
	}
	for name, text := range map[string]string{"v1beta1": clusterV1beta1, "v1beta2": clusterV1beta2} {
		if diff := cmp.Diff(want, ClusterOf(content(t, text))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A Deorbit that was reported to be over is so in every version, to which Cluster API moves the conditions. One that was not is reported anew.
func TestCompletedInTheOtherVersion(t *testing.T) {
	for name, test := range map[string]struct{ status, want string }{
		"v1beta1, read as v1beta2": {"deprecated: {v1beta1: {conditions: [{type: DeorbitCompleted, status: 'True'}]}}", "True"},
		"v1beta2, read as v1beta1": {"v1beta2: {conditions: [{type: DeorbitCompleted, status: 'True'}]}", "True"},
		"over after a downgrade":   {"conditions: [{type: DeorbitCompleted, status: 'False'}], deprecated: {v1beta1: {conditions: [{type: DeorbitCompleted, status: 'True'}]}}", "True"},
		"over in the same version": {"conditions: [{type: DeorbitCompleted, status: 'True'}], deprecated: {v1beta1: {conditions: [{type: DeorbitCompleted, status: 'False'}]}}", "True"},
		"not over":                 {"deprecated: {v1beta1: {conditions: [{type: DeorbitCompleted, status: 'False'}]}}", ""},
		"others":                   {"deprecated: {v1beta1: {conditions: [{type: DeorbitPrepared, status: 'True'}]}}", ""},
	} {
		c := ClusterOf(content(t, "status: {"+test.status+"}"))
		got := ""
		if c.Completed != nil {
			got = c.Completed.Status
		}
		if got != test.want || c.Prepared != nil {
			t.Errorf("%s: completed %q, prepared %v, want %q", name, got, c.Prepared, test.want)
		}
	}
}

func TestClusterOfStates(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want Cluster
	}{
		"bare":                         {"{metadata: {name: a}}", Cluster{Name: "a"}},
		"paused by its spec":           {"{spec: {paused: true}}", Cluster{Paused: true}},
		"paused by its annotation":     {`{metadata: {annotations: {cluster.x-k8s.io/paused: ""}}}`, Cluster{Paused: true}},
		"being deleted":                {`{metadata: {deletionTimestamp: "2030-01-01T00:00:00Z"}}`, Cluster{Deleting: true, DeletedAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"moved":                        {`{metadata: {annotations: {clusterctl.cluster.x-k8s.io/delete-for-move: ""}}}`, Cluster{Moved: true}},
		"with a topology":              {"{spec: {topology: {class: c, version: v1.36.3}}}", Cluster{HasTopology: true}},
		"annotation precedes label":    {`{metadata: {labels: {groundskeeper.io/deorbit: "true"}, annotations: {groundskeeper.io/deorbit: "false"}}}`, Cluster{Selection: "false", Labels: map[string]string{Selection: "true"}}},
		"names":                        {`{metadata: {annotations: {groundskeeper.io/cloud-provider-cluster-name: shop-web, groundskeeper.io/csi-cluster-id: c, groundskeeper.io/custom-cni: "true"}}}`, Cluster{ClusterName: "shop-web", CSIClusterID: "c", CustomCNI: "true"}},
		"infrastructure of another":    {"{spec: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerCluster, name: d}}}", Cluster{Infrastructure: Reference{InfrastructureGroup, "DockerCluster", "d"}}},
		"infrastructure without group": {"{spec: {infrastructureRef: {apiVersion: v1, kind: OpenStackCluster, name: d}}}", Cluster{Infrastructure: Reference{"", "OpenStackCluster", "d"}}},
	} {
		if diff := cmp.Diff(&test.want, ClusterOf(content(t, test.text))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for name, text := range map[string]string{
		"a field of another type": `{metadata: {name: a}, spec: {clusterNetwork: "10.0.0.0/8"}}`,
		"another namespace":       "{metadata: {name: a, namespace: b}, spec: {infrastructureRef: {kind: OpenStackCluster, name: d, namespace: c}}}",
	} {
		if got := ClusterOf(content(t, text)); got.Invalid == nil {
			t.Errorf("%s: %+v, want an error", name, got)
		}
	}
}

func TestMachineOf(t *testing.T) {
	m := &metav1.ObjectMeta{Namespace: "shop", Name: "m", UID: "u", ResourceVersion: "3", Labels: map[string]string{LabelClusterName: "web"}}
	want := &Machine{Namespace: "shop", Name: "m", UID: "u", ResourceVersion: "3", Cluster: "web"}
	if diff := cmp.Diff(want, MachineOf(m)); diff != "" {
		t.Error(diff)
	}
	m.Annotations, m.DeletionTimestamp = map[string]string{AnnotationHook: ""}, &metav1.Time{}
	want.Held, want.Deleting = true, true
	if diff := cmp.Diff(want, MachineOf(m)); diff != "" {
		t.Error(diff)
	}
}

const infrastructureV1beta1 = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata:
  name: web-os
  namespace: shop
  uid: i1
  resourceVersion: "9"
  finalizers: [openstackcluster.infrastructure.cluster.x-k8s.io, groundskeeper.io/deorbit]
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, name: web, uid: u1}]
spec:
  identityRef: {name: web-cloud-config, cloudName: openstack, region: west}
  managedSubnets: [{cidr: 10.6.0.0/24, dnsNameservers: [10.0.0.53]}]
  managedSecurityGroups: {}
  bastion: {enabled: true}
status:
  ready: true
  network: {id: 11111111-1111-4111-8111-111111111111, name: n, subnets: [{id: 22222222-2222-4222-8222-222222222222, name: s, cidr: 10.6.0.0/24}]}
  router: {id: 33333333-3333-4333-8333-333333333333, name: r, ips: [192.0.2.1]}
  externalNetwork: {id: 44444444-4444-4444-8444-444444444444, name: e}
  failureDomains: {nova: {controlPlane: true}}
`

func infrastructure() *Infrastructure {
	return &Infrastructure{
		Namespace: "shop", Name: "web-os", UID: "i1", ResourceVersion: "9", Cluster: "web", ClusterUID: "u1", Finalized: true,
		Identity: Identity{Type: "Secret", Name: "web-cloud-config", CloudName: "openstack", Region: "west"},
		Network:  "11111111-1111-4111-8111-111111111111", Router: "33333333-3333-4333-8333-333333333333",
		ExternalNetwork: "44444444-4444-4444-8444-444444444444", Subnets: []string{"22222222-2222-4222-8222-222222222222"},
	}
}

func TestInfrastructureOf(t *testing.T) {
	if diff := cmp.Diff(infrastructure(), InfrastructureOf(content(t, infrastructureV1beta1))); diff != "" {
		t.Error(diff)
	}
	given := Infrastructure{Identity: Identity{Type: "Secret"}, GivenRouter: true}
	for name, test := range map[string]struct {
		text string
		want func(*Infrastructure)
	}{
		"bare":                {"{}", func(*Infrastructure) {}},
		"a given router":      {"{spec: {managedSubnets: [{cidr: 10.0.0.0/24}], router: {id: r}}}", func(*Infrastructure) {}},
		"a dedicated router":  {"{spec: {managedSubnets: [{cidr: 10.0.0.0/24}]}}", func(i *Infrastructure) { i.GivenRouter = false }},
		"a cluster identity":  {"{spec: {identityRef: {type: ClusterIdentity, name: shared, cloudName: c}}}", func(i *Infrastructure) { i.Identity = Identity{"ClusterIdentity", "shared", "c", ""} }},
		"paused by a user":    {`{metadata: {annotations: {cluster.x-k8s.io/paused: "true"}}}`, func(i *Infrastructure) { i.Paused = true }},
		"paused for Deorbit":  {`{metadata: {annotations: {cluster.x-k8s.io/paused: groundskeeper.io/deorbit}}}`, func(i *Infrastructure) { i.Paused, i.PausedForDeorbit = true, true }},
		"volumes are kept":    {"{metadata: {annotations: {janitor.capi.stackhpc.com/volumes-policy: keep}}}", func(i *Infrastructure) { i.RetainVolumes = true }},
		"any other policy":    {`{metadata: {annotations: {janitor.capi.stackhpc.com/volumes-policy: ""}}}`, func(i *Infrastructure) { i.RetainVolumes = true }},
		"volumes are deleted": {"{metadata: {annotations: {janitor.capi.stackhpc.com/volumes-policy: delete}}}", func(*Infrastructure) {}},
		"another owner":       {"{metadata: {ownerReferences: [{apiVersion: apps/v1, kind: Cluster, name: c, uid: u}]}}", func(*Infrastructure) {}},
		"two owners": {`{metadata: {ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: a, uid: a}, {apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: b, uid: b}]}}`,
			func(*Infrastructure) {}},
		"two owners, one of which controls it": {`{metadata: {ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: a, uid: a, controller: true}, {apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: b, uid: b}]}}`,
			func(i *Infrastructure) { i.Cluster, i.ClusterUID = "a", "a" }},
		"being deleted":   {`{metadata: {deletionTimestamp: "2030-01-01T00:00:00Z"}}`, func(i *Infrastructure) { i.Deleting = true }},
		"failure domains": {"{status: {failureDomains: [{name: nova}], initialization: {provisioned: true}}}", func(*Infrastructure) {}},
	} {
		want := given
		test.want(&want)
		if diff := cmp.Diff(&want, InfrastructureOf(content(t, test.text))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if got := InfrastructureOf(content(t, "{status: {network: n}}")); got.Invalid == nil {
		t.Errorf("got %+v, want an error", got)
	}
}
