// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Observation is what a process knows of the Lease of a backend that it does not hold itself. The zero value is nothing.
type Observation struct{ seen sight }

// Then returns what is known after the Lease was read at a time; nil means that there is none.
func (o Observation) Then(lease *coordinationv1.Lease, now time.Time) Observation {
	return Observation{o.seen.then(lease, now)}
}

// Holder returns the identity of the discoverer that may still write, "" when there is none: the Lease was released, or its
// holder was silent for as long as it may be.
func (o Observation) Holder(now time.Time) string {
	if o.seen.free("", now) {
		return ""
	}
	return holderOf(o.seen.lease)
}
