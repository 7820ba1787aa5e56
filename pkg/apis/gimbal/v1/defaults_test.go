// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func decode(t *testing.T, manifest string) *DiscoveryBackend {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := runtime.Decode(serializer.NewCodecFactory(scheme).UniversalDecoder(SchemeGroupVersion), []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return object.(*DiscoveryBackend)
}

// TestDecodeDefaults covers the two examples of Gimbal's design, with the kind that it defines.
func TestDecodeDefaults(t *testing.T) {
	const header = "apiVersion: gimbal.heptio.com/v1\nkind: DiscoveryBackend\n"
	for _, tc := range []struct {
		name, manifest string
		want           Cluster
	}{
		{"openstack001", `
cluster:
  type: openstack
  secret: remote-discover-openstack
  refreshInterval: 30
  clusterStatus: enabled
`, Cluster{
			Type: "openstack", Secret: "remote-discover-openstack", RefreshInterval: new(int32(30)), ClusterStatus: "Enabled",
			Namespaces: NamespacePolicy{Missing: "Wait"}, DrainPolicy: "Strict", DrainGracePeriod: &metav1.Duration{}, ServicePolicy: "All", ZonePolicy: "Copy",
		}},
		{"kubernetes001", `
cluster:
  type: kubernetes
  credentials: kubernetes001-kubecfg
  clusterStatus: enabled
`, Cluster{
			Type: "kubernetes", Credentials: "kubernetes001-kubecfg", RefreshInterval: new(int32(1800)), ClusterStatus: "Enabled",
			Namespaces: NamespacePolicy{Missing: "Wait"}, DrainPolicy: "Strict", DrainGracePeriod: &metav1.Duration{}, ServicePolicy: "All", ZonePolicy: "Copy",
		}},
		{"everything set", `
cluster:
  type: OpenStack
  secret: a
  credentials: b
  refreshInterval: 7
  debug: true
  clusterStatus: MAINTENANCE
  namespaces: {allow: [b, a], deny: [A], missing: cReate}
  drainPolicy: keepsole
  drainGracePeriod: 1m30s
  externalNames: true
  servicePolicy: exported
  zonePolicy: omit
`, Cluster{
			Type: "openstack", Secret: "a", Credentials: "b", RefreshInterval: new(int32(7)), Debug: true, ClusterStatus: "Maintenance",
			Namespaces:  NamespacePolicy{Allow: []string{"b", "a"}, Deny: []string{"A"}, Missing: "Create"},
			DrainPolicy: "KeepSole", DrainGracePeriod: &metav1.Duration{Duration: 90 * time.Second}, ExternalNames: true, ServicePolicy: "Exported", ZonePolicy: "Omit",
		}},
		{"what validation must see", `
cluster: {type: vmware, refreshInterval: 0, clusterStatus: off1, namespaces: {missing: fail}, drainPolicy: lax, drainGracePeriod: -1s, servicePolicy: none, zonePolicy: some}
`, Cluster{
			Type: "vmware", RefreshInterval: new(int32(0)), ClusterStatus: "off1",
			Namespaces: NamespacePolicy{Missing: "fail"}, DrainPolicy: "lax", DrainGracePeriod: &metav1.Duration{Duration: -time.Second}, ServicePolicy: "none", ZonePolicy: "some",
		}},
		{"nothing", "", Cluster{
			ClusterStatus: "Enabled", Namespaces: NamespacePolicy{Missing: "Wait"}, DrainPolicy: "Strict", DrainGracePeriod: &metav1.Duration{}, ServicePolicy: "All", ZonePolicy: "Copy",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decode(t, header+tc.manifest).Cluster); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// FuzzNormalize finds values that a second pass would change, and members of an enum that are not recognised.
func FuzzNormalize(f *testing.F) {
	f.Add("openstack", "enabled", "create", "keepsole", int32(0), int64(0))
	f.Add("KUBERNETES", "MainTenance", "", "", int32(-1), int64(-1))
	f.Add("", "", "wait", "strict", int32(30), int64(time.Minute))
	f.Add("\u212aubernetes", "ignore", "Ignore", "Strict ", int32(1), int64(1))
	f.Fuzz(func(t *testing.T, kind, status, missing, policy string, interval int32, grace int64) {
		backend := &DiscoveryBackend{Cluster: Cluster{
			Type: BackendType(kind), ClusterStatus: ClusterStatus(status), DrainPolicy: DrainPolicy(policy),
			Namespaces: NamespacePolicy{Missing: MissingNamespacePolicy(missing)},
		}}
		if interval != 0 {
			backend.Cluster.RefreshInterval = &interval
		}
		if grace != 0 {
			backend.Cluster.DrainGracePeriod = &metav1.Duration{Duration: time.Duration(grace)}
		}
		Normalize(backend)
		once := backend.DeepCopy()
		Normalize(backend)
		if diff := cmp.Diff(once, backend); diff != "" {
			t.Errorf("normalizing twice: -once +twice:\n%s", diff)
		}
		if interval != 0 && *backend.Cluster.RefreshInterval != interval {
			t.Errorf("interval %d became %d", interval, *backend.Cluster.RefreshInterval)
		}
	})
}

// Two objects must not share what a default points to.
func TestDefaultsAreNotShared(t *testing.T) {
	first, second := &DiscoveryBackend{}, &DiscoveryBackend{}
	first.Cluster.Type, second.Cluster.Type = BackendOpenStack, BackendOpenStack
	Normalize(first)
	Normalize(second)
	*first.Cluster.RefreshInterval, first.Cluster.DrainGracePeriod.Duration = 1, time.Hour
	if *second.Cluster.RefreshInterval != DefaultOpenStackRefreshInterval || second.Cluster.DrainGracePeriod.Duration != 0 {
		t.Errorf("a change of one backend changed another: %+v", second.Cluster)
	}
}
