// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

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

func overlay(k *kubernikusv1.Kluster) { k.Spec.CustomCNI = true }

func TestPlan(t *testing.T) {
	type changes = []func(*kubernikusv1.Kluster)
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	for name, c := range map[string]struct {
		kluster  changes
		siblings []*kubernikusv1.Kluster
		why      string // "-": none, "": there is a target
	}{
		"named":                                 {changes{routed}, nil, ""},
		"found":                                 {changes{found}, nil, ""},
		"unknown router":                        {nil, nil, ReasonRouterUnknown},
		"no cloud":                              {changes{routed, noCloud}, nil, "-"},
		"paused":                                {changes{routed, klustertest.Annotated("groundskeeper.io/paused")}, nil, ReasonPaused},
		"off":                                   {changes{routed, gc(kubernikusv1.RouteGCSpec{Enabled: new(false)})}, nil, ReasonDisabled},
		"terminating":                           {changes{routed, klustertest.Going}, nil, ""},
		"detached":                              {changes{routed, klustertest.Going, klustertest.Annotated(kubernikusv1.DetachAnnotation)}, nil, "-"},
		"to be detached":                        {changes{routed, klustertest.Annotated(kubernikusv1.DetachAnnotation)}, nil, ""},
		"released":                              {changes{routed, klustertest.Going, func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"other"} }}, nil, "-"},
		"own network":                           {changes{routed, overlay}, nil, ReasonDisabled},
		"own network, on":                       {changes{routed, overlay, gc(kubernikusv1.RouteGCSpec{Enabled: new(true)})}, nil, ""},
		"overlay sibling":                       {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, overlay)}, ""},
		"sibling is off":                        {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, gc(kubernikusv1.RouteGCSpec{Enabled: new(false)}))}, ""},
		"overlay, but on":                       {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, overlay, gc(kubernikusv1.RouteGCSpec{Enabled: new(true)}))}, kubernikusv1.ReasonCIDRConflict},
		"second range":                          {changes{routed, pods("10.1.0.0/16,fd00::/48")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, pods("10.2.0.0/16,fd00::/56"))}, kubernikusv1.ReasonCIDRConflict},
		"sibling":                               {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, pods("100.101.0.0/16"))}, ""},
		"conflict":                              {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, pods("100.100.128.0/17"))}, kubernikusv1.ReasonCIDRConflict},
		"conflict, both of a cluster are going": {changes{routed, klustertest.Going, leadsTo("a")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, klustertest.Going, leadsTo("a"))}, ""},
		"conflict, going":                       {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", found, klustertest.Going)}, kubernikusv1.ReasonCIDRConflict},
		"other router":                          {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", otherRouter)}, ""},
		"sibling's router is unknown":           {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, another range":         {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", pods("100.101.0.0/16"))}, ""},
		"unknown router, overlay":               {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", overlay)}, ""},
		"unknown router, accepted":              {changes{routed, accepting("garden-shop/s")}, []*kubernikusv1.Kluster{klustertest.Kluster("s")}, ""},
		"unknown router, released":              {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", klustertest.Going, func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"other"} })}, ""},
		"unknown router in another namespace":   {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere)}, ""},
		"unknown router in the same project":    {changes{routed, inProject("p")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, inProject("p"))}, kubernikusv1.ReasonCIDRConflict},
		"unknown router in another project":     {changes{routed, inProject("p")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", inProject("q"))}, ""},
		"unknown router of a namesake cluster":  {changes{routed, clusterName("n")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, clusterName("n"))}, kubernikusv1.ReasonCIDRConflict},
		"unknown router, the name that many share": {changes{routed, clusterName("kubernetes")}, []*kubernikusv1.Kluster{klustertest.Kluster("s", elsewhere, clusterName("kubernetes"))}, ""},
		"without cloud": {changes{routed}, []*kubernikusv1.Kluster{klustertest.Kluster("s", routed, noCloud)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", c.kluster...)
			all := []kubernikusv1.Kluster{*k}
			for _, s := range c.siblings {
				all = append(all, *s)
			}
			p, why := planFor(k, all, defaults().RouteGC), ""
			switch {
			case p.why != nil:
				why = p.why.Reason
			case p.target == nil:
				why = "-"
			}
			if why != c.why || p.why != nil && p.target != nil {
				t.Errorf("got %q, want %q", why, c.why)
			}
			if name == "sibling" && len(p.target.Scope.Siblings) != 1 {
				t.Errorf("the sibling's range is not spared: %+v", p.target.Scope)
			}
			if why == kubernikusv1.ReasonCIDRConflict && !strings.Contains(p.why.Message, "/s ") {
				t.Errorf("the sibling is not named: %s", p.why.Message)
			}
		})
	}
}

// TestSettings checks that a Kluster takes precedence over the configuration, field by field.
func TestSettings(t *testing.T) {
	config := defaults().RouteGC
	own := kubernikusv1.RouteGCSpec{DryRun: new(true), Interval: &metav1.Duration{Duration: time.Hour}}
	s := settingsOf(klustertest.Kluster("k", gc(own)), config)
	if !s.enabled || !s.dryRun || s.limits.Interval != time.Hour || s.limits.ConfirmAfter != 30*time.Second {
		t.Errorf("got %+v", s)
	}
	config.Enabled, config.DryRun = new(false), new(true)
	s = settingsOf(klustertest.Kluster("k", gc(kubernikusv1.RouteGCSpec{Enabled: new(true), DryRun: new(false)})), config)
	if !s.enabled || s.dryRun {
		t.Errorf("got %+v", s)
	}
}

func TestPause(t *testing.T) {
	for name, c := range map[string]struct {
		done     passed
		min, max time.Duration
	}{
		"clean":   {passed{}, 5 * time.Minute, 330 * time.Second},
		"waiting": {passed{result: Result{Again: 30 * time.Second}}, 30 * time.Second, 30 * time.Second},
		"failed":  {passed{err: errFailed}, time.Minute, 66 * time.Second},
	} {
		for range 100 {
			if got := pause(c.done, 5*time.Minute); got < c.min || got > c.max {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// An interval that leaves no room for jitter is not due immediately.
func TestPauseDoesNotOverflow(t *testing.T) {
	for range 100 {
		if got := pause(passed{}, math.MaxInt64); got != math.MaxInt64 {
			t.Fatalf("pause = %s, want %s", got, time.Duration(math.MaxInt64))
		}
	}
}

// TestChanged checks that the controller's own status updates trigger nothing, and that only a new range or router wakes siblings.
func TestChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change          func(*kubernikusv1.Kluster)
		itself, sibling bool
	}{
		"status":      {func(k *kubernikusv1.Kluster) { k.Status.Phase = kubernikusv1.KlusterRunning }, false, false},
		"a resync":    {func(k *kubernikusv1.Kluster) { k.ResourceVersion = "1" }, true, false},
		"spec":        {func(k *kubernikusv1.Kluster) { k.Generation++ }, true, false},
		"annotations": {klustertest.Annotated("groundskeeper.io/paused"), true, false},
		"deleted":     {klustertest.Going, true, false},
		"router":      {found, true, true},
		"range":       {pods("100.101.0.0/16"), false, true}, // with a generation, which is distinguished here
		"reachable": {func(k *kubernikusv1.Kluster) {
			k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionOpenStackReachable, Status: metav1.ConditionTrue}}
		}, true, false},
	} {
		before, after := klustertest.Kluster("k"), klustertest.Kluster("k")
		before.ResourceVersion, after.ResourceVersion = "1", "2"
		c.change(after)
		update := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
		if itself, sibling := changed().Update(update), rangeChanged().Update(update); itself != c.itself || sibling != c.sibling {
			t.Errorf("%s: %t, %t", name, itself, sibling)
		}
	}
}
