// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestFinalCheckOfThePlace checks that the final check before a removal uses the location of the registration in the live Kluster:
// observations of another router remove nothing.
func TestFinalCheckOfThePlace(t *testing.T) {
	home := kubernikusv1.OpenstackStatus{AuthHost: "keystone.example", Region: "r1", ProjectID: "garden"}
	for name, c := range map[string]struct {
		at    kluster.Place
		fails bool
	}{
		"the same":        {kluster.Place{AuthHost: "keystone.example", Region: "r1", ProjectID: "garden"}, false},
		"another region":  {kluster.Place{AuthHost: "keystone.example", Region: "r2", ProjectID: "garden"}, true},
		"another project": {kluster.Place{AuthHost: "keystone.example", Region: "r1", ProjectID: "other"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", routed, func(k *kubernikusv1.Kluster) { k.Status.Openstack = &home })
			store := klustertest.NewStore(t, k)
			target := planFor(k, []kubernikusv1.Kluster{*k}, defaults().RouteGC).target
			last := finalCheck{live: store, config: defaults().RouteGC, fence: func() error { return nil }, object: client.ObjectKeyFromObject(k), uid: k.UID, target: target, at: c.at}
			if err := last.check(t.Context()); (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), kubernikusv1.AcceptCloudAnnotation) {
				t.Errorf("got %v, want a failure: %t", err, c.fails)
			}
		})
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
