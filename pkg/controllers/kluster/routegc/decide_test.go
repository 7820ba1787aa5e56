// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

const routerID = "7d1f9b3e-0c55-4d3c-a0d4-9d3f1c0a4b11"

func defaults() configv1alpha1.KlusterConfiguration {
	config := configv1alpha1.KlusterConfiguration{}
	configv1alpha1.SetDefaults_KlusterConfiguration(&config)
	return config
}

func routed(k *kubernikusv1.Kluster) { k.Spec.Openstack.RouterID = routerID }

func found(k *kubernikusv1.Kluster) {
	k.Status.Openstack = &kubernikusv1.OpenstackStatus{RouterID: routerID}
}

func pods(cidr string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Spec.ClusterCIDR = new(cidr) }
}

func gc(spec kubernikusv1.RouteGCSpec) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Spec.RouteGC = &spec }
}

func otherRouter(k *kubernikusv1.Kluster) {
	k.Spec.Openstack.RouterID = "7d1f9b3e-0c55-4d3c-a0d4-9d3f1c0a4b12"
}

func leadsTo(id string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id} }
}

func elsewhere(k *kubernikusv1.Kluster) { k.Namespace = "garden-other" }

func accepting(other string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) {
		k.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: other}
	}
}

func inProject(id string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) {
		k.Status.Openstack = &kubernikusv1.OpenstackStatus{AuthHost: "keystone", Region: "r", ProjectID: id}
	}
}

func clusterName(name string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Spec.CloudProvider.ClusterName = new(name) }
}

func csiClusterID(id string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Spec.CloudProvider.CSIClusterID = new(id) }
}

func overlay(k *kubernikusv1.Kluster) { k.Spec.CustomCNI = true }

func TestPlan(t *testing.T) {
	type changes = []func(*kubernikusv1.Kluster)
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	for name, c := range map[string]struct {
		kluster  changes
		siblings []*kubernikusv1.Kluster
		why      string // "-": none, "": there is a target
	}{
		"named":                                    {changes{routed}, nil, ""},
		"found":                                    {changes{found}, nil, ""},
		"unknown router":                           {nil, nil, ReasonRouterUnknown},
		"no cloud":                                 {changes{routed, noCloud}, nil, "-"},
		"paused":                                   {changes{routed, klustertest.Annotated("groundskeeper.io/paused")}, nil, ReasonPaused},
		"off":                                      {changes{routed, gc(kubernikusv1.RouteGCSpec{Enabled: new(false)})}, nil, ReasonDisabled},
		"terminating":                              {changes{routed, klustertest.Going}, nil, ""},
		"detached":                                 {changes{routed, klustertest.Going, klustertest.Annotated(kubernikusv1.DetachAnnotation)}, nil, "-"},
		"to be detached":                           {changes{routed, klustertest.Annotated(kubernikusv1.DetachAnnotation)}, nil, ""},
		"released":                                 {changes{routed, klustertest.Going, func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"other"} }}, nil, "-"},
		"own network":                              {changes{routed, overlay}, nil, ReasonDisabled},
		"own network, on":                          {changes{routed, overlay, gc(kubernikusv1.RouteGCSpec{Enabled: new(true)})}, nil, ""},
		"overlay sibling":                          {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, overlay)}, ""},
		"sibling is off":                           {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, gc(kubernikusv1.RouteGCSpec{Enabled: new(false)}))}, ""},
		"overlay, but on":                          {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, overlay, gc(kubernikusv1.RouteGCSpec{Enabled: new(true)}))}, kubernikusv1.ReasonCIDRConflict},
		"second range":                             {changes{routed, pods("10.1.0.0/16,fd00::/48")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, pods("10.2.0.0/16,fd00::/56"))}, kubernikusv1.ReasonCIDRConflict},
		"sibling":                                  {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, pods("100.101.0.0/16"))}, ""},
		"conflict":                                 {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, pods("100.100.128.0/17"))}, kubernikusv1.ReasonCIDRConflict},
		"conflict, both of a cluster are going":    {changes{routed, klustertest.Going, leadsTo("a")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, klustertest.Going, leadsTo("a"))}, ""},
		"conflict, going":                          {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, klustertest.Going)}, kubernikusv1.ReasonCIDRConflict},
		"other router":                             {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", otherRouter)}, ""},
		"sibling's router is unknown":              {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, another range":            {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", pods("100.101.0.0/16"))}, ""},
		"unknown router, overlay":                  {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", overlay)}, ""},
		"unknown router, accepted":                 {changes{routed, accepting("garden-shop/s")}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, ""},
		"unknown router, another is accepted":      {changes{routed, accepting("a/b")}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, accepted by kind":         {changes{routed, accepting("kluster/garden-shop/s")}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, ""},
		"unknown router, a backend is accepted":    {changes{routed, accepting("discoverybackend/garden-shop/s")}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, released":                 {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", klustertest.Going, func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"other"} })}, ""},
		"unknown router in another namespace":      {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere)}, ""},
		"unknown router in the same project":       {changes{routed, inProject("p")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, inProject("p"))}, kubernikusv1.ReasonCIDRConflict},
		"unknown router in another project":        {changes{routed, inProject("p")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", inProject("q"))}, ""},
		"unknown router of a namesake cluster":     {changes{routed, clusterName("n")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, clusterName("n"))}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, the name that many share": {changes{routed, clusterName("kubernetes")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, clusterName("kubernetes"))}, ""},
		"unknown router, the name is derived":      {changes{routed, clusterName("s")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere)}, ""},
		"unknown router, the name is a former default": {changes{routed, clusterName("k")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, clusterName("k"))}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, the CSI ID in common":         {changes{routed, csiClusterID("c")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, csiClusterID("c"))}, ""},
		"unknown router, at another Keystone":          {changes{routed, inProject("")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", func(k *kubernikusv1.Kluster) { k.Status.Openstack = &kubernikusv1.OpenstackStatus{AuthHost: "other"} })}, ""},
		"without cloud":                                {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", routed, noCloud)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", c.kluster...)
			all := []kubernikusv1.Kluster{*k}
			for _, s := range c.siblings {
				all = append(all, *s)
			}
			target, why, message := targetOf(k, all, defaults().RouteGC)
			if target == nil && why == "" {
				why = "-"
			}
			if why != c.why {
				t.Errorf("got %q, want %q", why, c.why)
			}
			if name == "sibling" && len(target.Scope.Siblings) != 1 {
				t.Errorf("the sibling's range is not spared: %+v", target.Scope)
			}
			if name == "unknown router, another is accepted" && !strings.Contains(message, "accept-unknown-identity=kluster/a/b,kluster/garden-shop/s on") {
				t.Errorf("message = %q, want the annotation that accepts the sibling", message)
			}
			if why == kubernikusv1.ReasonCIDRConflict && !strings.Contains(message, "/s ") {
				t.Errorf("the sibling is not named: %s", message)
			}
		})
	}
}

// TestSettings checks that a Kluster takes precedence over the configuration, field by field.
func TestSettings(t *testing.T) {
	config := defaults().RouteGC
	own := kubernikusv1.RouteGCSpec{DryRun: new(true), Interval: &metav1.Duration{Duration: time.Hour}}
	target, reason, _ := decide(klustertest.Kluster("k", routed, gc(own)), nil, config)
	if reason != "" || !target.DryRun || target.Limits.Interval != time.Hour || target.Limits.ConfirmAfter != 30*time.Second {
		t.Errorf("got %+v, reason %q", target, reason)
	}
	config.Enabled, config.DryRun = new(false), new(true)
	target, reason, _ = decide(klustertest.Kluster("k", routed, gc(kubernikusv1.RouteGCSpec{Enabled: new(true), DryRun: new(false)})), nil, config)
	if reason != "" || target.DryRun {
		t.Errorf("got %+v, reason %q", target, reason)
	}
}

// TestTargetFor checks that a Kluster that is being deleted has a target if its router can be checked, and otherwise the reason why
// its routes are left alone.
func TestTargetFor(t *testing.T) {
	type changes = []func(*kubernikusv1.Kluster)
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	off, dry := gc(kubernikusv1.RouteGCSpec{Enabled: new(false)}), gc(kubernikusv1.RouteGCSpec{DryRun: new(true)})
	other, rival := klustertest.Kluster("s", routed, pods("100.101.0.0/16")), klustertest.Kluster("s", routed, pods("100.100.128.0/17"))
	for name, c := range map[string]struct {
		kluster  changes
		sibling  *kubernikusv1.Kluster
		router   string // "-": no target
		why      string
		siblings int
		dryRun   bool
	}{
		"going":          {changes{routed, klustertest.Going}, nil, routerID, "", 0, false},
		"sibling":        {changes{routed}, other, routerID, "", 1, false},
		"dry run":        {changes{routed, dry}, other, routerID, "", 1, true},
		"off":            {changes{routed, off}, other, routerID, ReasonDisabled, 1, false},
		"conflict":       {changes{routed}, rival, routerID, kubernikusv1.ReasonCIDRConflict, 0, false},
		"off, conflict":  {changes{routed, off}, rival, routerID, ReasonDisabled, 0, false},
		"unknown router": {nil, nil, "", ReasonRouterUnknown, 0, false},
		"unknown, off":   {changes{off}, nil, "", ReasonDisabled, 0, false},
		"no cloud":       {changes{routed, noCloud}, other, "-", "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", c.kluster...)
			all := []kubernikusv1.Kluster{*k}
			if c.sibling != nil {
				all = append(all, *c.sibling)
			}
			target, why := TargetFor(k, all, defaults().RouteGC)
			if reason, _, _ := strings.Cut(why, ":"); reason != c.why {
				t.Errorf("why: %q", why)
			}
			if target == nil {
				target = &Target{RouterID: "-"}
			}
			if target.RouterID != c.router || len(target.Scope.Siblings) != c.siblings || target.DryRun != c.dryRun {
				t.Errorf("got %+v", target)
			}
		})
	}
}
