// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// TestSharesAreDeleted checks that a share and its snapshot are deleted, by the driver of the cluster and without it, and that the outcome is
// clean then. A share with a snapshot that was made manually stays, and is left over.
func TestSharesAreDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		driver, byHand bool
		want           string
	}{
		"with the driver":            {driver: true, want: reasonDone},
		"without it":                 {want: reasonDone},
		"a snapshot made manually":   {driver: true, byHand: true, want: reasonLeftovers},
		"a snapshot, and no driver ": {byHand: true, want: reasonLeftovers},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, 1)
			l.kills, l.csi = 0, c.driver
			share := l.share("data", "Delete")
			l.shareSnapshot("snapshot", "Delete", share)
			if c.byHand {
				l.guarded[share], l.guarded[l.cloud.AddShareSnapshot(livesProject, fake.ShareSnapshot{ShareID: share})] = true, true
			}
			l.begin(t, true)
			for range 400 {
				l.controllers()
				l.cloud.Settle()
				l.after(l.r.config.Deorbit.PollInterval.Duration*4, l.kluster)
			}
			l.store.Find(l.kluster)
			if got := l.judge(t); got != c.want || len(l.cloud.Shares(livesProject)) > 0 != c.byHand {
				t.Errorf("outcome = %s with shares %v, want %s: %+v", got, l.cloud.Shares(livesProject), c.want, l.kluster.Status.Deorbit)
			}
		})
	}
}
