// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

// Report is what one drift pass found and did.
type Report struct {
	// Drifted is how many resources the backend had otherwise than they were pushed, or not at all, or out of order.
	Drifted int
	// Repaired is how many of them were scheduled to be put right.
	Repaired int
	// Orphans is how many resources of the tenant no Claim lists, Deleted how many of them were deleted.
	Orphans, Deleted int
	// Reads is how many lists and single resources were read.
	Reads int
	// Names are the orphans as messages name them, the first maxNames.
	Names []string
}
