// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// defaulted returns an empty Kluster after NormalizeKluster.
func defaulted(change func(*Kluster)) *Kluster {
	kluster := &Kluster{Spec: KlusterSpec{
		Openstack:        OpenstackSpec{SecurityGroupName: "default"},
		ClusterCIDR:      new("100.100.0.0/16"),
		ServiceCIDR:      "198.18.128.0/17",
		AdvertiseAddress: "1.1.1.1",
		AdvertisePort:    new(int32(6443)),
		DNSAddress:       "198.18.128.2",
		DNSDomain:        "cluster.local",
		Backup:           BackupOn,
		Dex:              new(true),
		Dashboard:        new(true),
		Deorbit: DeorbitSpec{
			PersistentVolumes: DeletionPolicyDelete,
			LoadBalancers:     DeletionPolicyDelete,
			FloatingIPs:       DeletionPolicyDelete,
			Snapshots:         DeletionPolicyDelete,
			UnseenVolumes:     DeletionPolicyRetain,
		},
	}}
	if change != nil {
		change(kluster)
	}
	return kluster
}

func TestNormalizeKluster(t *testing.T) {
	for _, test := range []struct {
		name string
		spec KlusterSpec
		want *Kluster
	}{
		{"nothing given", KlusterSpec{}, defaulted(nil)},
		{"own networks", KlusterSpec{ClusterCIDR: new("10.1.0.0/16"), ServiceCIDR: "10.2.3.4/16", DNSDomain: "k8s.example.org"},
			defaulted(func(k *Kluster) {
				k.Spec.ClusterCIDR, k.Spec.ServiceCIDR = new("10.1.0.0/16"), "10.2.3.4/16"
				k.Spec.DNSAddress, k.Spec.DNSDomain = "10.2.0.2", "k8s.example.org"
			})},
		{"a range without a third address", KlusterSpec{ServiceCIDR: "10.2.0.0/31"}, defaulted(func(k *Kluster) {
			k.Spec.ServiceCIDR, k.Spec.DNSAddress = "10.2.0.0/31", ""
		})},
		{"the smallest range with a third address", KlusterSpec{ServiceCIDR: "10.2.0.0/30"}, defaulted(func(k *Kluster) {
			k.Spec.ServiceCIDR, k.Spec.DNSAddress = "10.2.0.0/30", "10.2.0.2"
		})},
		{"a range that does not parse", KlusterSpec{ServiceCIDR: "nonsense"}, defaulted(func(k *Kluster) {
			k.Spec.ServiceCIDR, k.Spec.DNSAddress = "nonsense", ""
		})},
		{"own DNS address", KlusterSpec{DNSAddress: "198.18.128.10"}, defaulted(func(k *Kluster) { k.Spec.DNSAddress = "198.18.128.10" })},
		{"explicitly no pod network", KlusterSpec{NoCloud: true, ClusterCIDR: new("")}, defaulted(func(k *Kluster) {
			k.Spec.NoCloud, k.Spec.ClusterCIDR = true, new("")
		})},
		{"no cloud, pod network not mentioned", KlusterSpec{NoCloud: true}, defaulted(func(k *Kluster) { k.Spec.NoCloud = true })},
		{"own address and port", KlusterSpec{AdvertiseAddress: "2.2.2.2", AdvertisePort: new(int32(443))}, defaulted(func(k *Kluster) {
			k.Spec.AdvertiseAddress, k.Spec.AdvertisePort = "2.2.2.2", new(int32(443))
		})},
		{"a port that is 0 is left for validation", KlusterSpec{AdvertisePort: new(int32)}, defaulted(func(k *Kluster) { k.Spec.AdvertisePort = new(int32) })},
		{"add-ons off", KlusterSpec{Backup: BackupOff, Audit: AuditSwift, Dex: new(false), Dashboard: new(false)}, defaulted(func(k *Kluster) {
			k.Spec.Backup, k.Spec.Audit, k.Spec.Dex, k.Spec.Dashboard = BackupOff, AuditSwift, new(false), new(false)
		})},
		{"own security group; ids stay unset", KlusterSpec{Openstack: OpenstackSpec{SecurityGroupName: "nodes"}}, defaulted(func(k *Kluster) {
			k.Spec.Openstack = OpenstackSpec{SecurityGroupName: "nodes"}
		})},
		{"pools", KlusterSpec{NodePools: []NodePool{{Name: "a"}, {Name: "b", Image: "ubuntu", Config: NodePoolConfig{AllowReboot: new(false)}}}},
			defaulted(func(k *Kluster) {
				k.Spec.NodePools = []NodePool{
					{Name: "a", Image: "flatcar-stable-amd64", Config: NodePoolConfig{AllowReboot: new(true), AllowReplace: new(true)}},
					{Name: "b", Image: "ubuntu", Config: NodePoolConfig{AllowReboot: new(false), AllowReplace: new(true)}},
				}
			})},
		{"own policies; timeouts stay unset", KlusterSpec{Deorbit: DeorbitSpec{PersistentVolumes: DeletionPolicyRetain, UnseenVolumes: DeletionPolicyDelete}},
			defaulted(func(k *Kluster) {
				k.Spec.Deorbit.PersistentVolumes, k.Spec.Deorbit.UnseenVolumes = DeletionPolicyRetain, DeletionPolicyDelete
			})},
		{"discovery", KlusterSpec{Discovery: &DiscoverySpec{Enabled: true}}, defaulted(func(k *Kluster) {
			k.Spec.Discovery = &DiscoverySpec{Enabled: true, Namespace: "gimbal-discovery", DrainPolicy: DrainStrict}
		})},
		{"own discovery", KlusterSpec{Discovery: &DiscoverySpec{Namespace: "mine", DrainPolicy: DrainKeepSole}}, defaulted(func(k *Kluster) {
			k.Spec.Discovery = &DiscoverySpec{Namespace: "mine", DrainPolicy: DrainKeepSole}
		})},
		{"what the manager configures stays unset", KlusterSpec{RouteGC: &RouteGCSpec{}, LocalVolumeCleanup: &LocalVolumeCleanupSpec{}},
			defaulted(func(k *Kluster) {
				k.Spec.RouteGC, k.Spec.LocalVolumeCleanup = &RouteGCSpec{}, &LocalVolumeCleanupSpec{}
			})},
	} {
		t.Run(test.name, func(t *testing.T) {
			kluster := &Kluster{Spec: test.spec}
			NormalizeKluster(kluster)
			if diff := cmp.Diff(test.want, kluster); diff != "" {
				t.Errorf("after the defaults (-want +got):\n%s", diff)
			}
			NormalizeKluster(kluster)
			if diff := cmp.Diff(test.want, kluster); diff != "" {
				t.Errorf("after the defaults a second time (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfiguredDefaults(t *testing.T) {
	got := []time.Duration{DefaultDeorbitTimeout, DefaultDeorbitStageTimeout, DefaultDeorbitAPIUnavailableTimeout,
		DefaultDeorbitServiceGracePeriod, DefaultRouteGCInterval}
	want := []time.Duration{24 * time.Hour, time.Hour, 2 * time.Minute, 2 * time.Minute, 5 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("timeout, stageTimeout, apiUnavailableTimeout, serviceGracePeriod, interval (-want +got):\n%s", diff)
	}
}

func TestSchemeDefaultsWithoutTheNames(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kluster := &Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}}
	scheme.Default(kluster)
	want := defaulted(nil)
	want.ObjectMeta = kluster.ObjectMeta
	if diff := cmp.Diff(want, kluster); diff != "" {
		t.Errorf("a decoded Kluster (-want +got):\n%s", diff)
	}
	list := &KlusterList{Items: []Kluster{{}}}
	scheme.Default(list)
	if diff := cmp.Diff(*defaulted(nil), list.Items[0]); diff != "" {
		t.Errorf("a decoded list (-want +got):\n%s", diff)
	}
}

func TestDefaultNames(t *testing.T) {
	given := CloudProvider{ClusterName: new("occm"), CSIClusterID: new("csi")}
	for _, test := range []struct {
		name          string
		metadata      metav1.ObjectMeta
		spec          KlusterSpec
		short, secret string
		provider      CloudProvider
	}{
		{"account from the namespace", metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}, KlusterSpec{}, "demo", "demo-acc-secret", CloudProvider{}},
		{"account from the label", metav1.ObjectMeta{Name: "demo-acc", Namespace: "kubernikus", Labels: map[string]string{"account": "acc"}}, KlusterSpec{},
			"demo", "demo-acc-secret", CloudProvider{}},
		{"the label wins over the namespace", metav1.ObjectMeta{Name: "demo-ns", Namespace: "ns", Labels: map[string]string{"account": "acc"}}, KlusterSpec{},
			"demo-ns", "demo-ns-secret", CloudProvider{}},
		{"no account in the name", metav1.ObjectMeta{Name: "demo", Namespace: "acc"}, KlusterSpec{}, "demo", "demo-secret", CloudProvider{}},
		{"exactly 63 characters", metav1.ObjectMeta{Name: strings.Repeat("a", 63) + "-acc", Namespace: "acc"}, KlusterSpec{},
			strings.Repeat("a", 63), strings.Repeat("a", 63) + "-acc-secret", CloudProvider{}},
		{"over 63 characters", metav1.ObjectMeta{Name: strings.Repeat("a", 64), Namespace: "acc"}, KlusterSpec{}, "", strings.Repeat("a", 64) + "-secret", CloudProvider{}},
		{"all given", metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}, KlusterSpec{Name: "own", SecretRef: SecretReference{Name: "creds"}, CloudProvider: given},
			"own", "creds", given},
		{"a given spec.name", metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}, KlusterSpec{Name: "own"}, "own", "demo-acc-secret", CloudProvider{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			kluster := &Kluster{ObjectMeta: test.metadata, Spec: test.spec}
			if got := kluster.SecretName(); got != test.secret {
				t.Errorf("before the defaults SecretName = %q, want %q", got, test.secret)
			}
			want := KlusterSpec{Name: test.short, SecretRef: SecretReference{Name: test.secret}, CloudProvider: test.provider}
			for range 2 {
				DefaultNames(kluster)
				if diff := cmp.Diff(want, kluster.Spec); diff != "" {
					t.Fatalf("names (-want +got):\n%s", diff)
				}
			}
			if kluster.ShortName() != test.short || kluster.SecretName() != test.secret {
				t.Errorf("accessors return %q, %q, want %q, %q", kluster.ShortName(), kluster.SecretName(), test.short, test.secret)
			}
		})
	}
}

// TestNamesSetByClients checks that only the names of spec.cloudProvider that a client set are used, because objects are deleted by
// them.
func TestNamesSetByClients(t *testing.T) {
	own := func(fields string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "demo-acc", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "status"}, {Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(fields)}}}
	}
	unowned := metav1.ObjectMeta{Name: "demo-acc"}
	formerDefaults := CloudProvider{ClusterName: new("demo"), CSIClusterID: new("demo-acc")}
	for name, test := range map[string]struct {
		metadata     metav1.ObjectMeta
		provider     CloudProvider
		cluster, csi string
	}{
		"none":                     {unowned, CloudProvider{}, "", ""},
		"others than the defaults": {unowned, CloudProvider{ClusterName: new("prod"), CSIClusterID: new("prod-id")}, "prod", "prod-id"},
		"former defaults":          {unowned, formerDefaults, "", ""},
		"owned by a client":        {own(`{"f:spec":{"f:cloudProvider":{"f:clusterName":{},"f:csiClusterID":{}}}}`), formerDefaults, "demo", "demo-acc"},
		"one of them is owned":     {own(`{"f:spec":{"f:cloudProvider":{".":{},"f:csiClusterID":{}}}}`), formerDefaults, "", "demo-acc"},
		"something else is owned":  {own(`{"f:spec":{"f:name":{}}}`), formerDefaults, "", ""},
		"what cannot be read":      {own(`nonsense`), formerDefaults, "", ""},
		"empty":                    {unowned, CloudProvider{ClusterName: new(""), CSIClusterID: new("")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Kluster{ObjectMeta: test.metadata, Spec: KlusterSpec{Name: "demo", CloudProvider: test.provider}}
			if k.ClusterName() != test.cluster || k.CSIClusterID() != test.csi {
				t.Errorf("names are %q, %q, want %q, %q", k.ClusterName(), k.CSIClusterID(), test.cluster, test.csi)
			}
		})
	}
}

func TestCarryOverNames(t *testing.T) {
	old := &Kluster{Spec: KlusterSpec{Name: "demo"}}
	replaced := &Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo-acc", Namespace: "moved"}}
	CarryOverNames(replaced, old)
	DefaultNames(replaced)
	if replaced.Spec.Name != "demo" {
		t.Errorf("spec.name = %q after a replace without one, want the old one", replaced.Spec.Name)
	}
	renamed := &Kluster{Spec: KlusterSpec{Name: "other"}}
	CarryOverNames(renamed, old)
	if renamed.Spec.Name != "other" {
		t.Errorf("spec.name = %q, want the new one, for validation to reject", renamed.Spec.Name)
	}
}
