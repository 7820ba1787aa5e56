// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// router is a router whose routes a cloud controller manager makes again as long as it runs.
type router struct {
	route   kubernikusv1.DeorbitObject
	there   bool
	runs    bool
	resync  time.Duration
	removed int
	at      time.Time
	now     func() time.Time
	left    bool
	// orphan is a route without a node, which no controller recreates; nil for none.
	orphan *kubernikusv1.DeorbitObject
}

func (r *router) response(_ context.Context, c call) (stage.Report, error) {
	if c.stage != routes {
		return stage.Report{}, nil
	}
	if r.runs && r.removed > 0 && r.now().Sub(r.at) >= r.resync {
		r.there = true
	}
	switch {
	case !r.there:
		return stage.Report{}, nil
	case c.work.RoutesLeft && r.runs:
		r.left = true
		back := r.route
		back.Reason = cloud.ReasonCameBack
		return stage.Report{Remaining: []kubernikusv1.DeorbitObject{back}}, nil
	}
	r.there, r.at = false, r.now()
	r.removed++
	report := stage.Report{Deleted: []kubernikusv1.DeorbitObject{r.route}}
	if r.orphan != nil {
		report.Deleted, r.orphan = append(report.Deleted, *r.orphan), nil
	}
	return report, nil
}

func routed(f *flow, runs bool) *router {
	r := &router{route: kubernikusv1.DeorbitObject{Kind: "Route", Name: "100.100.1.0/24 via 10.0.0.5", ID: "router"}, there: true, runs: runs,
		resync: 10 * time.Second, now: f.clock.Now}
	f.respond(r.response)
	return r
}

// TestRoutesResync checks that routes have to be absent for several sync periods of a cloud controller manager, whatever the poll
// interval of Deorbit.
func TestRoutesResync(t *testing.T) {
	for poll, want := range map[time.Duration]time.Duration{time.Second: 30 * time.Second, 15 * time.Second: 30 * time.Second, time.Minute: 2 * time.Minute} {
		if got := routesResync(poll); got != want {
			t.Errorf("with a poll interval of %s: %s, want %s", poll, got, want)
		}
	}
}

// Whether a removed route has returned is checked once more after a full resync, also by a process that did not remove it.
func TestRemovedRoutesAreCheckedAgainAfterAResync(t *testing.T) {
	resync := routesResync(config().Deorbit.PollInterval.Duration)
	for _, restarts := range []bool{false, true} {
		k := deleted("k")
		f := newFlow(t, k, secretOf("k-secret"))
		r := routed(f, false)
		f.turn(k)
		f.is(k, release, "False/Release")
		if left := k.Status.Deorbit.Remaining; len(left) != 1 || left[0].Reason != reasonResync || r.removed != 1 {
			t.Fatalf("remaining = %+v, removed %d times", left, r.removed)
		}
		f.after(resync-time.Second, k)
		if restarts {
			f.restart()
			f.turn(k)
			f.after(time.Second, k)
			f.is(k, release, "False/Release")
		}
		f.after(resync, k)
		if f.store.Find(k) && k.HasDeorbiter() {
			t.Errorf("restarts %t: it is not released: %+v", restarts, k.Status.Deorbit)
		}
		if reported := f.reported(); strings.Contains(reported, eventRoutesCameBack) || !strings.Contains(reported, "0 things are left over") {
			t.Errorf("restarts %t: notified %s", restarts, reported)
		}
	}
}

// TestRoutesComeBack checks that the routes of a running cloud controller manager are left alone most of the time. They are deleted
// permanently when it or the nodes stop, and are left over otherwise.
func TestRoutesComeBack(t *testing.T) {
	for name, c := range map[string]struct {
		stops    bool
		reported string
	}{
		"stopped":     {true, "0 things are left over"},
		"not stopped": {false, "1 things are left over"},
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			r := routed(f, true)
			f.turn(k)
			for range 8 {
				f.after(16*time.Second, k)
			}
			f.is(k, release, "False/Release")
			if left := k.Status.Deorbit.Remaining; len(left) != 1 || left[0].Reason != cloud.ReasonCameBack || !r.left || r.removed != 2 {
				t.Fatalf("remaining = %+v, removed %d times, left alone %t", left, r.removed, r.left)
			}
			if c.stops {
				r.runs = false
			}
			for range 40 {
				f.after(2*time.Minute, k)
			}
			if f.store.Find(k) && k.HasDeorbiter() {
				t.Fatalf("it is not released: %+v", k.Status.Deorbit)
			}
			reported := f.reported()
			if !strings.Contains(reported, eventRoutesCameBack) || strings.Count(reported, eventRoutesCameBack) != 1 || !strings.Contains(reported, c.reported) {
				t.Errorf("notified %s, want %s", reported, c.reported)
			}
		})
	}
}

// TestOnlyTheRouteThatComesBackIsLeftOver checks that, if one of two removed routes is recreated, only that one is left over, even
// if the stage has no time for a full resync.
func TestOnlyTheRouteThatComesBackIsLeftOver(t *testing.T) {
	k := deleted("k")
	k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: time.Second}
	f := newFlow(t, k, secretOf("k-secret"))
	const orphan = "100.100.2.0/24 via 10.0.0.77"
	routed(f, true).orphan = &kubernikusv1.DeorbitObject{Kind: "Route", Name: orphan, ID: "router"}
	f.turn(k)
	back := ""
	for range 40 {
		f.after(2*time.Second, k)
		if !f.store.Find(k) || !k.HasDeorbiter() {
			break
		}
		for _, o := range k.Status.Deorbit.Remaining {
			if o.Reason == cloud.ReasonCameBack {
				back += o.Name + " "
			}
		}
	}
	if f.store.Find(k) && k.HasDeorbiter() {
		t.Fatalf("it is not released: %+v", k.Status.Deorbit)
	}
	if reported := f.reported(); strings.Contains(back, orphan) || back == "" || strings.Contains(reported, orphan) || !strings.Contains(reported, "1 things are left over") {
		t.Errorf("recreated routes: %q, reported: %s", back, reported)
	}
}
