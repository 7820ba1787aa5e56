// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func TestImmutableFields(t *testing.T) {
	rules := newRules(t)
	for name, change := range map[string]func(*kubernikusv1.KlusterSpec){
		"name":        func(s *kubernikusv1.KlusterSpec) { s.Name = "other" },
		"clusterCIDR": func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("10.1.0.0/16") },
		"serviceCIDR": func(s *kubernikusv1.KlusterSpec) { s.ServiceCIDR = "10.2.0.0/16" },
		"dnsAddress":  func(s *kubernikusv1.KlusterSpec) { s.DNSAddress = "198.18.128.3" },
		"dnsDomain":   func(s *kubernikusv1.KlusterSpec) { s.DNSDomain = "example.org" },
	} {
		t.Run(name, func(t *testing.T) {
			changed := kluster()
			change(&changed.Spec)
			expect(t, rules.update(changed, kluster()), "spec."+name+": Invalid value: null: field is immutable")
		})
	}
}

func TestMutableFields(t *testing.T) {
	changed := kluster(with(func(s *kubernikusv1.KlusterSpec) {
		s.AdvertiseAddress, s.AdvertisePort = "2.2.2.2", new(int32(443))
		s.Backup, s.Audit, s.Dex, s.Dashboard = kubernikusv1.BackupOff, kubernikusv1.AuditStdout, new(false), new(false)
		s.NoCloud, s.CustomCNI, s.SeedKubeadm, s.SeedVirtual = true, true, true, true
		s.SSHPublicKey, s.OIDC = "ssh-rsa AAAA", &kubernikusv1.OIDC{IssuerURL: "https://issuer.example.org", ClientID: "demo"}
		s.SecretRef.Name = "other"
		s.CloudProvider = kubernikusv1.CloudProvider{ClusterName: new("occm"), CSIClusterID: new("csi")}
		s.Deorbit.Timeout = lasting(time.Hour)
		s.RouteGC, s.Discovery = &kubernikusv1.RouteGCSpec{Enabled: new(false)}, &kubernikusv1.DiscoverySpec{Enabled: true}
		s.LocalVolumeCleanup = &kubernikusv1.LocalVolumeCleanupSpec{}
	}))
	expect(t, newRules(t).update(changed, kluster()))
}

func TestCloudIsEnabledAgainWithoutPodNetwork(t *testing.T) {
	old := kluster(with(func(s *kubernikusv1.KlusterSpec) { s.NoCloud, s.ClusterCIDR = true, new("") }))
	changed := old.DeepCopy()
	changed.Spec.NoCloud = false
	expect(t, newRules(t).update(changed, old), "spec.clusterCIDR: Required value: may be empty only when spec.noCloud is true")
}

// TestAcceptedIdentities checks that a wrong value of the annotation is named when it is set, and is no obstacle to other changes.
func TestAcceptedIdentities(t *testing.T) {
	const beginning = `metadata.annotations[groundskeeper.io/accept-unknown-identity]: Invalid value: "`
	for name, test := range map[string]struct {
		value string
		want  []string // the entries that are wrong
	}{
		"empty":                {"", nil},
		"with kinds":           {"kluster/garden-shop/web, discoverybackend/gimbal/us.a", nil},
		"without a kind":       {"garden-shop/web", nil},
		"without a namespace":  {"web", []string{"web"}},
		"an unknown kind":      {"kluster/a/b,backend/gimbal/us", []string{"backend/gimbal/us"}},
		"a kind as in Kind":    {"DiscoveryBackend/gimbal/us", []string{"DiscoveryBackend/gimbal/us"}},
		"no name":              {"kluster/garden-shop/", []string{"kluster/garden-shop/"}},
		"no namespace or name": {"/", []string{"kluster//"}},
		"too many parts":       {"kluster/a/b/c", []string{"kluster/a/b/c"}},
		"not replaced":         {"<the present value>,kluster/a/b", []string{"<the present value>"}},
		"several are wrong":    {"a b,Web/x", []string{"a b", "kluster/Web/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			old := kluster()
			changed := kluster(func(k *kubernikusv1.Kluster) {
				k.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: test.value}
			})
			var want []string
			for _, entry := range test.want {
				want = append(want, beginning+entry+`": must be kluster/namespace/name or discoverybackend/namespace/name`)
			}
			expect(t, newRules(t).create(changed), want...)
			expect(t, newRules(t).update(changed, old), want...)
			next := changed.DeepCopy()
			next.Spec.SecretRef.Name = "other"
			expect(t, newRules(t).update(next, changed))
		})
	}
}

func TestOldValuesDoNotBlock(t *testing.T) {
	rules := newRules(t)
	// None of these would be taken from a client today.
	imported := kluster()
	imported.Spec.Name, imported.Spec.DNSDomain, imported.Spec.DNSAddress = "Imported_Cluster", "cluster_local", "dns"
	imported.Spec.ClusterCIDR, imported.Spec.ServiceCIDR = new("10.1.0.0/16"), "10.1.0.0/16"
	imported.Spec.Openstack.RouterID, imported.Spec.Version = "router", "v1.31"
	imported.Spec.AuthenticationConfiguration = "nonsense"

	t.Run("when something else changes", func(t *testing.T) {
		changed := imported.DeepCopy()
		changed.Spec.SSHPublicKey = "ssh-rsa AAAA"
		expect(t, rules.update(changed, imported))
	})
	t.Run("when a finalizer is removed", func(t *testing.T) {
		imported := imported.DeepCopy()
		imported.Spec.SecretRef.Name, imported.Spec.AdvertiseAddress = "", "nowhere"
		imported.Spec.CloudProvider.ClusterName = new("kubernetes")
		imported.Finalizers = []string{kubernikusv1.DeorbiterFinalizer}
		changed := imported.DeepCopy()
		changed.Finalizers = nil
		expect(t, rules.update(changed, imported))
	})
}

func TestStatus(t *testing.T) {
	good := metav1.Condition{Type: kubernikusv1.ConditionRoutesClean, Status: metav1.ConditionTrue, Reason: "Clean",
		LastTransitionTime: metav1.Now()}
	changed := func(change func(*metav1.Condition)) metav1.Condition {
		condition := good
		change(&condition)
		return condition
	}
	deorbit := func(deorbit kubernikusv1.DeorbitStatus) kubernikusv1.KlusterStatus {
		return kubernikusv1.KlusterStatus{Deorbit: &deorbit}
	}
	for _, test := range []struct {
		name   string
		status kubernikusv1.KlusterStatus
		want   []string
	}{
		{"nothing", kubernikusv1.KlusterStatus{}, nil},
		{"everything", kubernikusv1.KlusterStatus{
			Phase: kubernikusv1.KlusterTerminating, ObservedGeneration: 3, Conditions: []metav1.Condition{good},
			NodePools: []kubernikusv1.NodePoolInfo{{Name: "a"}, {Name: "b"}},
			Deorbit: &kubernikusv1.DeorbitStatus{
				Stage:         kubernikusv1.DeorbitVerify,
				Remaining:     []kubernikusv1.DeorbitObject{{Kind: "Volume", ID: "1"}, {Kind: "Volume", ID: "1"}},
				Retained:      []kubernikusv1.DeorbitObject{{Kind: "Service", Namespace: "default", Name: "web"}},
				SeenVolumes:   []kubernikusv1.SeenVolume{{ID: "1"}, {ID: "2"}},
				SeenSnapshots: []kubernikusv1.SeenSnapshot{{ID: "1"}, {ID: "2"}},
				SeenServices:  []kubernikusv1.SeenService{{UID: "1"}, {UID: "2"}},
			}}, nil},
		{"unknown phase", kubernikusv1.KlusterStatus{Phase: "Lost"}, []string{`status.phase: Unsupported value: "Lost"`}},
		{"generation before the first", kubernikusv1.KlusterStatus{ObservedGeneration: -1}, []string{"status.observedGeneration: Invalid value"}},
		{"a pool twice", kubernikusv1.KlusterStatus{NodePools: []kubernikusv1.NodePoolInfo{{Name: "a"}, {Name: "a"}}}, []string{"status.nodePools[1]: Duplicate value"}},
		{"a pool without a name", kubernikusv1.KlusterStatus{NodePools: []kubernikusv1.NodePoolInfo{{}}}, []string{"status.nodePools[0].name: Required value"}},
		{"condition without a reason", kubernikusv1.KlusterStatus{Conditions: []metav1.Condition{changed(func(c *metav1.Condition) { c.Reason = "" })}},
			[]string{"status.conditions[0].reason: Required value"}},
		{"condition of unknown status", kubernikusv1.KlusterStatus{Conditions: []metav1.Condition{changed(func(c *metav1.Condition) { c.Status = "Yes" })}},
			[]string{"status.conditions[0].status: Unsupported value"}},
		{"condition twice", kubernikusv1.KlusterStatus{Conditions: []metav1.Condition{good, good}}, []string{"status.conditions[1]: Duplicate value"}},
		{"unknown stage", deorbit(kubernikusv1.DeorbitStatus{Stage: "Verifying"}), []string{`status.deorbit.stage: Unsupported value: "Verifying"`}},
		{"objects without a kind", deorbit(kubernikusv1.DeorbitStatus{Remaining: []kubernikusv1.DeorbitObject{{}}, Retained: []kubernikusv1.DeorbitObject{{}}}),
			[]string{"status.deorbit.remaining[0].kind: Required value", "status.deorbit.retained[0].kind: Required value"}},
		{"seen without an id", deorbit(kubernikusv1.DeorbitStatus{SeenVolumes: []kubernikusv1.SeenVolume{{}}, SeenSnapshots: []kubernikusv1.SeenSnapshot{{}}, SeenServices: []kubernikusv1.SeenService{{}}}),
			[]string{"status.deorbit.seenVolumes[0].id: Required value", "status.deorbit.seenSnapshots[0].id: Required value", "status.deorbit.seenServices[0].uid: Required value"}},
		{"seen twice", deorbit(kubernikusv1.DeorbitStatus{
			SeenVolumes:   []kubernikusv1.SeenVolume{{ID: "1"}, {ID: "1"}},
			SeenSnapshots: []kubernikusv1.SeenSnapshot{{ID: "1"}, {ID: "1"}},
			SeenServices:  []kubernikusv1.SeenService{{UID: "1"}, {UID: "1"}}}),
			[]string{"status.deorbit.seenVolumes[1].id: Duplicate value", "status.deorbit.seenSnapshots[1].id: Duplicate value", "status.deorbit.seenServices[1].uid: Duplicate value"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := kluster()
			changed.Status = test.status
			expect(t, newRules(t).updateStatus(changed, kluster()), test.want...)
		})
	}
}
