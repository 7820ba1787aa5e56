// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func sawIngress(standing kubernikusv1.Standing) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Services = append(w.Recorded.Services, kubernikusv1.SeenService{
			UID: "i", Namespace: "shop", Name: "web", Ingress: true, Address: "1.2.3.4", Standing: standing, Gone: standing == "",
		})
	}
}

// What the Octavia ingress controller made is found by its own names, and stays while the Ingress stands.
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
		"a shared name":      {work(sawIngress(""), named("kubernetes", "")), Conflicts{}, of("kubernetes"), []string{"remain SecurityGroup g: it may be of Ingress shop/web: " + shared, "remain Ingress : its load balancer is not known: " + shared, "retain LoadBalancer : " + shared}},
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
