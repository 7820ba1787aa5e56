// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"strings"
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestFinalCheckOfThePlace checks that the final check before a removal uses the location of the registration in the live Kluster:
// observations of another router remove nothing.
func TestFinalCheckOfThePlace(t *testing.T) {
	home := kubernikusv1.OpenstackStatus{AuthHost: "keystone.example", Region: "r1", ProjectID: "garden"}
	for name, c := range map[string]struct {
		at    clusterid.Place
		fails bool
	}{
		"the same":        {clusterid.Place{AuthHost: "keystone.example", Region: "r1", ProjectID: "garden"}, false},
		"another region":  {clusterid.Place{AuthHost: "keystone.example", Region: "r2", ProjectID: "garden"}, true},
		"another project": {clusterid.Place{AuthHost: "keystone.example", Region: "r1", ProjectID: "other"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", routed, func(k *kubernikusv1.Kluster) { k.Status.Openstack = &home })
			store := klustertest.NewStore(t, k)
			r := &reconciler{live: store, config: defaults().RouteGC, fence: func() error { return nil }}
			target, _, _ := targetOf(k, []kubernikusv1.Kluster{*k}, r.config)
			if err := r.check(t.Context(), k, target, c.at); (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), kubernikusv1.AcceptCloudAnnotation) {
				t.Errorf("got %v, want a failure: %t", err, c.fails)
			}
		})
	}
}

// TestFinalCheckOfItsName checks that nothing is removed for a Kluster in whose place there is another one of its name.
func TestFinalCheckOfItsName(t *testing.T) {
	k := klustertest.Kluster("k", routed)
	r := &reconciler{live: klustertest.NewStore(t, k), config: defaults().RouteGC, fence: func() error { return nil }}
	target, _, _ := targetOf(k, []kubernikusv1.Kluster{*k}, r.config)
	before := k.DeepCopy()
	before.UID = "another"
	if err := r.check(t.Context(), before, target, clusterid.Place{}); err == nil || !strings.Contains(err.Error(), "has been deleted") {
		t.Errorf("got %v, want that the Kluster has been deleted", err)
	}
}

// TestFinalCheck checks that any change between the check and the removal retains the routes.
func TestFinalCheck(t *testing.T) {
	for name, happens := range map[string]func(*flow, *kubernikusv1.Kluster){
		"paused":            func(f *flow, k *kubernikusv1.Kluster) { f.change(k, klustertest.Annotated("groundskeeper.io/paused")) },
		"dry run":           func(f *flow, k *kubernikusv1.Kluster) { f.change(k, gc(kubernikusv1.RouteGCSpec{DryRun: new(true)})) },
		"another router":    func(f *flow, k *kubernikusv1.Kluster) { f.change(k, routed) },
		"a sibling":         func(f *flow, _ *kubernikusv1.Kluster) { f.change(klustertest.Kluster("s"), routedBy(f.router)) },
		"the Lease is lost": func(f *flow, _ *kubernikusv1.Kluster) { f.lost = errFailed },
		"gone": func(f *flow, k *kubernikusv1.Kluster) {
			f.change(k, func(k *kubernikusv1.Kluster) { k.Finalizers = nil })
			if err := f.store.Delete(f.t.Context(), k); err != nil {
				f.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k")
			f := newFlow(t, k, klustertest.Kluster("s"))
			f.change(klustertest.Kluster("s"), routed)
			f.orphan()
			f.pass(k, 0)
			f.Inject(fake.Fault{Method: "GET", Path: "/compute/v2.1/servers/detail", Times: 1, Do: func() { happens(f, klustertest.Kluster("k")) }})
			f.clock.SetTime(f.clock.Now().Add(time.Minute))
			f.reconcile(k)
			f.woken()
			f.wantRoutes(5)
		})
	}
}
