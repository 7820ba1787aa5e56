// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func balancers(all ...openstack.LoadBalancer) inventory { return inventory{loadBalancers: all} }

func retainBalancers(p *stage.Policies) { p.LoadBalancers = keep }

// renamed has another name and another description than its cluster gives.
func renamed(b openstack.LoadBalancer, name, description string) openstack.LoadBalancer {
	b.Name, b.Description = name, description
	return b
}

func TestLoadBalancers(t *testing.T) {
	prod, ab := madeBy("prod", "shop", "web", "u"), madeBy("a_b", "c", "d", "u")
	deleted := []string{"delete LoadBalancer b"}
	ingress := changed(renamed(balancer("b", "prod"), prod.ingress, prod.ingressDescription), func(b *openstack.LoadBalancer) { b.Tags = nil })
	untagged := changed(balancer("b", "prod"), func(b *openstack.LoadBalancer) { b.Tags = nil })
	status := func(s string) openstack.LoadBalancer {
		return changed(balancer("b", "prod"), func(b *openstack.LoadBalancer) { b.ProvisioningStatus = s })
	}
	nameOnly := []string{"leave LoadBalancer b: its name is of this cluster, its description is not"}
	descriptionOnly := []string{"leave LoadBalancer b: its description is of this cluster, its name is not"}
	cut := strings.Repeat("n", 300)
	check(t, map[string]choice{
		"ours":                       {found: balancers(balancer("b", "prod")), want: deleted},
		"without tags":               {found: balancers(untagged), want: deleted},
		"of an ingress":              {found: balancers(ingress), want: deleted},
		"two owned by Groundskeeper": {found: balancers(balancer("b", "prod"), balancer("c", "prod")), want: []string{"delete LoadBalancer b", "delete LoadBalancer c"}},
		"several Services owned by Groundskeeper": {found: balancers(balancer("b", "prod", "kube_service_prod_shop_other", "kube_service_prod_x_y")), want: deleted},
		"tags of users":                              {found: balancers(balancer("b", "prod", "cost=42", "kube")), want: deleted},
		"a tag and the description":                  {found: balancers(renamed(balancer("b", "prod"), "front", prod.description)), want: deleted},
		"longer name of the cluster":                 {found: balancers(balancer("b", "prod-2")), want: nil},
		"longer, with underscore":                    {found: balancers(balancer("b", "prod_2")), want: nil},
		"shorter name of the cluster":                {found: balancers(balancer("b", "pro")), want: nil},
		"shared name":                                {found: balancers(balancer("b", "kubernetes")), want: nil},
		"the other's underscore":                     {work: work(named("a", "t")), found: balancers(renamed(untagged, ab.service, ab.description)), want: nil},
		"own underscore":                             {work: work(named("a_b", "t")), found: balancers(renamed(untagged, ab.service, ab.description)), want: deleted},
		"unicode":                                    {work: work(named("größe", "t")), found: balancers(balancer("b", "größe"), balancer("c", "gro\u0308ße")), want: deleted},
		"the name alone":                             {found: balancers(renamed(balancer("b", "prod"), prod.service, "manually")), want: nameOnly},
		"the name, described as another's":           {found: balancers(renamed(balancer("b", "prod"), prod.service, madeBy("old", "shop", "web", "u").description)), want: nameOnly},
		"the description alone":                      {found: balancers(renamed(untagged, "front", prod.description)), want: descriptionOnly},
		"renamed to another cluster":                 {found: balancers(renamed(untagged, "kube_service_new_shop_web", prod.description)), want: descriptionOnly},
		"renamed to one that begins as this cluster": {found: balancers(renamed(untagged, "kube_service_prod_2_shop_web", prod.description)), want: descriptionOnly},
		"cut":                                {found: balancers(renamed(untagged, ("kube_service_prod_shop_" + cut)[:255], prod.description)), want: deleted},
		"cut, described as another's":        {found: balancers(renamed(untagged, ("kube_service_prod_shop_" + cut)[:255], "manually")), want: nil},
		"of another project":                 {found: balancers(changed(balancer("b", "prod"), func(b *openstack.LoadBalancer) { b.ProjectID = "q" })), want: nil},
		"of a project that is not reported":  {found: balancers(changed(balancer("b", "prod"), func(b *openstack.LoadBalancer) { b.ProjectID = "" })), want: nil},
		"kept":                               {work: work(policies(retainBalancers)), found: balancers(balancer("b", "prod"), balancer("c", "prod-2")), want: []string{"retain LoadBalancer b: spec.deorbit.loadBalancers is Retain"}},
		"failed":                             {found: balancers(status("ERROR")), want: deleted},
		"being changed":                      {found: balancers(status("PENDING_UPDATE")), want: []string{"remain LoadBalancer b: status PENDING_UPDATE"}},
		"being deleted":                      {found: balancers(status("PENDING_DELETE")), want: []string{"remain LoadBalancer b: status PENDING_DELETE"}},
		"a status of tomorrow":               {found: balancers(status("FROZEN")), want: []string{"remain LoadBalancer b: status FROZEN"}},
		"by the shared name":                 {work: work(named("kubernetes", "t")), found: balancers(balancer("b", "kubernetes"), balancer("c", "kubernetes")), want: []string{"leave LoadBalancer b: clusterName is kubernetes, which many clusters share: nothing is deleted by it", "leave LoadBalancer c: clusterName is kubernetes, which many clusters share: nothing is deleted by it"}},
		"by the shared name, a tag":          {work: work(named("kubernetes", "t")), found: balancers(renamed(balancer("b", "kubernetes"), "front", "")), want: []string{"leave LoadBalancer b: clusterName is kubernetes, which many clusters share: nothing is deleted by it"}},
		"by the shared name, kept":           {work: work(named("kubernetes", "t"), policies(func(p *stage.Policies) { p.LoadBalancers = keep })), found: balancers(balancer("b", "kubernetes")), want: []string{"retain LoadBalancer b: spec.deorbit.loadBalancers is Retain"}},
		"by the shared name, not there":      {work: work(named("kubernetes", "t")), found: balancers(balancer("b", "prod")), want: nil},
		"by no name":                         {work: work(named("", "t")), found: balancers(balancer("b", "prod")), want: nil},
		"by no name, none of a cluster":      {work: work(named(" ", "t")), found: balancers(renamed(untagged, "front", "")), want: nil},
		"by the shared name, not in project": {work: work(named("kubernetes", "t")), found: balancers(changed(balancer("b", "kubernetes"), func(b *openstack.LoadBalancer) { b.ProjectID = "q" })), want: nil},
	})
}

// listenerOn and poolOn are those of one Service on a load balancer.
func listenerOn(id, balancer, pool string, tags ...string) openstack.Listener {
	return openstack.Listener{ID: id, ProjectID: "p", LoadBalancerIDs: []string{balancer}, DefaultPoolID: pool, Tags: tags}
}

func poolOn(id, balancer string, listeners ...string) openstack.Pool {
	return openstack.Pool{ID: id, ProjectID: "p", LoadBalancerIDs: []string{balancer}, ListenerIDs: listeners}
}

// TestSharedLoadBalancers checks that, of a load balancer that others use as well, only this cluster's part is deleted, one step
// per check.
func TestSharedLoadBalancers(t *testing.T) {
	const mine, other = "kube_service_prod_shop_extra", "kube_service_dev_shop_web"
	owned, foreign := balancer("b", "prod", other), balancer("b", "dev", mine)
	parts := func(b openstack.LoadBalancer) inventory {
		return inventory{loadBalancers: []openstack.LoadBalancer{b},
			listeners: []openstack.Listener{listenerOn("l1", "b", "p1", mine), listenerOn("l2", "b", "p2", other), listenerOn("l3", "b", "p3", mine, other), listenerOn("l4", "elsewhere", "p4", mine)},
			pools:     []openstack.Pool{poolOn("p1", "b", "l1"), poolOn("p2", "b", "l2"), poolOn("p3", "b", "l3", "l1"), poolOn("p4", "elsewhere", "l4"), poolOn("p5", "b")}}
	}
	without := func(found inventory, pools, listeners int) inventory {
		found.pools, found.listeners = found.pools[pools:], found.listeners[listeners:]
		return found
	}
	const turn = ": waits for its turn on load balancer b"
	first := []string{"delete Pool p1", "remain Listener l1" + turn, "remain LoadBalancer b" + turn}
	orphan := openstack.Pool{ID: "p6", Name: "pool_0_" + mine, ProjectID: "p", LoadBalancerIDs: []string{"b"}}
	names := []openstack.Listener{{ID: "l", Name: "listener_0_" + mine, ProjectID: "p", LoadBalancerIDs: []string{"b"}}, {ID: "m", Name: "listener_0_" + other, ProjectID: "p", LoadBalancerIDs: []string{"b"}}}
	check(t, map[string]choice{
		"own, others use it":                       {found: parts(owned), want: first},
		"another's, Groundskeeper uses it":         {found: parts(foreign), want: first},
		"another owner's, Groundskeeper uses it":   {found: parts(renamed(foreign, "front", "of the shop")), want: first},
		"then the listener":                        {found: without(parts(foreign), 1, 0), want: []string{"delete Listener l1", "remain LoadBalancer b" + turn}},
		"then the tags":                            {found: without(parts(foreign), 1, 1), want: []string{"change LoadBalancer b"}},
		"then another's is left":                   {found: without(parts(balancer("b", "dev")), 1, 1), want: nil},
		"then the own one stays":                   {found: without(parts(changed(owned, func(b *openstack.LoadBalancer) { b.Tags = []string{other} })), 1, 1), want: []string{"leave LoadBalancer b: other clusters use it"}},
		"a pool is left over":                      {found: inventory{loadBalancers: []openstack.LoadBalancer{foreign}, pools: []openstack.Pool{orphan}}, want: []string{"delete Pool p6", "remain LoadBalancer b" + turn}},
		"listeners have names":                     {found: inventory{loadBalancers: []openstack.LoadBalancer{foreign}, listeners: names}, want: []string{"delete Listener l", "remain LoadBalancer b" + turn}},
		"only a listener shows it":                 {found: inventory{loadBalancers: []openstack.LoadBalancer{balancer("b", "prod")}, listeners: names[1:]}, want: []string{"change LoadBalancer b"}},
		"changing":                                 {found: without(parts(changed(foreign, func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "PENDING_UPDATE" })), 1, 0), want: []string{"remain Listener l1: load balancer b has status PENDING_UPDATE", "remain LoadBalancer b: load balancer b has status PENDING_UPDATE"}},
		"failed":                                   {found: without(parts(changed(foreign, func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "ERROR" })), 1, 1), want: []string{"remain LoadBalancer b: load balancer b has status ERROR"}},
		"kept":                                     {work: work(policies(retainBalancers)), found: parts(foreign), want: []string{"retain LoadBalancer b: spec.deorbit.loadBalancers is Retain"}},
		"a tag that may be owned by Groundskeeper": {found: balancers(balancer("b", "prod", ("kube_service_prod_shop_" + strings.Repeat("n", 300))[:255])), want: []string{"change LoadBalancer b"}},
		"of another project":                       {found: parts(changed(foreign, func(b *openstack.LoadBalancer) { b.ProjectID = "q" })), want: nil},
		"parts of another project":                 {found: inventory{loadBalancers: []openstack.LoadBalancer{foreign}, listeners: []openstack.Listener{changed(listenerOn("l1", "b", "p1", mine), func(l *openstack.Listener) { l.ProjectID = "q" })}, pools: []openstack.Pool{changed(orphan, func(p *openstack.Pool) { p.ProjectID = "q" })}}, want: []string{"change LoadBalancer b"}},
		"parts of other balancers":                 {found: inventory{loadBalancers: []openstack.LoadBalancer{foreign}, pools: []openstack.Pool{changed(orphan, func(p *openstack.Pool) { p.LoadBalancerIDs = []string{"elsewhere"} }), changed(orphan, func(p *openstack.Pool) { p.LoadBalancerIDs = []string{"b", "elsewhere"} })}}, want: []string{"change LoadBalancer b"}},
	})
}

// TestTagsThatStay checks that exactly the tags of others remain on a shared load balancer.
func TestTagsThatStay(t *testing.T) {
	d := &decision{identity: identity{cluster: "prod"}}
	got := d.tagsOf([]string{"kube_service_prod_a_b", "kube_service_prod-2_a_b", "cost=42", "kube_ingress_prod_a_b", "kube_service_x"})
	if strings.Join(got.own, " ") != "kube_service_prod_a_b kube_ingress_prod_a_b" || strings.Join(got.others, " ") != "kube_service_prod-2_a_b kube_service_x" {
		t.Errorf("got %v", got)
	}
}

func sawIngress(standing kubernikusv1.Standing) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Services = append(w.Recorded.Services, kubernikusv1.SeenService{
			UID: "i", Namespace: "shop", Name: "web", Ingress: true, Address: "1.2.3.4", Standing: standing, Gone: standing == "",
		})
	}
}

// TestIngresses checks that resources of the Octavia ingress controller are found by their own names, and are retained while the
// Ingress exists.
func TestIngresses(t *testing.T) {
	of := func(cluster string) inventory {
		name := "kube_ingress_" + cluster + "_shop_web"
		return inventory{
			loadBalancers:  []openstack.LoadBalancer{{ID: "b", Name: name, Description: "Kubernetes Ingress web in namespace shop from cluster " + cluster + ", version: 17", ProjectID: "p", ProvisioningStatus: statusActive, VIPPortID: "vip"}},
			securityGroups: []openstack.SecurityGroup{{ID: "g", Name: name, Description: "Security group created for Ingress shop/web from cluster " + cluster, ProjectID: "p"}},
		}
	}
	groupOnly := func(i inventory) inventory {
		i.loadBalancers = nil
		return i
	}
	name := "kube_ingress_prod_shop_web"
	const shared = "clusterName is kubernetes, which many clusters share: nothing is deleted by it"
	check(t, map[string]choice{
		"gone":               {work(sawIngress("")), Conflicts{}, of("prod"), []string{"delete LoadBalancer b", "remain SecurityGroup g: waits for the load balancers"}},
		"on a server's port": {work(sawIngress("")), Conflicts{}, onPort(groupOnly(of("prod"))), []string{"remain SecurityGroup g: used by port x, to which the controller of the cluster is not known to have added it"}},
		"on a tagged port":   {work(sawIngress("")), Conflicts{}, onPort(groupOnly(of("prod")), "g"), []string{"release, delete SecurityGroup g"}},
		"balancer deleted":   {work(sawIngress("")), Conflicts{}, groupOnly(of("prod")), []string{"delete SecurityGroup g"}},
		"of another":         {work(sawIngress("")), Conflicts{}, of("staging"), nil},
		"stands":             {work(sawIngress(kubernikusv1.StandingRefused)), Conflicts{}, of("prod"), []string{"remain LoadBalancer b: Ingress shop/web still exists in the cluster, which rejected its deletion", "remain SecurityGroup g: Ingress shop/web still exists in the cluster, which rejected its deletion", "remain Ingress : Ingress shop/web still exists in the cluster, which rejected its deletion"}},
		"a shared name":      {work(sawIngress(""), named("kubernetes", "")), Conflicts{}, of("kubernetes"), []string{"remain SecurityGroup g: it may be of Ingress shop/web: " + shared, "remain LoadBalancer b: it may be of Ingress shop/web: " + shared}},
		"shared, cleaned":    {work(sawIngress(""), named("kubernetes", "")), Conflicts{}, inventory{}, nil},
		"odd group":          {work(sawIngress("")), Conflicts{}, inventory{securityGroups: []openstack.SecurityGroup{{ID: "g", Name: name + "x", Description: "Security group created for Ingress shop/web from cluster prod", ProjectID: "p"}}}, nil},
		"address stands":     {work(sawIngress(kubernikusv1.StandingPresent), policies(func(p *stage.Policies) { p.FloatingIPs = keep })), Conflicts{}, of("prod"), []string{"retain LoadBalancer b: spec.deorbit.floatingIPs is Retain, and its Ingress stays", "retain SecurityGroup g: spec.deorbit.floatingIPs is Retain, and its Ingress stays"}},
	})
}

// onPort adds a port of a server to the security group g.
func onPort(found inventory, tags ...string) inventory {
	found.ports = map[string][]openstack.Port{"g": {{ID: "x", ProjectID: "p", DeviceOwner: "compute:nova", DeviceID: "server", Tags: tags}}}
	return found
}
