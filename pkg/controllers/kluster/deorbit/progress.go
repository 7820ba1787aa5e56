// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// progress is how far a Deorbit is: what the status reports, and what is only remembered.
type progress struct {
	kubernikusv1.DeorbitStatus
	memory memory
	// failure is why the last check could not see what it had to; nil: it could.
	failure *failure
	// own is true when the workload cluster is the one that Groundskeeper runs in.
	own bool
	// held is why nothing may be done, because other objects lead to the cluster; nil: it may.
	held *hold
	// routes are those that were removed, and may come back.
	routes returning
}

func (p progress) copy() progress {
	p.routes.removed = slices.Clone(p.routes.removed)
	p.DeorbitStatus = *p.DeepCopy()
	p.memory = memory{least: maps.Clone(p.memory.least), requested: maps.Clone(p.memory.requested), stuck: p.memory.stuck}
	return p
}

// ending is how a Deorbit ended.
type ending string

const (
	endsClean        ending = "clean"
	endsLeftovers    ending = "leftovers"
	endsSelfDestruct ending = "self-destruct"
	endsDetached     ending = "detached"
)

// action is what follows a step, besides that its progress is written down.
type action struct {
	// soon rechecks immediately, not after the poll interval.
	soon bool
	// ends releases the Kluster; "": not yet.
	ends ending
	// deleted are objects whose deletion was requested, for the first time in the stage.
	deleted []kubernikusv1.DeorbitObject
	// notes are what to report.
	notes []note
}

// note is an event.
type note struct {
	warning         bool
	reason, message string
}

// failing returns the progress with a failure that is known before the check is over, if the last check had none.
func (p progress) failing(failed *failure) progress {
	if p.failure == nil {
		p.failure = failed
	}
	return p
}

// resumed returns the progress behind a pause: nothing was checked meanwhile, so the clocks stood still.
func (p progress) resumed(pause time.Duration) progress {
	p = p.copy()
	for _, at := range []*metav1.Time{p.StartedAt, p.StageStartedAt, p.LastProgressAt, p.VerifyStartedAt} {
		if at != nil {
			*at = metav1.NewTime(at.Add(pause)).Rfc3339Copy()
		}
	}
	p.UnreachableSince = nil
	return p
}
