// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// behind lets the present process use the gate.
func (f *flow) behind(g *faulttest.Gate) {
	f.r.client, f.r.live, f.r.fence = g.Client(f.store.Client(), f.store), g.Live(f.store.Live(), f.store), g.Fence
}

// ruins are what is left of clusters, by Kluster and stage.
type ruins struct {
	things map[string]map[kubernikusv1.DeorbitStage][]kubernikusv1.DeorbitObject
	// early are things that were deleted before those of an earlier stage.
	early error
}

// step deletes one thing of a stage.
func (r *ruins) step(c call) stage.Report {
	left := r.things[c.kluster]
	things := left[c.stage]
	if len(things) == 0 {
		return stage.Report{}
	}
	for _, before := range kubernikusv1.DeorbitStages() {
		if before == c.stage {
			break
		}
		if len(left[before]) > 0 {
			r.early = errors.Join(r.early, fmt.Errorf("%s of %s is deleted before %d of %s", things[0].Name, c.stage, len(left[before]), before))
		}
	}
	left[c.stage] = things[1:]
	return stage.Report{Deleted: things[:1], Remaining: slices.Clone(things[1:])}
}

// inventory returns all that is left, by Kluster.
func (r *ruins) inventory() faulttest.Inventory {
	found := faulttest.Inventory{}
	for name, stages := range r.things {
		for which, things := range stages {
			for _, thing := range things {
				found[name+" "+string(which)+" "+thing.Name] = thing.Kind
			}
		}
	}
	return found
}

// TestEveryFault checks that a Deorbit deletes what each stage has, one stage after the other, and nothing of a Kluster that lives,
// and that it ends, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Steps: 120, Fenced: func(r *faulttest.Request) bool { return r.Verb != "run" }, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		k, living := deleted("k"), klustertest.Kluster("living", leadsTo("another-cluster"))
		f := newFlow(t, k, secretOf("k-secret"), living, secretOf("living-secret"))
		left := &ruins{things: map[string]map[kubernikusv1.DeorbitStage][]kubernikusv1.DeorbitObject{}}
		for _, name := range []string{"k", "living"} {
			left.things[name] = map[kubernikusv1.DeorbitStage][]kubernikusv1.DeorbitObject{}
			for _, which := range k.DeorbitStages() {
				if which != release && which != wait {
					left.things[name][which] = []kubernikusv1.DeorbitObject{thing("Thing", "a"), thing("Thing", "b")}
				}
			}
		}
		before := left.inventory()
		f.respond(func(_ context.Context, c call) (stage.Report, error) {
			var report stage.Report
			err := g.Do(faulttest.Request{Verb: "run", Object: c.kluster + " " + string(c.stage), Write: true}, g.Process(), func() error {
				f.mu.Lock()
				defer f.mu.Unlock()
				report = left.step(c)
				return nil
			})
			return report, err
		})
		restart := func() {
			f.restart()
			f.behind(g)
		}
		f.behind(g)
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				f.clock.SetTime(f.clock.Now().Add(20 * time.Second))
				for _, object := range []client.Object{k, living} {
					if err := f.work(ctx, object); err != nil {
						return err
					}
				}
				return nil
			},
			Restart: restart, Freeze: f.store.FreezeAround(&kubernikusv1.Kluster{}), Thaw: f.store.CatchUp,
			Acts: []faulttest.Act{{Name: "deorbit", Do: func() {}, Left: func() string {
				if f.store.Find(k.DeepCopy()) {
					return "the Kluster"
				}
				return ""
			}}},
			Check: func() error {
				err := left.early
				for which, things := range left.things["k"] {
					if len(things) > 0 {
						err = errors.Join(err, fmt.Errorf("%d of %s are left", len(things), which))
					}
				}
				return errors.Join(err, faulttest.Living(before, left.inventory(), func(name string) bool { return name[:2] == "k " }))
			},
		}
	}}.Test(t)
}

// work reconciles a Kluster until no check of it is running.
func (f *flow) work(ctx context.Context, object client.Object) error {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	_, err := f.r.Reconcile(ctx, request)
	for f.r.clusters.Running(request.NamespacedName) || f.r.clouds.Running(request.NamespacedName) || f.queue.Len() > 0 {
		next, _ := f.queue.Get()
		f.queue.Done(next)
		if _, failed := f.r.Reconcile(ctx, next); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}
