// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// restart starts another process, which is behind the gate.
func (f *flow) restart(g *faulttest.Gate) {
	f.t.Helper()
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1, BeforeWrite: g.Fence})
	if err != nil {
		f.t.Fatal(err)
	}
	f.r = &reconciler{
		client: g.Client(f.store.Client(), f.store), live: g.Live(f.store.Live(), f.store), clients: clients, config: f.r.config, fence: g.Fence, clock: f.clock,
		recorder: f.recorder, meters: f.r.meters, passes: &kluster.Pool[passed]{Limit: 2, Timeout: time.Minute}, wakes: &Wakes{}, memory: newMemory(),
	}
	if err := f.r.passes.Start(f.t.Context(), f.queue); err != nil {
		f.t.Fatal(err)
	}
}

// step lets half a minute pass, and reconciles a Kluster until no check of it is running.
func (f *flow) step(ctx context.Context, k *kubernikusv1.Kluster) error {
	f.clock.SetTime(f.clock.Now().Add(30 * time.Second))
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)}
	_, err := f.r.Reconcile(ctx, request)
	for f.r.passes.Running(request.NamespacedName) || f.queue.Len() > 0 {
		f.woken()
	}
	if err != nil {
		return err
	}
	_, err = f.r.Reconcile(ctx, request)
	return err
}

// routes returns those of the router.
func (f *flow) routes() faulttest.Inventory {
	found := faulttest.Inventory{}
	for _, r := range f.Routes(f.router) {
		found[r.Destination] = r.NextHop
	}
	return found
}

// TestEveryFault checks that the route of a server that was deleted is removed, and no other one, whatever happens at any of the
// requests: neither that of a server that lives, nor that of a server that is back, of a sibling, or of another client.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Fenced: faulttest.IsCloudWrite, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		k := klustertest.Kluster("k")
		f := newFlowOn(t, fake.Options{Wrap: g.Cloud}, k, klustertest.Kluster("s", pods("100.101.0.0/16")))
		f.restart(g)
		clean := func() string {
			got := klustertest.Condition(f.get(k), kubernikusv1.ConditionRoutesClean)
			if got == "True/"+ReasonClean {
				got = ""
			}
			return got
		}
		var before faulttest.Inventory
		return &faulttest.Life{
			Step:    func(ctx context.Context) error { return f.step(ctx, k) },
			Restart: func() { f.restart(g) }, Freeze: f.store.FreezeAround(&kubernikusv1.Kluster{}), Thaw: f.store.CatchUp,
			Acts: []faulttest.Act{
				{Name: "a server is deleted", Do: func() { f.orphan(); before = f.routes() }, Left: func() string {
					if _, exists := f.routes()["100.100.2.0/24"]; exists {
						return "the orphan"
					}
					return clean()
				}},
				{Name: "another server comes", Do: func() {
					f.AddServer("garden", f.network, "10.0.0.8", "ACTIVE")
					f.SetRoutes(f.router, append(f.Routes(f.router), routes("100.100.8.0/24 10.0.0.8", "100.100.9.0/24 10.0.0.9")...)...)
					before["100.100.8.0/24"] = "10.0.0.8"
				}, Left: func() string {
					if _, exists := f.routes()["100.100.9.0/24"]; exists {
						return "the orphan"
					}
					return clean()
				}},
			},
			Check: func() error {
				return faulttest.Living(before, f.routes(), func(destination string) bool { return destination == "100.100.2.0/24" })
			},
		}
	}}.Test(t)
}
