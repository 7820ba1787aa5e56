// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// memory is what the CleanupController remembers from one reconcile to the next. A restart loses it: what is announced is announced again.
// Its reconciles come one after the other, so that nothing is locked.
type memory struct {
	// scheduled are the claims that were notified that they will be deleted.
	scheduled map[types.UID]appointment
	// missing are the nodes that were reported missing, and since when.
	missing map[string]time.Time
	// untouched is what was last notified of volumes that are not cleaned up.
	untouched reported
}

func newMemory() memory {
	return memory{scheduled: map[types.UID]appointment{}, missing: map[string]time.Time{}, untouched: reported{}}
}

type appointment struct {
	claim *corev1.PersistentVolumeClaim
	since time.Time
	nodes []string
}

// reported has the last message about each object, so that each is reported once.
type reported map[types.UID]string

// isNew reports whether the message about an object is another one than the last.
func (r reported) isNew(uid types.UID, message string) bool {
	last, known := r[uid]
	r[uid] = message
	return !known || last != message
}

const (
	// Failures are retried with exponential backoff.
	minRetry = localvolume.PassInterval
	maxRetry = 5 * time.Minute
)

// backoffs are the objects for which something failed, each with a dedicated pause.
type backoffs map[types.UID]backoff

type backoff struct {
	failures int
	until    time.Time
}

// failed begins the next pause of an object.
func (b backoffs) failed(uid types.UID, now time.Time) {
	failures := b[uid].failures
	b[uid] = backoff{failures: failures + 1, until: now.Add(min(minRetry<<min(failures, 16), maxRetry))}
}

// keepOnly discards what is remembered of all objects but those.
func keepOnly[V any](remembered map[types.UID]V, uids sets.Set[types.UID]) {
	maps.DeleteFunc(remembered, func(uid types.UID, _ V) bool { return !uids.Has(uid) })
}
