// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import "fmt"

const (
	// toleratedMissing is how many nodes may be missing at any time: one or two are an everyday loss, and in a small
	// cluster already a large part.
	toleratedMissing = 2
	// brakeOff is the limit that turns the brake off.
	brakeOff = 1.0
)

// Census counts the nodes that opted-in volumes name.
type Census struct {
	// Nodes is how many Node objects the cluster has, whether a volume names them or not.
	Nodes int
	// Missing is how many named nodes are missing and still have something to be deleted.
	Missing int
	// Live is how many named nodes exist.
	Live int
}

// brake returns why nothing may be deleted, or "". limit is the fraction of missing nodes that engages it, acknowledged how many
// missing nodes a user acknowledged.
func brake(census Census, limit float64, acknowledged int) string {
	if limit >= brakeOff || census.Missing == 0 || census.Missing <= acknowledged {
		return ""
	}
	if census.Nodes == 0 {
		return "the list of nodes is empty"
	}
	all := census.Missing + census.Live
	if census.Missing <= toleratedMissing || float64(census.Missing) < limit*float64(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes with local volumes are missing, which reaches the limit of %g", census.Missing, all, limit)
}
