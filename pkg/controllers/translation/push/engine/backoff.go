// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/rand/v2"
	"time"
)

// The times between tries.
const (
	retryFirst, retryLast       = time.Second, time.Minute
	rejectedFirst, rejectedLast = time.Minute, 30 * time.Minute
	missingFirst, missingLast   = 5 * time.Second, 5 * time.Minute

	// graceUnlisted is how long a resource waits for one that no Claim lists before it is tried even so: it may be there without a
	// Claim.
	graceUnlisted = 5 * time.Second
	// graceDependents is how long a delete waits for those that need the resource and have to go, too.
	graceDependents = 15 * time.Second
	// settleTime is how long after a Claim's content was first pushed waiting for another Claim is not worth a report.
	settleTime = 2 * time.Second
	// recheck is when what blocks a call for a moment is rechecked.
	recheck = 10 * time.Millisecond
	// conflictTries is how often a conflict with something unseen is taken for a lost race.
	conflictTries = 3
)

// backoff is how long to wait after the n-th try in a row failed, n from 1: first, doubled with each, at most last, and
// up to a tenth less by jitter, which is in [0, 1).
func backoff(n int, first, last time.Duration, jitter float64) time.Duration {
	d := first
	for range n - 1 {
		if d >= last/2 {
			d = last
			break
		}
		d *= 2
	}
	return d - time.Duration(jitter*float64(d)/10)
}

// jittered is backoff with a random jitter, so that those who failed together do not come back together.
func jittered(n int, first, last time.Duration) time.Duration {
	return backoff(n, first, last, rand.Float64())
}

// until is how long until t, at least recheck.
func until(t, now time.Time) time.Duration { return max(recheck, t.Sub(now)) }
