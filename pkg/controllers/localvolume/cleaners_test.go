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
