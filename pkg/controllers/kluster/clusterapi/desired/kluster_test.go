// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/kubernikus/validation"
)

func source(t *testing.T, changes ...func(*Source)) Source {
	t.Helper()
	s := Source{Cluster: ClusterOf(content(t, clusterV1beta2)), Infrastructure: infrastructure()}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// elsewhere is a Cluster on another infrastructure than OpenStack, whose pods have no range.
func elsewhere(s *Source) {
	s.Cluster.Infrastructure.Kind, s.Cluster.PodRanges, s.Infrastructure = "DockerCluster", nil, nil
}

func TestReject(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Source)
		want   string
	}{
		"nothing is missing":       {func(*Source) {}, ""},
		"dual stack":               {func(s *Source) { s.Cluster.PodRanges = []string{"10.0.0.0/16", "fd00::/48"} }, ""},
		"no infrastructure":        {func(s *Source) { s.Infrastructure = nil }, ReasonInfrastructurePending},
		"that of another Cluster":  {func(s *Source) { s.Infrastructure.ClusterUID = "u0" }, ReasonInfrastructureOfAnother},
		"no owner yet":             {func(s *Source) { s.Infrastructure.ClusterUID = "" }, ReasonInfrastructurePending},
		"no network yet":           {func(s *Source) { s.Infrastructure.Network = "" }, ReasonInfrastructurePending},
		"no router":                {func(s *Source) { s.Infrastructure.Router = "" }, ""},
		"a cluster identity":       {func(s *Source) { s.Infrastructure.Identity.Type = "ClusterIdentity" }, ReasonIdentityNotSupported},
		"no identity":              {func(s *Source) { s.Infrastructure.Identity.Name = "" }, ReasonIdentityNotSupported},
		"no pod range":             {func(s *Source) { s.Cluster.PodRanges = nil }, ReasonPodNetworkUnknown},
		"no range":                 {func(s *Source) { s.Cluster.PodRanges = []string{"10.0.0.0"} }, ReasonPodNetworkUnknown},
		"two ranges of one family": {func(s *Source) { s.Cluster.PodRanges = []string{"10.0.0.0/16", "10.1.0.0/16"} }, ReasonPodNetworkUnknown},
		"a name with a digit":      {func(s *Source) { s.Cluster.Name = "1web" }, ReasonNameInvalid},
		"a name with dots":         {func(s *Source) { s.Cluster.Name = "web.example" }, ReasonNameInvalid},
		"a long name":              {func(s *Source) { s.Cluster.Name = strings.Repeat("a", 64) }, ReasonNameInvalid},
		"elsewhere":                {elsewhere, ""},
		"elsewhere, a long name":   {func(s *Source) { elsewhere(s); s.Cluster.Name = strings.Repeat("a", 64) }, ReasonNameInvalid},
		"a wrong annotation":       {func(s *Source) { s.Cluster.CustomCNI = "yes" }, ReasonAnnotationInvalid},
	} {
		if got := source(t, test.change).Reject(); got.Reason != test.want || (got.Message == "") != (test.want == "") {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
}

func TestNew(t *testing.T) {
	k := source(t).New()
	ranges := "192.168.0.0/16"
	want := kubernikusv1.KlusterSpec{
		Name: "web", ClusterCIDR: &ranges,
		Openstack: kubernikusv1.OpenstackSpec{
			RouterID: "33333333-3333-4333-8333-333333333333", NetworkID: "11111111-1111-4111-8111-111111111111",
			LBSubnetID: "22222222-2222-4222-8222-222222222222", LBFloatingNetworkID: "44444444-4444-4444-8444-444444444444",
		},
		SecretRef: kubernikusv1.SecretReference{
			Kubeconfig: &kubernikusv1.KubeconfigReference{Name: "web-kubeconfig"},
			Cloud:      &kubernikusv1.CloudReference{Name: "web-cloud-config", CloudName: "openstack", RegionName: "west"},
		},
	}
	if diff := cmp.Diff(want, k.Spec); diff != "" {
		t.Error(diff)
	}
	if k.Namespace != "shop" || k.Name != "web" || UIDOf(k) != "u1" || k.Labels[LabelClusterName] != "web" || len(k.OwnerReferences) > 0 ||
		!slices.Contains(k.Finalizers, kubernikusv1.ClusterAPIFinalizer) {
		t.Errorf("metadata = %+v", k.ObjectMeta)
	}
	if _, moves := k.Labels[LabelMove]; !moves {
		t.Errorf("labels = %v", k.Labels)
	}
	// Names that are unknown stay unknown: nothing is deleted by a name that is guessed.
	if k.Spec.CloudProvider.ClusterName != nil || k.Spec.CloudProvider.CSIClusterID != nil {
		t.Errorf("names = %+v", k.Spec.CloudProvider)
	}
	kubernikusv1.NormalizeKluster(k)
	kubernikusv1.DefaultNames(k)
	if errs := validation.ValidateKluster(k); len(errs) > 0 {
		t.Errorf("the API server rejects it: %v", errs)
	}
	if again := k.DeepCopy(); source(t).Update(again) != nil || !cmp.Equal(k, again) {
		t.Errorf("a second update changes it:\n%s", cmp.Diff(k, again))
	}
}

// TestNewElsewhere checks that a Cluster on another infrastructure has a Kluster without OpenStack, for good.
func TestNewElsewhere(t *testing.T) {
	s := source(t, elsewhere)
	k := s.New()
	want := kubernikusv1.KlusterSpec{Name: "web", ClusterCIDR: new(""), NoCloud: true, SecretRef: kubernikusv1.SecretReference{
		Name: "web-kubeconfig", Kubeconfig: &kubernikusv1.KubeconfigReference{Name: "web-kubeconfig"},
	}}
	if diff := cmp.Diff(want, k.Spec); diff != "" {
		t.Error(diff)
	}
	kubernikusv1.NormalizeKluster(k)
	kubernikusv1.DefaultNames(k)
	if errs := validation.ValidateKluster(k); len(errs) > 0 {
		t.Errorf("the API server rejects it: %v", errs)
	}
	if got := k.SecretNames(); !slices.Equal(got, []string{"web-kubeconfig"}) {
		t.Errorf("Secrets = %v", got)
	}
	if again := k.DeepCopy(); s.Update(again) != nil || !cmp.Equal(k, again) {
		t.Errorf("a second update changes it:\n%s", cmp.Diff(k, again))
	}
	if got := source(t).Update(k); !slices.Equal(got, []string{"spec.noCloud"}) || k.Spec.SecretRef.Cloud != nil {
		t.Errorf("on OpenStack later, it differs in %v: %+v", got, k.Spec)
	}
	on := source(t).New()
	if got := s.Update(on); !slices.Equal(got, []string{"spec.noCloud"}) || on.Spec.SecretRef.Cloud == nil {
		t.Errorf("on another infrastructure later, it differs in %v: %+v", got, on.Spec)
	}
}

func TestUpdate(t *testing.T) {
	for name, test := range map[string]struct {
		source    func(*Source)
		kluster   func(*kubernikusv1.Kluster)
		check     func(*kubernikusv1.Kluster) bool
		immutable string
	}{
		"names in annotations": {
			source: func(s *Source) {
				s.Cluster.ClusterName, s.Cluster.CSIClusterID, s.Names = "a", "b", Names{"c", "d"}
			},
			check: func(k *kubernikusv1.Kluster) bool {
				return *k.Spec.CloudProvider.ClusterName == "a" && *k.Spec.CloudProvider.CSIClusterID == "b"
			},
		},
		"names in manifests": {
			source: func(s *Source) { s.Names.ClusterName = "c" },
			check: func(k *kubernikusv1.Kluster) bool {
				return *k.Spec.CloudProvider.ClusterName == "c" && k.Spec.CloudProvider.CSIClusterID == nil
			},
		},
		"names of a user stay": {
			kluster: func(k *kubernikusv1.Kluster) { k.Spec.CloudProvider.ClusterName = new("mine") },
			check:   func(k *kubernikusv1.Kluster) bool { return *k.Spec.CloudProvider.ClusterName == "mine" },
		},
		"a given router has no routes of the cluster": {
			source: func(s *Source) { s.Infrastructure.GivenRouter = true },
			check:  func(k *kubernikusv1.Kluster) bool { return k.Spec.CustomCNI && k.Spec.Openstack.RouterID != "" },
		},
		"unless an annotation reports them": {
			source: func(s *Source) { s.Infrastructure.GivenRouter, s.Cluster.CustomCNI = true, "false" },
			check:  func(k *kubernikusv1.Kluster) bool { return !k.Spec.CustomCNI },
		},
		"an overlay": {
			source: func(s *Source) { s.Cluster.CustomCNI = "true" },
			check:  func(k *kubernikusv1.Kluster) bool { return k.Spec.CustomCNI },
		},
		"no router is discovered": {
			source:  func(s *Source) { s.Infrastructure.Router, s.Cluster.CustomCNI = "", "false" },
			kluster: func(k *kubernikusv1.Kluster) { k.Spec.Openstack.RouterID = "" },
			check:   func(k *kubernikusv1.Kluster) bool { return k.Spec.CustomCNI && k.Spec.Openstack.RouterID == "" },
		},
		"several subnets": {
			source:  func(s *Source) { s.Infrastructure.Subnets = []string{"a", "b"} },
			kluster: func(k *kubernikusv1.Kluster) { k.Spec.Openstack.LBSubnetID = "" },
			check:   func(k *kubernikusv1.Kluster) bool { return k.Spec.Openstack.LBSubnetID == "" },
		},
		"volumes that the janitor keeps": {
			source: func(s *Source) { s.Infrastructure.RetainVolumes = true },
			kluster: func(k *kubernikusv1.Kluster) {
				k.Spec.Deorbit.PersistentVolumes, k.Spec.Deorbit.LoadBalancers = kubernikusv1.DeletionPolicyDelete, kubernikusv1.DeletionPolicyDelete
			},
			check: func(k *kubernikusv1.Kluster) bool {
				d := k.Spec.Deorbit
				return d.PersistentVolumes == kubernikusv1.DeletionPolicyRetain && d.Snapshots == kubernikusv1.DeletionPolicyRetain && d.LoadBalancers == kubernikusv1.DeletionPolicyDelete
			},
		},
		"what users set stays": {
			kluster: func(k *kubernikusv1.Kluster) {
				k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
				k.Spec.Deorbit.PersistentVolumes, k.Labels["mine"] = kubernikusv1.DeletionPolicyRetain, "x"
			},
			check: func(k *kubernikusv1.Kluster) bool {
				return k.Spec.Discovery.Enabled && k.Spec.Deorbit.PersistentVolumes == kubernikusv1.DeletionPolicyRetain && k.Labels["mine"] == "x"
			},
		},
		"an edited Kluster": {
			kluster: func(k *kubernikusv1.Kluster) {
				k.Spec.SecretRef, k.Spec.CustomCNI, k.Finalizers = kubernikusv1.SecretReference{Name: "other"}, true, nil
				delete(k.Labels, LabelClusterName)
			},
			check: func(k *kubernikusv1.Kluster) bool {
				return k.Spec.SecretRef.Cloud.Name == "web-cloud-config" && !k.Spec.CustomCNI && len(k.Finalizers) == 1 && k.Labels[LabelClusterName] == "web"
			},
		},
		"other values of immutable fields": {
			source: func(s *Source) {
				s.Cluster.PodRanges, s.Infrastructure.Router = []string{"10.0.0.0/16"}, "55555555-5555-4555-8555-555555555555"
			},
			check: func(k *kubernikusv1.Kluster) bool {
				return k.Spec.Openstack.RouterID[0] == '3' && *k.Spec.ClusterCIDR == "192.168.0.0/16"
			},
			immutable: "spec.clusterCIDR spec.openstack.routerID",
		},
		"an id that is no longer known": {
			source: func(s *Source) { s.Infrastructure.Router = "" },
			check:  func(k *kubernikusv1.Kluster) bool { return k.Spec.Openstack.RouterID != "" && !k.Spec.CustomCNI },
		},
	} {
		k := source(t).New()
		if test.kluster != nil {
			test.kluster(k)
		}
		s := source(t)
		if test.source != nil {
			test.source(&s)
		}
		if got := strings.Join(s.Update(k), " "); got != test.immutable || !test.check(k) {
			t.Errorf("%s: immutable = %q, want %q; spec = %+v", name, got, test.immutable, k.Spec)
		}
	}
}
