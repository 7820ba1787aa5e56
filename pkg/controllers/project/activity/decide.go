// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"time"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// youth is the maximum age of an object, or of its last change, at its first event to count as activity. An older one was created
	// before the watch started, too long ago.
	youth = time.Hour
	// resolution is the precision of the last activity: activities within it after a recorded one are not written.
	resolution = time.Minute
)

// happened returns the time of an activity, and false if an event is none. Objects that existed before the watch started were
// active when they were created or changed last, so that a restarted manager neither counts them twice nor misses one.
func happened(e resourcewatch.Event, now time.Time) (time.Time, bool) {
	if e.Old != nil {
		return now, true
	}
	changed := usage.Changed(e.New)
	if now.Sub(changed) > youth {
		return time.Time{}, false
	}
	if e.Initial {
		return changed, true
	}
	return now, true
}

// isSpecChanged reports whether an event is more than a change of the status or the metadata.
func isSpecChanged(e resourcewatch.Event) bool {
	return e.Old == nil || e.New == nil || e.Old.Generation != e.New.Generation || e.Old.UID != e.New.UID
}

// isNews reports whether an activity requires a write. The Project is nil if activity does not matter.
func isNews(project *gardenerv1beta1.Project, at time.Time) bool {
	if project == nil {
		return false
	}
	last := project.Status.LastActivityTimestamp
	return last == nil || at.Sub(last.Time) >= resolution
}
