// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	old, fresh, elsewhere := foreignOnce(t), foreignOnce(t), foreignOnce(t)
	both := trusting(old.ca, fresh.ca)
	for name, tc := range map[string]struct {
		change   func(*view)
		want     action
		switched bool
	}{
		"all is well":                       {func(*view) {}, keep, false},
		"no Secret, nothing served":         {func(v *view) { v.stored, v.served = nil, nil }, begin, false},
		"no Secret, something is served":    {func(v *view) { v.stored = nil }, restore, false},
		"no Secret, what is served is over": {func(v *view) { v.stored, v.now = nil, now.Add(91*day) }, begin, false},
		"a start":                           {func(v *view) { v.served = nil }, keep, true},
		"not due yet":                       {func(v *view) { v.now = now.Add(60*day - time.Minute) }, keep, false},
		"due":                               {func(v *view) { v.now = now.Add(60 * day) }, stage, false},
		"a host is missing":                 {func(v *view) { v.hosts = []string{host, "other"} }, stage, false},
		"staged, not published":             {func(v *view) { v.stored = &state{current: old, next: fresh, bundle: both} }, keep, false},
		"staged, hardly published":          {func(v *view) { v.stored, v.published = &state{current: old, next: fresh, bundle: both}, 9*time.Second }, keep, false},
		"staged and published":              {func(v *view) { v.stored, v.published = &state{current: old, next: fresh, bundle: both}, 10*time.Second }, promote, false},
		"staged without the host":           {func(v *view) { v.stored, v.hosts = &state{current: old, next: fresh, bundle: both}, []string{"other"} }, stage, false},
		"promoted, not published":           {func(v *view) { v.stored = &state{current: fresh, bundle: both} }, keep, false},
		"promoted":                          {func(v *view) { v.stored, v.published = &state{current: fresh, bundle: both}, 10*time.Second }, keep, true},
		"promoted, served for a moment": {func(v *view) {
			v.stored, v.served, v.stable = &state{current: fresh, bundle: both}, fresh, 29*time.Second
		}, keep, false},
		"promoted, served for a while": {func(v *view) {
			v.stored, v.served, v.stable = &state{current: fresh, bundle: both}, fresh, 30*time.Second
		}, prune, false},
		"another pair, the local one discarded":  {func(v *view) { v.stored = &state{current: elsewhere, bundle: elsewhere.ca} }, remember, false},
		"all is over":                            {func(v *view) { v.now = now.Add(91 * day) }, begin, false},
		"all is over, nothing is served":         {func(v *view) { v.now, v.served = now.Add(91*day), nil }, begin, false},
		"published for long, other bundle since": {func(v *view) { v.stored = &state{current: fresh, bundle: both}; v.published = 0 }, keep, false},
	} {
		v := view{now: now, hosts: []string{host}, timing: Timing{}.withDefaults(), stored: &state{current: old, bundle: old.ca}, served: old}
		tc.change(&v)
		if got := v.plan(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if got := v.switches(); got != tc.switched {
			t.Errorf("%s: switches %t", name, got)
		}
		if v.stored != nil && v.wait(resync) <= 0 {
			t.Errorf("%s: it would not rest", name)
		}
	}
}

// TestPlanReplacesExpiredPair checks that an expired pair is replaced immediately by the next one, or by the one that this replica serves.
func TestPlanReplacesExpiredPair(t *testing.T) {
	short, err := issue("tls", []string{host}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	long := foreignOnce(t)
	both := trusting(short.ca, long.ca)
	v := view{now: time.Now().Add(2 * time.Hour), hosts: []string{host}, timing: Timing{}.withDefaults(), served: short}
	v.stored = &state{current: short, next: long, bundle: both}
	if got := v.plan(); got != promote {
		t.Errorf("got %s", got)
	}
	v.stored, v.served = &state{current: short, bundle: both}, long
	if got := v.plan(); got != restore {
		t.Errorf("got %s", got)
	}
}
