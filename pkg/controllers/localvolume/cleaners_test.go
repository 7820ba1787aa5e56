// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"testing"
	"time"
)

func TestHolder(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	const one, renewed = `{"holder":"one","renewed":"2029-01-01T00:00:00Z"}`, `{"holder":"one","renewed":"2031-01-01T00:00:00Z"}`
	for name, c := range map[string]struct {
		values []string // a minute apart
		rest   time.Duration
		want   string
	}{
		"nobody":                         {values: []string{""}},
		"its time is of another clock":   {values: []string{one}, want: "one"},
		"silent, not long enough":        {values: []string{one}, rest: tenureDuration - time.Second, want: "one"},
		"silent":                         {values: []string{one}, rest: tenureDuration},
		"renewed":                        {values: []string{one, renewed}, rest: tenureDuration - time.Second, want: "one"},
		"removed":                        {values: []string{one, ""}},
		"of a later version":             {values: []string{"two at noon"}, want: "two at noon"},
		"of a later version, and silent": {values: []string{"two at noon"}, rest: tenureDuration},
	} {
		t.Run(name, func(t *testing.T) {
			at := now
			var s sighting
			for _, value := range c.values {
				at = at.Add(time.Minute)
				s = s.then(value, at)
			}
			if got := s.holder(at.Add(c.rest)); got != c.want {
				t.Errorf("holder = %q, want %q", got, c.want)
			}
		})
	}
}

// TestTenureValidity checks that a cleaner may act as long as no other one may have taken over, by the clock that measured more.
func TestTenureValidity(t *testing.T) {
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	renewed := moment{process: noon, server: noon}
	after := func(process, server time.Duration) moment {
		return moment{process: noon.Add(process), server: noon.Add(server)}
	}
	for name, tc := range map[string]struct {
		holder, key string
		held        map[string]moment
		now         moment
		want        bool
	}{
		"renewed":                    {"one", "local", map[string]moment{"local": renewed}, after(tenureValid-1, tenureValid-1), true},
		"not renewed":                {"one", "local", map[string]moment{"local": renewed}, after(tenureValid, tenureValid), false},
		"not renewed, by the server": {"one", "local", map[string]moment{"local": renewed}, after(0, tenureValid), false},
		"not renewed, by itself":     {"one", "local", map[string]moment{"local": renewed}, after(tenureValid, 0), false},
		"not held":                   {"one", "local", nil, after(0, 0), false},
		"not to be held":             {"one", "other", nil, after(0, 0), true},
		"without permission to hold": {"", "local", nil, after(0, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			tenures := &tenures{name: tc.holder, keys: []string{"local"}, held: tc.held}
			if got := tenures.holds(tc.key, tc.now); got != tc.want {
				t.Errorf("holds(%q) = %t, want %t", tc.key, got, tc.want)
			}
		})
	}
}
