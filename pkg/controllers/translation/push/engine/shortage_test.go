// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// What was tried without something that it needs, and rejected regardless of the message, is tried again when that is there: it
// does not wait for the time that a rejection waits.
func TestRejectionForAMissingResourceEndsWithIt(t *testing.T) {
	for name, reason := range map[string]backend.Reason{
		"not found": backend.NotFound, "refused": backend.Refused, "in conflict": backend.Conflict,
	} {
		t.Run(name, func(t *testing.T) {
			for _, late := range []backend.Item{wanted("Seat", "z", fakeBody{ID: "h", Alias: "seat of h"}), box("b", 1)} {
				w := newWorld(t, Options{})
				w.put("zone", wanted("Zone", "", fakeBody{ID: "z"}))
				need := "Box/b"
				if late.Kind == "Seat" {
					need = "seat of h"
				}
				on := true
				w.backend.before = failOp(&on, "create", "Plug p", reason)
				w.put("a", plug("h", "p", []string{need}, nil))
				w.run(graceUnlisted + 20*time.Second)
				if o := w.outcome("a"); o.Reason == ReasonSynced || w.backend.calls["create"] < 2 {
					t.Fatalf("it was not tried: %+v", o)
				}
				on = false
				w.put("late", late)
				w.run(0)
				w.expectSynced()
			}
		})
	}
}
