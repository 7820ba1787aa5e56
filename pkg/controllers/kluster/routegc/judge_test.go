// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"slices"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func orphansOf(routes []openstack.Route) (all []Orphan) {
	for _, r := range routes {
		all = append(all, Orphan{Route: r})
	}
	return all
}

// An orphan has the time of its first observation, and is due when it has waited for long enough, which a suspicion postpones.
func TestOrphanTimes(t *testing.T) {
	a, b, c := route("100.100.1.0/24", "10.0.0.6"), route("100.100.2.0/24", "10.0.0.6"), route("100.100.3.0/24", "10.0.0.7")
	own, start := []openstack.Route{a, b, c}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limits := Limits{ConfirmAfter: 30 * time.Second, Interval: 5 * time.Minute, MaxRemovalFraction: 0.5}
	h, _, first := History{}.judge(start, len(own), 3, orphansOf(own[:1]), limits)
	_, _, second := h.judge(start.Add(10*time.Second), len(own), 3, orphansOf(own[:2]), limits)
	if o := first.Waiting[0]; !o.Since.Equal(start) || !o.Due.Equal(start.Add(30*time.Second)) {
		t.Errorf("orphan = %+v, want it since %s, due after 30s", o, start)
	}
	if o := second.Waiting[0]; !o.Since.Equal(start) || !o.Due.Equal(start.Add(10*time.Second+5*time.Minute)) {
		t.Errorf("orphan = %+v, want it since %s, due one interval after the suspicion began", o, start)
	}
}

func TestJudge(t *testing.T) {
	a, b, c, d := route("100.100.1.0/24", "10.0.0.6"), route("100.100.2.0/24", "10.0.0.6"), route("100.100.3.0/24", "10.0.0.7"), route("100.100.4.0/24", "10.0.0.8")
	limits := Limits{ConfirmAfter: 30 * time.Second, Interval: 5 * time.Minute, MaxRemovalFraction: 0.5}
	type probe struct {
		after     time.Duration // since the first check
		orphans   []openstack.Route
		servers   int
		remove    []openstack.Route
		suspicion Suspicion
		again     time.Duration
	}
	all := []openstack.Route{a, b, c, d}
	one, most := all[:1], all[:3]
	for name, probes := range map[string][]probe{
		"seen twice": {
			{0, one, 3, nil, "", 30 * time.Second},
			{10 * time.Second, one, 3, nil, "", 20 * time.Second},
			{30 * time.Second, one, 3, one, "", 0},
		},
		"in use in between": {
			{0, one, 3, nil, "", 30 * time.Second},
			{20 * time.Second, nil, 3, nil, "", 0},
			{40 * time.Second, one, 3, nil, "", 30 * time.Second},
			{70 * time.Second, one, 3, one, "", 0},
		},
		"each has its own time": {
			{0, one, 3, nil, "", 30 * time.Second},
			{30 * time.Second, all[:2], 3, one, "", 30 * time.Second},
		},
		"half is not suspicious": {
			{0, all[:2], 3, nil, "", 30 * time.Second},
			{30 * time.Second, all[:2], 3, all[:2], "", 0},
		},
		"more than half": {
			{0, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{30 * time.Second, most, 3, nil, TooManyOrphans, 270 * time.Second},
			{5 * time.Minute, most, 3, most, TooManyOrphans, 0},
		},
		"no servers": {
			{0, one, 0, nil, NoServers, 5 * time.Minute},
			{30 * time.Second, one, 0, nil, NoServers, 270 * time.Second},
			{5 * time.Minute, one, 0, one, NoServers, 0},
		},
		"a suspicion begins with itself, not with its routes": {
			{0, one, 3, nil, "", 30 * time.Second},
			{10 * time.Minute, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{15 * time.Minute, most, 3, most, TooManyOrphans, 0},
		},
		"a cleared suspicion starts over": {
			{0, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{time.Minute, nil, 3, nil, "", 0},
			{6 * time.Minute, most, 3, nil, TooManyOrphans, 5 * time.Minute},
		},
		"a latecomer waits for as long": {
			{0, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{4 * time.Minute, all, 3, nil, TooManyOrphans, time.Minute},
			{5 * time.Minute, all, 3, most, TooManyOrphans, 4 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h History
			start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, l := range probes {
				next, doomed, r := h.judge(start.Add(l.after), len(all), l.servers, orphansOf(l.orphans), limits)
				same := slices.EqualFunc(doomed, l.remove, func(o Orphan, r openstack.Route) bool { return o.Route == r })
				if !same || r.Suspicion != l.suspicion || r.Again != l.again || len(doomed)+len(r.Waiting) != len(l.orphans) {
					t.Errorf("check %d: removes %v, waits for %v, suspicion %q, again after %s", i, doomed, r.Waiting, r.Suspicion, r.Again)
				}
				h = next
			}
		})
	}
}

// TestSeenTwice checks that an orphan is not removed by the check that finds it, even where none has to wait.
func TestSeenTwice(t *testing.T) {
	orphans := []Orphan{{Route: openstack.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}}}
	limits := Limits{MaxRemovalFraction: 1}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	history, doomed, _ := History{}.judge(now, 3, 1, orphans, limits)
	if len(doomed) > 0 {
		t.Errorf("first: removed %v, want none", doomed)
	}
	if _, doomed, _ = history.judge(now, 3, 1, orphans, limits); len(doomed) != 1 {
		t.Errorf("second: removed %v, want the orphan", doomed)
	}
}
