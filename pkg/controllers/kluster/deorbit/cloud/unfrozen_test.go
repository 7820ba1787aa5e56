// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"slices"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// TestUnfrozen checks that what has the name of a cluster that is not frozen stays as long as it was never seen there, and the machines exist.
func TestUnfrozen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage.Work, grown)
		stays  bool
	}{
		"never seen":               {func(*stage.Work, grown) {}, true},
		"frozen":                   {func(w *stage.Work, _ grown) { w.Unfrozen = false }, false},
		"the machines are deleted": {func(w *stage.Work, _ grown) { dismantled(w) }, false},
		"seen": {func(w *stage.Work, g grown) {
			sawService("uid-prod", "shop", "web", false)(w)
			sawVolume(g.volume, "Delete")(w)
			sawSnapshot(g.snapshot, "Delete")(w)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			g, w := s.grow("prod", "prod-id"), work(unseen)
			w.Unfrozen = true
			c.change(&w, g)
			if !c.stays {
				if s.until(w); len(s.left()) > 0 {
					t.Errorf("left %v, want nothing", s.left())
				}
				return
			}
			report := s.verify(w)
			for _, id := range g.ids() {
				if reason := reasonFor(report.Stuck, id); !strings.Contains(reason, "not frozen") {
					t.Errorf("%s: reason %q, want that the cluster is not frozen", id, reason)
				}
			}
			if changes := s.changes(); len(changes) > 0 || !slices.Equal(s.left(), g.ids()) {
				t.Errorf("changes %v, left %v, want all of %v", changes, s.left(), g.ids())
			}
		})
	}
}
