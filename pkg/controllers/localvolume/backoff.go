// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// What failed is tried again after a pause that doubles.
	minRetry = PassInterval
	maxRetry = 5 * time.Minute
)

// Backoffs are the objects for which something failed, each with a dedicated pause. It is for one goroutine.
type Backoffs map[types.UID]backoff

type backoff struct {
	failures int
	until    time.Time
}

// Failed begins the next pause of an object.
func (b Backoffs) Failed(uid types.UID, now time.Time) {
	failures := b[uid].failures
	b[uid] = backoff{failures: failures + 1, until: now.Add(min(minRetry<<min(failures, 16), maxRetry))}
}

// Failures returns how often in a row something failed for an object.
func (b Backoffs) Failures(uid types.UID) int { return b[uid].failures }

// Until returns when the pause of an object is over.
func (b Backoffs) Until(uid types.UID) time.Time { return b[uid].until }

// Keep discards all objects but those.
func (b Backoffs) Keep(uids map[types.UID]bool) {
	for uid := range b {
		if !uids[uid] {
			delete(b, uid)
		}
	}
}
