// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// balanced checks that a report has all that a cluster had in the project before the check.
func balanced(mine, before, after []string, report stage.Report) error {
	of := func(ids []string) []string {
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(mine, id) })
	}
	ids := func(objects []kubernikusv1.DeorbitObject) (all []string) {
		for _, o := range objects {
			all = append(all, o.ID)
		}
		return all
	}
	remaining := ids(report.Remaining)
	// What OpenStack deletes in the background is deleted and remains.
	deleted := slices.DeleteFunc(ids(report.Deleted), func(id string) bool { return slices.Contains(remaining, id) })
	return faulttest.Balanced(of(before), of(after), deleted, remaining, ids(report.Retained))
}

// TestEveryFault checks that all that a cluster left in OpenStack is deleted and nothing of its neighbor, and that each report is
// complete, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Fenced: faulttest.IsCloudWrite, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		s := newSite(t, fake.Options{PageSize: 2, Wrap: g.Cloud})
		mine, other := s.grow("prod", "prod-id"), s.grow("prod-2", "prod-2-id")
		s.project.Fence = g.Fence
		living := faulttest.Inventory{}
		for _, id := range other.ids() {
			living[id] = id
		}
		var unbalanced error
		left := func() []string {
			return slices.DeleteFunc(s.left(), func(id string) bool { return !slices.Contains(mine.ids(), id) })
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				before := s.left()
				report, err := s.probe(ctx)
				if err == nil {
					unbalanced = errors.Join(unbalanced, balanced(mine.ids(), before, s.left(), report))
				}
				s.Settle()
				return err
			},
			Restart: func() {},
			Acts:    []faulttest.Act{{Name: "verify", Do: func() {}, Left: func() string { return strings.Join(left(), " ") }}},
			Check: func() error {
				after := faulttest.Inventory{}
				for _, id := range s.left() {
					after[id] = id
				}
				return errors.Join(unbalanced, faulttest.Restored(living, after))
			},
		}
	}}.Test(t)
}
