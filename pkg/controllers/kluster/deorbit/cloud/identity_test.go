// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// unnamed sets a Kluster t/web-t with the short name web, without spec.cloudProvider.
func unnamed(w *stage.Work) {
	w.Kluster = &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: "web-t", UID: "k-uid"}, Spec: kubernikusv1.KlusterSpec{Name: "web"}}
}

// formerly sets the names that earlier versions of the API server defaulted.
func formerly(w *stage.Work) {
	unnamed(w)
	w.Kluster.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: new("web"), CSIClusterID: new("web-t")}
}

func owned(w *stage.Work) {
	formerly(w)
	w.Kluster.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:cloudProvider":{"f:clusterName":{},"f:csiClusterID":{}}}}`)}}
}

func lost(w *stage.Work) { w.ClusterLost = "connection refused" }

func sawNames(cluster, tag string) func(*stage.Work) {
	return func(w *stage.Work) { w.Recorded.ClusterName, w.Recorded.CSIClusterID = cluster, tag }
}

// Nothing is deleted by a name that is derived from the name of the Kluster: it may be that of another cluster in use.
func TestNamesAreNeverDerived(t *testing.T) {
	made := madeBy("web", "shop", "web", "u")
	alive := inventory{
		loadBalancers:  []openstack.LoadBalancer{balancer("b", "web")},
		floatingIPs:    []openstack.FloatingIP{{ID: "f", ProjectID: "p", Description: made.address, PortID: "port-b"}},
		securityGroups: []openstack.SecurityGroup{{ID: "g", Name: made.group, Description: made.groupDescription, ProjectID: "p"}},
		volumes:        []openstack.Volume{volume("v", "available", "web-t")},
	}
	const byName = ": clusterName is neither set in spec.cloudProvider nor seen in the cluster: nothing is deleted by it"
	const byTag = ": csiClusterID is neither set in spec.cloudProvider nor seen in the cluster: nothing is deleted by it"
	kept := []string{"leave LoadBalancer b" + byName, "leave FloatingIP f" + byName, "leave SecurityGroup g" + byName, "leave Volume v" + byTag}
	const unseenToo = ", and the cluster could not be checked"
	deleted := []string{"delete LoadBalancer b", "delete FloatingIP f", "delete Volume v", "remain SecurityGroup g: waits for the load balancers"}
	const differs = ": spec.cloudProvider.clusterName is prod, but the cluster runs with --cluster-name=web: correct it"
	check(t, map[string]choice{
		"no name":             {work: work(unnamed, unseen), found: alive, want: kept},
		"a former default":    {work: work(formerly, unseen), found: alive, want: kept},
		"set by a client":     {work: work(owned, unseen), found: alive, want: deleted},
		"seen in the cluster": {work: work(unnamed, unseen, sawNames("web", "web-t")), found: alive, want: deleted},
		"seen in the cluster, the shared one": {work: work(unnamed, unseen, sawNames("kubernetes", "")), found: inventory{loadBalancers: alive.loadBalancers},
			want: []string{"leave LoadBalancer b: clusterName is kubernetes, which many clusters share: nothing is deleted by it"}},
		"another name was seen": {work: work(sawNames("web", "")), found: inventory{loadBalancers: []openstack.LoadBalancer{balancer("b", "web"), balancer("c", "prod")}},
			want: []string{"remain LoadBalancer b" + differs, "remain LoadBalancer c" + differs}},
		"the cluster is lost": {work: work(unnamed, lost), found: alive,
			want: []string{"remain LoadBalancer b" + byName + unseenToo, "remain FloatingIP f" + byName + unseenToo, "remain SecurityGroup g" + byName + unseenToo, "remain Volume v" + byTag + unseenToo}},
		"the cluster never came up":                {work: work(unnamed, neverCameUp), found: alive, want: nil},
		"the cluster never came up, a shared name": {work: work(named("kubernetes", "kubernetes"), neverCameUp), found: inventory{loadBalancers: []openstack.LoadBalancer{balancer("b", "kubernetes")}, volumes: volumes(volume("w", "available", "kubernetes")).volumes}, want: nil},
		"the cluster never came up, and was lost":  {work: work(unnamed, neverCameUp, lost), found: inventory{loadBalancers: alive.loadBalancers}, want: []string{"remain LoadBalancer b" + byName + unseenToo}},
		"the cluster came up":                      {work: work(unnamed, neverCameUp, lost, func(w *stage.Work) { w.Kluster.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: "id"} }), found: inventory{volumes: alive.volumes}, want: []string{"remain Volume v" + byTag + unseenToo}},
		"the cluster is lost, and all is a Kluster's": {work: work(unnamed, lost), found: alive,
			rival: Conflicts{clusters: []rival{{kluster: "ns/o", project: "p", text: "web"}}, tags: []rival{{kluster: "ns/o", project: "p", text: "web-t"}}}, want: nil},
		"never seen, of a lost cluster": {work: work(lost), found: volumes(volume("v", "available", "prod-id")),
			want: []string{"remain Volume v: never seen: the cluster could not be checked, and spec.deorbit.unseenVolumes is Retain"}},
	})
}

// All names that another Kluster may have are protected.
func TestDerivedNamesProtect(t *testing.T) {
	w, other := work(), work(unnamed).Kluster
	w.Kluster.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: new("web"), CSIClusterID: new("mine")}
	other.UID, other.Status.Openstack = "o-uid", &kubernikusv1.OpenstackStatus{ProjectID: "p"}
	if got := ConflictsOf(w, []kubernikusv1.Kluster{*w.Kluster, *other}).Why("p"); got != "IdentityConflict: Kluster t/web-t has the same clusterName" {
		t.Errorf("Why = %q, want a conflict with the name that the other one may have", got)
	}
}

// A Kluster whose project is unknown may be in every project, whatever its namespace is, until a user confirms that it is not.
func TestUnknownProject(t *testing.T) {
	registered := func(host, project string) func(*kubernikusv1.Kluster) {
		return func(k *kubernikusv1.Kluster) {
			k.Status.Openstack = &kubernikusv1.OpenstackStatus{AuthHost: host, Region: "r", ProjectID: project}
		}
	}
	none := func(*kubernikusv1.Kluster) {}
	for name, c := range map[string]struct {
		namespace  string
		own, other func(*kubernikusv1.Kluster)
		accepted   string
		holds      bool
	}{
		"in the same namespace":             {"garden-shop", none, none, "", true},
		"in another namespace":              {"garden-other", none, none, "", true},
		"its Keystone alone is known":       {"garden-other", registered("a", "p"), registered("a", ""), "", true},
		"at another Keystone":               {"garden-other", registered("a", "p"), registered("b", ""), "", false},
		"in another project":                {"garden-other", registered("a", "p"), registered("a", "q"), "", false},
		"in the same project":               {"garden-other", registered("a", "p"), registered("a", "p"), "", true},
		"accepted":                          {"garden-other", none, none, "garden-other/o", false},
		"accepted by kind":                  {"garden-other", none, none, "kluster/garden-other/o", false},
		"a backend of its name is accepted": {"garden-other", none, none, "discoverybackend/garden-other/o", true},
		"another one is accepted":           {"garden-other", none, none, "garden-shop/o", true},
		"in the same project, and accepted": {"garden-other", registered("a", "p"), registered("a", "p"), "garden-other/o", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := work()
			c.own(w.Kluster)
			w.Kluster.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: c.accepted}
			other := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "o", UID: "o-uid"}}
			other.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: new("prod"), CSIClusterID: new("other")}
			c.other(other)
			got := ConflictsOf(w, []kubernikusv1.Kluster{*w.Kluster, *other}).Why("p")
			if accepts := kubernikusv1.AcceptUnknownIdentityAnnotation + "=kluster/garden-shop/o,kluster/garden-other/o"; c.accepted == "garden-shop/o" && !strings.HasSuffix(got, accepts) {
				t.Errorf("Why = %q, want one that ends with %q", got, accepts)
			}
			if holds := strings.HasPrefix(got, "IdentityConflict: Kluster "+c.namespace+"/o has the same clusterName"); holds != c.holds || !holds && got != "" {
				t.Errorf("Why = %q, want a conflict: %t", got, c.holds)
			}
		})
	}
}

// served records a Service that had a dedicated load balancer.
func served(change ...func(*kubernikusv1.SeenService)) func(*stage.Work) {
	return func(w *stage.Work) {
		s := kubernikusv1.SeenService{UID: "u", Namespace: "shop", Name: "web", LoadBalancerID: "b", Address: "1.2.3.4", Finalized: true}
		for _, f := range change {
			f(&s)
		}
		w.Recorded.Services = append(w.Recorded.Services, s)
	}
}

func cleaned(s *kubernikusv1.SeenService) { s.Gone = true }

// TestAddressIsNotKnown checks the reasons why a recorded address does not prove whose load balancer it is, and that a Service with
// a hostname is not taken for one that never had a load balancer.
func TestAddressIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct{ address, want string }{
		"a hostname":      {"web.example.com", "its status has no IP"},
		"nothing":         {"", "its status has no IP"},
		"another address": {"1.2.3.5", "has another address"},
	} {
		t.Run(name, func(t *testing.T) {
			w := work(named("kubernetes", "kubernetes"), served(func(s *kubernikusv1.SeenService) { s.Address, s.Finalized = c.address, false }))
			d := decide("p", w, Conflicts{}, inventory{loadBalancers: []openstack.LoadBalancer{balancer("b", "kubernetes")}})
			if len(d.removals) > 0 || len(d.remaining) != 1 || !strings.Contains(d.remaining[0].Reason, c.want) {
				t.Errorf("remaining: got %+v, removals %+v, want one with %q", d.remaining, d.removals, c.want)
			}
		})
	}
	if cleanedUp(kubernikusv1.SeenService{Address: "web.example.com"}) {
		t.Error("a Service with a hostname counts as never served")
	}
}

// Without a usable name of the cluster, objects are found by the IDs that its Services recorded.
func TestDeleteByRecordedIDs(t *testing.T) {
	made := madeBy("kubernetes", "shop", "web", "u")
	withPort := func(changes ...func(*openstack.LoadBalancer)) inventory {
		b := balancer("b", "kubernetes")
		for _, change := range changes {
			change(&b)
		}
		return inventory{
			loadBalancers:  []openstack.LoadBalancer{b, balancer("other", "kubernetes")},
			floatingIPs:    []openstack.FloatingIP{{ID: "f", ProjectID: "p", Description: made.address, PortID: "port-b", Address: netip.MustParseAddr("1.2.3.4")}},
			securityGroups: []openstack.SecurityGroup{{ID: "g", Name: made.group, Description: made.groupDescription, ProjectID: "p"}},
		}
	}
	shared := func(found inventory, tag string) inventory {
		found.loadBalancers[0].Tags = append(found.loadBalancers[0].Tags, tag)
		return found
	}
	listening := func(found inventory, name string) inventory {
		found.listeners = []openstack.Listener{{ID: "l", Name: name, ProjectID: "p", LoadBalancerIDs: []string{"b"}}}
		return found
	}
	nameless := func(change ...func(*stage.Work)) stage.Work {
		return work(append([]func(*stage.Work){named("kubernetes", "kubernetes")}, change...)...)
	}
	for name, c := range map[string]struct {
		work  stage.Work
		found inventory
		rival Conflicts
		want  []string
	}{
		"by its id":        {work: nameless(served()), found: withPort(), want: []string{"delete LoadBalancer b", "delete FloatingIP f"}},
		"without any name": {work: work(unnamed, served()), found: withPort(), want: []string{"delete LoadBalancer b", "delete FloatingIP f"}},
		"its address is the VIP": {work: nameless(served(func(s *kubernikusv1.SeenService) { s.Address = "10.0.0.9" })),
			found: withPort(func(b *openstack.LoadBalancer) { b.VIP = netip.MustParseAddr("10.0.0.9") }), want: []string{"delete LoadBalancer b", "delete FloatingIP f"}},
		"another address":         {work: nameless(served(func(s *kubernikusv1.SeenService) { s.Address = "1.2.3.5" })), found: withPort()},
		"no address":              {work: nameless(served(func(s *kubernikusv1.SeenService) { s.Address = "" })), found: withPort()},
		"of another Service":      {work: nameless(served(func(s *kubernikusv1.SeenService) { s.Name = "api" })), found: withPort()},
		"a user's load balancer":  {work: nameless(served()), found: withPort(func(b *openstack.LoadBalancer) { b.Name, b.Description, b.Tags = "front", "", nil })},
		"renamed":                 {work: nameless(served()), found: withPort(func(b *openstack.LoadBalancer) { b.Description = "" })},
		"of a registered cluster": {work: nameless(served()), found: withPort(), rival: Conflicts{clusters: []rival{{kluster: "ns/o", project: "p", text: "kubernetes"}}}},
		"others use it":           {work: nameless(served()), found: shared(withPort(), "kube_service_kubernetes_shop_other")},
		"another cluster uses it": {work: nameless(served()), found: shared(withPort(), "kube_service_prod_shop_web")},
		"a listener of another":   {work: nameless(served()), found: listening(withPort(), "listener_0_kube_service_kubernetes_shop_other")},
		"its own listener":        {work: nameless(served()), found: listening(withPort(), "listener_0_kube_service_kubernetes_shop_web"), want: []string{"delete LoadBalancer b", "delete FloatingIP f"}},
		"shared by its own Services": {work: nameless(served(), served(func(s *kubernikusv1.SeenService) { s.UID, s.Name = "v", "api" })),
			found: shared(withPort(), "kube_service_kubernetes_shop_api"), want: []string{"delete LoadBalancer b", "delete FloatingIP f"}},
		"in another project": {work: nameless(served()), found: withPort(func(b *openstack.LoadBalancer) { b.ProjectID = "q" })},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range decide("p", c.work, c.rival, c.found).removals {
				if r.object.Kind != kindSecurityGroup {
					got = append(got, "delete "+r.object.Kind+" "+r.object.ID)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("removals = %q, want %q", got, c.want)
			}
		})
	}
}

// A recorded Service remains until its load balancer is known to be deleted.
func TestRecordedServicesRemain(t *testing.T) {
	const unknown = "remain LoadBalancer b: it may be of Service shop/web: it has no annotation with an id, and clusterName is kubernetes, which many clusters share: nothing is deleted by it"
	of := func(cluster string) inventory {
		return inventory{loadBalancers: []openstack.LoadBalancer{balancer("b", cluster)}}
	}
	at := func(address string) inventory {
		return inventory{loadBalancers: []openstack.LoadBalancer{{ID: "b", Name: "front", ProjectID: "p", VIP: netip.MustParseAddr(address)}}}
	}
	anonymous := func(s *kubernikusv1.SeenService) { s.LoadBalancerID = "" }
	shared := named("kubernetes", "t")
	check(t, map[string]choice{
		"its id is not in Octavia":          {work: work(shared, served()), want: nil},
		"deleted behind its finalizer":      {work: work(shared, served(anonymous, cleaned)), want: nil},
		"deletion not seen":                 {work: work(shared, served(anonymous)), found: of("any"), want: []string{unknown}},
		"deletion not seen, by its address": {work: work(shared, served(anonymous)), found: at("1.2.3.4"), want: []string{unknown}},
		"deleted, by its address":           {work: work(shared, served(anonymous)), found: at("1.2.3.5"), want: nil},
		"no load balancer is left":          {work: work(shared, served(anonymous)), want: nil},
		"of another Kluster":                {work: work(shared, served(anonymous)), found: of("prod"), rival: Conflicts{clusters: []rival{{kluster: "ns/o", project: "p", text: "prod"}}}, want: nil},
		"load balancers not checked":        {work: work(shared, served(anonymous)), found: inventory{unseen: unseenKinds{balancers: "403"}}, want: []string{"remain LoadBalancer : could not be checked: 403"}},
		"deleted without a finalizer":       {work: work(shared, served(anonymous, cleaned, func(s *kubernikusv1.SeenService) { s.Finalized = false })), found: of("any"), want: []string{unknown}},
		"never served":                      {work: work(shared, sawService("u", "shop", "web", false)), want: nil},
		"by a name that can be used":        {work: work(served(anonymous)), want: nil},
		"load balancers are kept":           {work: work(shared, served(anonymous), policies(func(p *stage.Policies) { p.LoadBalancers = keep })), want: nil},
		"a mismatch, Service not deleted":   {work: work(shared, served()), found: inventory{loadBalancers: []openstack.LoadBalancer{{ID: "b", Name: "front", ProjectID: "p"}}}, want: []string{"remain LoadBalancer b: Service shop/web names it in its annotation, but name and description are not those of a load balancer of this Service"}},
		"a mismatch, Service deleted":       {work: work(shared, served(cleaned)), found: inventory{loadBalancers: []openstack.LoadBalancer{{ID: "b", Name: "front", ProjectID: "p"}}}, want: []string{"leave LoadBalancer b: Service shop/web names it in its annotation, but name and description are not those of a load balancer of this Service"}},
	})
}

// A cluster that rejects the credentials may still run: nothing of it is deleted.
func TestClusterThatRejectsCredentialsIsRetained(t *testing.T) {
	rejecting := func(w *stage.Work) { w.ClusterRejected = "401" }
	found := inventory{loadBalancers: []openstack.LoadBalancer{balancer("b", "prod")}, volumes: []openstack.Volume{volume("v", "available", "-")}}
	check(t, map[string]choice{
		"rejects": {work: work(rejecting, sawVolume("v", "Delete")), found: found, want: []string{"remain LoadBalancer b: ClusterRefused: 401", "remain Volume v: ClusterRefused: 401"}},
		"accepts": {work: work(sawVolume("v", "Delete")), found: found, want: []string{"delete LoadBalancer b", "delete Volume v"}},
	})
}

// An object that still exists in the cluster is never deleted in OpenStack.
func TestObjectsThatExistInTheClusterAreRetained(t *testing.T) {
	made := madeBy("prod", "shop", "web", "u")
	standing := func(why kubernikusv1.Standing) func(*stage.Work) {
		return func(w *stage.Work) {
			w.Recorded.Volumes = []kubernikusv1.SeenVolume{{ID: "v", Name: "pv", ReclaimPolicy: "Delete", Standing: why}}
			w.Recorded.Snapshots = []kubernikusv1.SeenSnapshot{{ID: "s", Name: "content", DeletionPolicy: "Delete", Standing: why}}
			w.Recorded.Services = []kubernikusv1.SeenService{{UID: "u", Namespace: "shop", Name: "web", Finalized: true, Standing: why}}
		}
	}
	found := inventory{
		loadBalancers:  []openstack.LoadBalancer{balancer("b", "prod")},
		floatingIPs:    []openstack.FloatingIP{{ID: "f", ProjectID: "p", Description: made.address, PortID: "port-b"}},
		securityGroups: []openstack.SecurityGroup{{ID: "g", Name: made.group, Description: made.groupDescription, ProjectID: "p"}},
		volumes:        []openstack.Volume{volume("v", "available", "prod-id")},
		snapshots:      []openstack.VolumeSnapshot{snapshot("s", "other", "available", "prod-id")},
	}
	left := func(why string) []string {
		const service = "Service shop/web still exists in the cluster"
		return []string{"remain LoadBalancer b: " + service + why, "remain FloatingIP f: " + service + why, "remain SecurityGroup g: " + service + why, "remain Service : " + service + why,
			"remain Snapshot s: its VolumeSnapshot or VolumeSnapshotContent content still exists in the cluster" + why, "remain Volume v: the claim of its PersistentVolume pv still exists in the cluster" + why}
	}
	over := func(why string) []string {
		const service = "Service shop/web existed in the cluster when its machines were deleted"
		return []string{"leave LoadBalancer b: " + service + why, "leave FloatingIP f: " + service + why, "leave SecurityGroup g: " + service + why,
			"leave Snapshot s: its VolumeSnapshot or VolumeSnapshotContent content existed in the cluster when its machines were deleted" + why, "leave Volume v: the claim of its PersistentVolume pv existed in the cluster when its machines were deleted" + why}
	}
	check(t, map[string]choice{
		"rejected, the machines are deleted":  {work: work(standing(kubernikusv1.StandingRefused), dismantled), found: found, want: over(", which rejected its deletion")},
		"finalizer, the machines are deleted": {work: work(standing(kubernikusv1.StandingFinalizer), dismantled), found: found, want: over(", where a finalizer holds it")},
		"rejected, the machines are present": {work: work(standing(kubernikusv1.StandingRefused), func(w *stage.Work) {
			w.Kluster.Annotations = map[string]string{kubernikusv1.MachinesAnnotation: kubernikusv1.MachinesPresent}
		}), found: found, want: left(", which rejected its deletion")},
		"present":   {work: work(standing(kubernikusv1.StandingPresent)), found: found, want: left(" and is not deleted")},
		"refused":   {work: work(standing(kubernikusv1.StandingRefused)), found: found, want: left(", which rejected its deletion")},
		"finalizer": {work: work(standing(kubernikusv1.StandingFinalizer)), found: found, want: left(", where a finalizer holds it")},
		"deleted": {work: work(standing("")), found: found,
			want: []string{"delete LoadBalancer b", "delete FloatingIP f", "delete Snapshot s", "delete Volume v", "remain SecurityGroup g: waits for the load balancers"}},
	})
}
