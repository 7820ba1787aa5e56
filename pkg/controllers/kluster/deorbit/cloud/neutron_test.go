// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func TestFloatingIPs(t *testing.T) {
	prod := madeBy("prod", "shop", "web", "u")
	address := func(description, port string) openstack.FloatingIP {
		return openstack.FloatingIP{ID: "f", Description: description, PortID: port, ProjectID: "p"}
	}
	with := func(f openstack.FloatingIP, all ...openstack.LoadBalancer) inventory {
		return inventory{floatingIPs: []openstack.FloatingIP{f}, loadBalancers: all}
	}
	deleted := []string{"delete FloatingIP f"}
	const kept = "retain FloatingIP f: the Service keeps it by annotation"
	check(t, map[string]choice{
		"free":               {found: with(address(prod.address, "")), want: deleted},
		"of an ingress":      {found: with(address(prod.ingressAddress, "")), want: deleted},
		"of another cluster": {found: with(address(madeBy("prod-2", "shop", "web", "u").address, "")), want: nil},
		"of no client":       {found: with(address("", "")), want: nil},
		"of another client that knows this cluster": {found: with(address("DNS of "+prod.address, "")), want: nil},
		"of another project":                        {found: with(changed(address(prod.address, ""), func(f *openstack.FloatingIP) { f.ProjectID = "q" })), want: nil},
		"of a balancer being deleted":               {found: with(address(prod.address, "port-b"), balancer("b", "prod")), want: []string{"delete LoadBalancer b", "delete FloatingIP f"}},
		"of a balancer that is going":               {found: with(address(prod.address, "port-b"), changed(balancer("b", "prod"), func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "PENDING_DELETE" })), want: []string{"delete FloatingIP f", "remain LoadBalancer b: status PENDING_DELETE"}},
		"of a balancer that is kept":                {work: work(policies(retainBalancers)), found: with(address(prod.address, "port-b"), balancer("b", "prod")), want: []string{"retain LoadBalancer b: spec.deorbit.loadBalancers is Retain", "retain FloatingIP f: spec.deorbit.loadBalancers is Retain, and it is attached to load balancer b"}},
		"of a balancer that others use":             {found: with(address(prod.address, "port-b"), balancer("b", "prod", "kube_service_dev_a_b")), want: []string{"change LoadBalancer b", "leave FloatingIP f: attached to load balancer b, which stays"}},
		"of a balancer of another":                  {found: with(address(prod.address, "port-b"), balancer("b", "dev")), want: []string{"leave FloatingIP f: attached to load balancer b, which stays"}},
		"of a port of another client":               {found: with(address(prod.address, "port-x"), balancer("b", "prod")), want: []string{"delete LoadBalancer b", "leave FloatingIP f: attached to port port-x, which is of no load balancer of the cluster"}},
		"balancers without a port":                  {found: with(address(prod.address, ""), changed(balancer("b", "dev"), func(b *openstack.LoadBalancer) { b.VIPPortID = "" })), want: deleted},
		"kept":                                      {work: work(policies(func(p *stage.Policies) { p.FloatingIPs = keep })), found: with(address(prod.address, "")), want: []string{"retain FloatingIP f: spec.deorbit.floatingIPs is Retain"}},
		"its Service keeps it":                      {work: work(sawService("u", "shop", "web", true)), found: with(address(prod.address, "port-b"), balancer("b", "prod")), want: []string{"delete LoadBalancer b", kept}},
		"its Service does not keep it":              {work: work(sawService("u", "shop", "web", false), sawService("v", "shop", "other", true), sawService("w", "other", "web", true)), found: with(address(prod.address, "")), want: deleted},
		"an earlier Service kept it":                {work: work(sawService("u", "shop", "web", true), sawService("v", "shop", "web", false)), found: with(address(prod.address, "")), want: []string{kept}},
		"an Ingress of the name":                    {work: work(sawService("u", "shop", "web", true)), found: with(address(prod.ingressAddress, "")), want: deleted},
		"by the shared name":                        {work: work(named("kubernetes", "t")), found: with(address(madeBy("kubernetes", "shop", "web", "u").address, "")), want: []string{"leave FloatingIP f: clusterName is kubernetes, which many clusters share: nothing is deleted by it"}},
		"by the shared name, kept":                  {work: work(named("kubernetes", "t"), policies(func(p *stage.Policies) { p.FloatingIPs = keep })), found: with(address(madeBy("kubernetes", "shop", "web", "u").address, "")), want: []string{"retain FloatingIP f: spec.deorbit.floatingIPs is Retain"}},
		"by the shared name, none there":            {work: work(named("kubernetes", "t")), found: with(address(prod.address, "")), want: nil},
		"by no name":                                {work: work(named("", "t")), found: with(address(prod.address, "")), want: nil},
	})
}

func TestSecurityGroups(t *testing.T) {
	prod := madeBy("prod", "shop", "web", "u")
	group := openstack.SecurityGroup{ID: "g", Name: prod.group, Description: prod.groupDescription, ProjectID: "p"}
	with := func(g openstack.SecurityGroup, ports ...string) inventory {
		found := inventory{securityGroups: []openstack.SecurityGroup{g}, ports: map[string][]openstack.Port{}}
		for _, id := range ports {
			found.ports["g"] = append(found.ports["g"], openstack.Port{ID: id})
		}
		return found
	}
	and := func(found inventory, b openstack.LoadBalancer) inventory {
		found.loadBalancers = []openstack.LoadBalancer{b}
		return found
	}
	const strange = ", to which the controller of the cluster is not known to have added it"
	added := func(changes ...func(*openstack.Port)) inventory {
		p := openstack.Port{ID: "x", ProjectID: "p", DeviceOwner: "compute:nova", DeviceID: "server", Tags: []string{"other", "g"}}
		for _, change := range changes {
			change(&p)
		}
		found := with(group)
		found.ports["g"] = []openstack.Port{p}
		return found
	}
	leftBy := func(ports string) []string {
		return []string{"remain SecurityGroup g: used by port " + ports + strange}
	}
	deleted, seen := []string{"delete SecurityGroup g"}, work(sawService("u", "shop", "web", false))
	pending := changed(balancer("b", "prod"), func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "PENDING_DELETE" })
	check(t, map[string]choice{
		"unused":                             {found: with(group), want: deleted},
		"unused, seen":                       {work: seen, found: with(group), want: deleted},
		"used, seen":                         {work: seen, found: with(group, "x2", "x1", "x3"), want: leftBy("x1 and 2 more")},
		"added by the controller":            {work: seen, found: added(), want: []string{"release, delete SecurityGroup g"}},
		"added, never seen":                  {found: added(), want: []string{"leave SecurityGroup g: used by port x, and its Service was never seen in the cluster"}},
		"added, it stands":                   {work: work(sawService("u", "shop", "web", false), func(w *stage.Work) { w.Recorded.Services[0].Standing = kubernikusv1.StandingRefused }), found: added(), want: []string{"remain SecurityGroup g: Service shop/web still exists in the cluster, which rejected its deletion", "remain Service : Service shop/web still exists in the cluster, which rejected its deletion"}},
		"added, kept":                        {work: work(sawService("u", "shop", "web", false), policies(retainBalancers)), found: added(), want: []string{"retain SecurityGroup g: spec.deorbit.loadBalancers is Retain"}},
		"added, a balancer is deleted first": {work: seen, found: and(added(), balancer("b", "prod")), want: []string{"delete LoadBalancer b", "remain SecurityGroup g: waits for the load balancers"}},
		"of another project's port":          {work: seen, found: added(func(p *openstack.Port) { p.ProjectID = "q" }), want: leftBy("x")},
		"of no server":                       {work: seen, found: added(func(p *openstack.Port) { p.DeviceOwner = "Octavia" }), want: leftBy("x")},
		"without the tag":                    {work: seen, found: added(func(p *openstack.Port) { p.Tags = []string{"other"} }), want: []string{"release, delete SecurityGroup g"}},
		"used, never seen":                   {found: with(group, "x"), want: []string{"leave SecurityGroup g: used by port x, and its Service was never seen in the cluster"}},
		"used, another was seen":             {work: work(sawService("v", "shop", "web", false)), found: with(group, "x"), want: []string{"leave SecurityGroup g: used by port x, and its Service was never seen in the cluster"}},
		"of another cluster":                 {found: with(changed(group, func(g *openstack.SecurityGroup) { g.Description += "-2" })), want: nil},
		"of a Service that was seen, under another name": {work: seen, found: with(changed(group, func(g *openstack.SecurityGroup) { g.Description += "-2" })), want: []string{"delete SecurityGroup g"}},
		"of no client":                {work: seen, found: with(changed(group, func(g *openstack.SecurityGroup) { g.Description = "" })), want: nil},
		"with another name":           {work: seen, found: with(changed(group, func(g *openstack.SecurityGroup) { g.Name = "default" })), want: nil},
		"of another project":          {work: seen, found: with(changed(group, func(g *openstack.SecurityGroup) { g.ProjectID = "q" })), want: nil},
		"kept":                        {work: work(policies(retainBalancers)), found: with(group), want: []string{"retain SecurityGroup g: spec.deorbit.loadBalancers is Retain"}},
		"a balancer is deleted first": {found: and(with(group), balancer("b", "prod")), want: []string{"delete LoadBalancer b", "remain SecurityGroup g: waits for the load balancers"}},
		"a balancer is going":         {found: and(with(group), pending), want: []string{"remain LoadBalancer b: status PENDING_DELETE", "remain SecurityGroup g: waits for the load balancers"}},
		"a balancer of another":       {found: and(with(group), balancer("b", "dev")), want: deleted},
		"an address does not wait": {found: func() inventory {
			f := with(group)
			f.floatingIPs = []openstack.FloatingIP{{ID: "f", Description: prod.address, ProjectID: "p"}}
			return f
		}(), want: []string{"delete FloatingIP f", "delete SecurityGroup g"}},
		"by the shared name": {work: work(named("kubernetes", "t")), found: with(changed(group, func(g *openstack.SecurityGroup) {
			g.Description = madeBy("kubernetes", "shop", "web", "u").groupDescription
		})), want: []string{"leave SecurityGroup g: clusterName is kubernetes, which many clusters share: nothing is deleted by it"}},
		"by no name": {work: work(named("", "t")), found: with(group), want: nil},
	})
}

func TestConflicts(t *testing.T) {
	kluster := func(uid, namespace, project, cluster, tag string, changes ...func(*kubernikusv1.Kluster)) kubernikusv1.Kluster {
		k := kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: uid, UID: types.UID(uid), Finalizers: []string{kubernikusv1.DeorbiterFinalizer}}}
		k.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &cluster, CSIClusterID: &tag}
		if project != "" {
			k.Status.Openstack = &kubernikusv1.OpenstackStatus{ProjectID: project}
		}
		for _, change := range changes {
			change(&k)
		}
		return k
	}
	going := func(k *kubernikusv1.Kluster) { k.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	released := func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"other"} }
	const byName, byTag = "IdentityConflict: Kluster ns/o has the same clusterName", "IdentityConflict: Kluster ns/o has the same csiClusterID"
	const unknown = byName + ", and its OpenStack project is unknown: correct its credentials; or, if it is in another project, set the annotation " +
		kubernikusv1.AcceptUnknownIdentityAnnotation + "=kluster/ns/o"
	of := func(id string) func(*kubernikusv1.Kluster) {
		return func(k *kubernikusv1.Kluster) { k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id} }
	}
	for name, c := range map[string]struct {
		k, other kubernikusv1.Kluster
		want     string
	}{
		"itself":                     {kluster("o", "ns", "p", "a", "b"), kluster("o", "ns", "p", "a", "b"), ""},
		"the same name":              {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "a", "c"), byName},
		"the same tag":               {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "c", "b"), byTag},
		"one's name is other's tag":  {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "b", "a"), ""},
		"from another namespace":     {kluster("k", "elsewhere", "p", "a", "b"), kluster("o", "ns", "p", "a", "c"), byName},
		"another project":            {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "q", "a", "b"), ""},
		"unknown project":            {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "", "a", "c"), unknown},
		"unknown project, elsewhere": {kluster("k", "elsewhere", "p", "a", "b"), kluster("o", "ns", "", "a", "b"), unknown},
		"the own one is not known":   {kluster("k", "elsewhere", "", "a", "b"), kluster("o", "ns", "p", "a", "c"), byName},
		"the own one has changed":    {kluster("k", "ns", "q", "a", "b"), kluster("o", "ns", "p", "a", "c"), byName},
		"going":                      {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "a", "b", going), byName},
		"both of one cluster going":  {kluster("k", "ns", "p", "a", "b", going, of("x")), kluster("o", "ns", "p", "a", "b", going, of("x")), ""},
		"both going, not of one":     {kluster("k", "ns", "p", "a", "b", going, of("x")), kluster("o", "ns", "p", "a", "b", going, of("y")), byName},
		"both going, of which":       {kluster("k", "ns", "p", "a", "b", going), kluster("o", "ns", "p", "a", "b", going), byName},
		"of one cluster, not going":  {kluster("k", "ns", "p", "a", "b", going, of("x")), kluster("o", "ns", "p", "a", "b", of("x")), byName},
		"released":                   {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "a", "b", going, released), ""},
		"not protected":              {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "a", "b", released), byName},
		"without a cloud":            {kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "a", "b", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }), ""},
		"the shared name":            {kluster("k", "ns", "p", "kubernetes", "kubernetes"), kluster("o", "ns", "p", "kubernetes", "kubernetes"), ""},
		"no name":                    {kluster("k", "ns", "p", "", ""), kluster("o", "ns", "p", "", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ConflictsOf(stage.Work{Kluster: &c.k}, []kubernikusv1.Kluster{c.k, c.other}).Why("p"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	k, other := kluster("k", "ns", "p", "a", "b"), kluster("o", "ns", "p", "c", "d")
	conflicts := ConflictsOf(stage.Work{Kluster: &k}, []kubernikusv1.Kluster{k, other})
	for tag, want := range map[string]string{"d": "ns/o", "b": "", "": "", "x": ""} {
		if got := conflicts.ownerOf(tag, "p"); got != want {
			t.Errorf("tag %q is of %q, want %q", tag, got, want)
		}
	}
}

// TestNothingIsDeletedInAConflict checks that a conflict about one name retains everything, and is reported.
func TestNothingIsDeletedInAConflict(t *testing.T) {
	rivals := Conflicts{rivals: []rival{{kluster: "ns/o", project: "p", text: "csiClusterID"}}}
	const why = ": IdentityConflict: Kluster ns/o has the same csiClusterID"
	found := inventory{
		loadBalancers: []openstack.LoadBalancer{balancer("b", "prod"), changed(balancer("c", "prod"), func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "PENDING_UPDATE" })},
		volumes:       []openstack.Volume{volume("v", "available", "-"), volume("w", "available", "prod-id")},
	}
	w := work(sawVolume("v", "Delete"))
	check(t, map[string]choice{
		"here":      {w, rivals, found, []string{"remain LoadBalancer c" + why, "remain LoadBalancer b" + why, "remain Volume v" + why, "leave Volume w: never seen in the cluster, and spec.deorbit.unseenVolumes is Retain"}},
		"elsewhere": {w, Conflicts{rivals: []rival{{kluster: "ns/o", project: "q", text: "csiClusterID"}}}, inventory{volumes: found.volumes[:1]}, []string{"delete Volume v"}},
		"nothing":   {w, rivals, inventory{}, nil},
	})
}
