// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

func TestOriginOf(t *testing.T) {
	long := strings.Repeat("n", 300)
	for name, c := range map[string]struct {
		text, cluster string
		want          origin
	}{
		"service":                     {"kube_service_prod_shop_web", "prod", own},
		"ingress":                     {"kube_ingress_prod_shop_web", "prod", own},
		"ingress with dots":           {"kube_ingress_prod_shop_web.example.com", "prod", own},
		"longer name":                 {"kube_service_prod-2_shop_web", "prod", another},
		"shorter name":                {"kube_service_prod_shop_web", "prod-2", another},
		"other begins with own":       {"kube_service_a_b_c_d", "a", another},
		"own has underscores":         {"kube_service_a_b_c_d", "a_b", own},
		"too short to be complete":    {"kube_service_a_b_c", "a_b", unclear},
		"own, not the other":          {"kube_service_a_b_c", "a", own},
		"other ends with own":         {"kube_service_xa_b_c", "a", another},
		"no trailing underscore":      {"kube_service_prod", "prod", another},
		"no namespace":                {"kube_service_prod__web", "prod", unclear},
		"no name":                     {"kube_service_prod_shop_", "prod", unclear},
		"case counts":                 {"kube_service_Prod_shop_web", "prod", another},
		"unicode":                     {"kube_service_größe_shop_web", "größe", own},
		"unicode in another form":     {"kube_service_größe_shop_web", "gro\u0308ße", another},
		"spaces":                      {"kube_service_my cluster_shop_web", "my cluster", own},
		"somebody's":                  {"web", "prod", nobodys},
		"prefix inside":               {"my kube_service_prod_shop_web", "prod", nobodys},
		"empty":                       {"", "prod", nobodys},
		"cut":                         {("kube_service_prod_shop_" + long)[:255], "prod", unclear},
		"cut, another":                {("kube_service_prod-2_shop_" + long)[:255], "prod", another},
		"cut in the name of a giant":  {("kube_service_" + long)[:255], long, unclear},
		"one byte short of being cut": {("kube_service_prod_shop_" + long)[:254], "prod", own},
	} {
		t.Run(name, func(t *testing.T) {
			if got := originOf(c.text, c.cluster); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestChildOriginOf(t *testing.T) {
	for text, want := range map[string]origin{
		"listener_0_kube_service_prod_shop_web":   own,
		"listener_12_kube_service_prod_shop_web":  own,
		"listener_0_kube_service_prod-2_shop_web": another,
		"listener__kube_service_prod_shop_web":    nobodys,
		"listener_x_kube_service_prod_shop_web":   nobodys,
		"listener_0":                              nobodys,
		"pool_0_kube_service_prod_shop_web":       nobodys,
		"web":                                     nobodys,
		("listener_0_kube_service_prod_shop_" + strings.Repeat("n", 300))[:255]:   unclear,
		("listener_0_kube_service_prod-2_shop_" + strings.Repeat("n", 300))[:255]: another,
	} {
		if got := childOriginOf(text, "listener", "prod"); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

func TestDescribes(t *testing.T) {
	for name, c := range map[string]struct {
		text, cluster string
		ingress, want bool
	}{
		"service":                   {"Kubernetes external service shop/web from cluster prod", "prod", false, true},
		"longer name":               {"Kubernetes external service shop/web from cluster prod-2", "prod", false, false},
		"shorter name":              {"Kubernetes external service shop/web from cluster prod", "prod-2", false, false},
		"ends with own":             {"Kubernetes external service shop/web from cluster my prod", "prod", false, false},
		"contains the mark":         {"Kubernetes external service shop/web from cluster x from cluster prod", "prod", false, false},
		"is named like a mark":      {"Kubernetes external service shop/web from cluster x from cluster prod", "x from cluster prod", false, true},
		"something behind":          {"Kubernetes external service shop/web from cluster prod ", "prod", false, false},
		"no cluster":                {"Kubernetes external service shop/web", "prod", false, false},
		"only the cluster":          {"from cluster prod", "prod", false, false},
		"empty":                     {"", "prod", false, false},
		"ingress":                   {"Kubernetes ingress web in namespace shop from cluster prod", "prod", true, true},
		"ingress with version":      {"Kubernetes Ingress web in namespace shop from cluster prod, version: 4711", "prod", true, true},
		"version of another":        {"Kubernetes Ingress web in namespace shop from cluster prod-2, version: 4711", "prod", true, false},
		"version that is no number": {"Kubernetes Ingress web in namespace shop from cluster prod, version: 4711x", "prod", true, false},
		"version without number":    {"Kubernetes Ingress web in namespace shop from cluster prod, version: ", "prod", true, false},
		"a service has no version":  {"Kubernetes external service shop/web from cluster prod, version: 4711", "prod", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describes(c.text, c.cluster, c.ingress); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestHolderOf(t *testing.T) {
	web, web2 := holder{"shop", "web", false}, holder{"shop", "web", true}
	for text, want := range map[string]holder{
		"Floating IP for Kubernetes external service shop/web from cluster prod":             web,
		"Floating IP for Kubernetes ingress web in namespace shop from cluster prod":         web2,
		"Floating IP for Kubernetes external service shop/web from cluster prod-2":           {},
		"Floating IP for Kubernetes external service shop/web from cluster my prod":          {},
		"Floating IP for Kubernetes external service shop/web from cluster prod, version: 1": {},
		"the Floating IP for Kubernetes external service shop/web from cluster prod":         {},
		"Floating IP for Kubernetes external service web from cluster prod":                  {},
		"Floating IP for Kubernetes external service /web from cluster prod":                 {},
		"Floating IP for Kubernetes external service shop/ from cluster prod":                {},
		"Floating IP for Kubernetes external service shop/web/x from cluster prod":           {},
		"Floating IP for Kubernetes external service shop/web and more from cluster prod":    {},
		"Floating IP for Kubernetes ingress shop/web from cluster prod":                      {},
		"Kubernetes external service shop/web from cluster prod":                             {},
		"": {},
	} {
		got, found := holderOf(text, "prod")
		if found != (want != holder{}) || found && got != want {
			t.Errorf("%q: got %v, %t", text, got, found)
		}
	}
}

func TestGroupOf(t *testing.T) {
	const description = "Security Group for shop/web Service LoadBalancer in cluster prod"
	for name, c := range map[string]struct{ name, description, want string }{
		"ours":                     {"lb-sg-u-1-shop-web", description, "u-1"},
		"another cluster":          {"lb-sg-u-1-shop-web", description + "-2", ""},
		"of another Service":       {"lb-sg-u-1-shop-other", description, ""},
		"no uid":                   {"lb-sg-shop-web", description, ""},
		"another prefix":           {"sg-u-1-shop-web", description, ""},
		"another description":      {"lb-sg-u-1-shop-web", "Security Group for shop Service LoadBalancer in cluster prod", ""},
		"description of no client": {"lb-sg-u-1-shop-web", "", ""},
		"text in front":            {"lb-sg-u-1-shop-web", "The " + description, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, found := groupIn(c.name, c.description, "prod"); found != (c.want != "") || found && got != c.want {
				t.Errorf("got %q, %t", got, found)
			}
		})
	}
}

// FuzzNames checks that the names that the cloud controller manager creates are parsed, and attributed only to its cluster.
func FuzzNames(f *testing.F) {
	f.Add("prod", "prod-2", "shop", "web")
	f.Add("a", "a_b", "b", "c")
	f.Add("x from cluster a", "a", "b", "c")
	f.Add("größe", "gro\u0308ße", "shop", "web")
	f.Add("a, version: 1", "a", "b", "c")
	f.Fuzz(func(t *testing.T, cluster, other, namespace, name string) {
		if !word(namespace) || !word(name) || len(namespace) > 63 || len(name) > 63 || !clusterid.Usable(cluster) || !clusterid.Usable(other) || cluster == other {
			t.Skip() // Kubernetes has no such names
		}
		made := madeBy(cluster, namespace, name, "uid")
		for _, balancer := range []string{made.service, made.ingress} {
			if got := originOf(balancer, cluster); got != own && len(balancer) < nameLimit {
				t.Errorf("%q is not of %q: %d", balancer, cluster, got)
			}
			if got := originOf(balancer, other); got == own {
				t.Errorf("%q is of %q", balancer, other)
			}
		}
		if strings.Contains(cluster+other, clusterMark) || strings.Contains(cluster+other, groupClusterMark) {
			return // such a name is never found in a description, or only its own
		}
		if !describes(made.description, cluster, false) || describes(made.description, other, false) {
			t.Errorf("the description %q is read wrongly", made.description)
		}
		if h, found := holderOf(made.address, cluster); !found || h != (holder{namespace, name, false}) {
			t.Errorf("%q is of %v, %t", made.address, h, found)
		}
		if _, found := holderOf(made.address, other); found {
			t.Errorf("%q is of %q", made.address, other)
		}
		if uid, found := groupIn(made.group, made.groupDescription, cluster); !found || uid != "uid" {
			t.Errorf("%q is of %q, %t", made.group, uid, found)
		}
		if _, found := groupIn(made.group, made.groupDescription, other); found {
			t.Errorf("%q is of %q", made.group, other)
		}
	})
}

// FuzzTexts checks that arbitrary texts are parsed without a panic, and attributed to at most one cluster.
func FuzzTexts(f *testing.F) {
	f.Add("kube_service_a_b_c", "Kubernetes external service b/c from cluster a", "a", "a_b")
	f.Fuzz(func(t *testing.T, name, description, cluster, other string) {
		if cluster == other {
			t.Skip()
		}
		if originOf(name, cluster) == own && originOf(name, other) == own {
			t.Errorf("%q is of %q and of %q", name, cluster, other)
		}
		if describes(description, cluster, false) && describes(description, other, false) {
			t.Errorf("%q is of %q and of %q", description, cluster, other)
		}
		_, mine := holderOf(description, cluster)
		if _, also := holderOf(description, other); mine && also {
			t.Errorf("%q is of %q and of %q", description, cluster, other)
		}
		_, mine = groupIn(name, description, cluster)
		if _, also := groupIn(name, description, other); mine && also {
			t.Errorf("%q is of %q and of %q", name, cluster, other)
		}
		childOriginOf(name, "listener", cluster)
	})
}

// made has the names that the cloud controller gives.
type made struct{ service, ingress, description, ingressDescription, address, ingressAddress, group, groupDescription string }

func madeBy(cluster, namespace, name, uid string) made {
	cut := func(text string) string { return text[:min(len(text), nameLimit)] }
	return made{
		service:            cut("kube_service_" + cluster + "_" + namespace + "_" + name),
		ingress:            cut("kube_ingress_" + cluster + "_" + namespace + "_" + name),
		description:        "Kubernetes external service " + namespace + "/" + name + " from cluster " + cluster,
		ingressDescription: "Kubernetes Ingress " + name + " in namespace " + namespace + " from cluster " + cluster + ", version: 42",
		address:            "Floating IP for Kubernetes external service " + namespace + "/" + name + " from cluster " + cluster,
		ingressAddress:     "Floating IP for Kubernetes ingress " + name + " in namespace " + namespace + " from cluster " + cluster,
		group:              cut("lb-sg-" + uid + "-" + namespace + "-" + name),
		groupDescription:   "Security Group for " + namespace + "/" + name + " Service LoadBalancer in cluster " + cluster,
	}
}

// groupIn is groupOf for one cluster.
func groupIn(name, description, cluster string) (string, bool) {
	uid, named, found := groupOf(name, description)
	return uid, found && named == cluster
}
