// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"

// Report is what one drift pass found and did.
type Report struct {
	// Drifted is how many resources the backend had otherwise than they were pushed, or not at all, or out of order.
	Drifted int
	// Repaired is how many of them were scheduled to be repaired.
	Repaired int
	// Orphans is how many resources of the tenant no Claim lists, Deleted how many of them were deleted.
	Orphans, Deleted int
	// Reads is how many lists and single resources were read.
	Reads int
	// Names are the orphans as messages name them, the first maxNames.
	Names []string
	// Invalid is how many resources the driver does not understand. They were not compared. InvalidNames are the first
	// maxNames of them, each with the reason.
	Invalid      int
	InvalidNames []string
}

// addInvalid counts a resource that the driver does not understand.
func (r *Report) addInvalid(ref backend.Ref, reason error) {
	r.Invalid++
	if len(r.InvalidNames) < maxNames {
		r.InvalidNames = append(r.InvalidNames, ref.String()+": "+reason.Error())
	}
}
