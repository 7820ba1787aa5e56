// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// target is what one of the two controllers deletes of a stale volume: its claim, or itself.
type target struct {
	// noun is what users call it: claim or volume.
	noun string
	// object returns it, and decision what was decided about it.
	object   func(*localvolume.Subject) client.Object
	decision func(*localvolume.Subject) localvolume.Decision
	// announcement begins the message of the event that precedes its deletion; the reason follows.
	announcement func(*localvolume.Subject) string
	// proofOfLife returns what shows that its node is not lost after all, read live; nil: that does not matter.
	proofOfLife func(context.Context, *localvolume.Permit, localvolume.Stale) (string, error)
	// deleted or failed is called after its deletion, failed in parallel.
	deleted, failed func(*localvolume.Subject)
}

// deletions deletes what is due, and remembers what it deleted and what it reported. It is for one goroutine.
type deletions struct {
	target
	site *localvolume.Site
	// retries are the objects whose deletion failed. They come last, so that they keep nothing else waiting.
	retries backoffs
	// done are the objects whose deletion was accepted and that are still there, released those that were released after that.
	done, released sets.Set[types.UID]
	// reported has what was last reported about objects that stay, or go now.
	reported reported
	// more reports that more is due than fits into a batch.
	more bool
	// unreported is how many were deleted and not logged yet.
	unreported int
}

func newDeletions(site *localvolume.Site, target target) *deletions {
	return &deletions{target: target, site: site, retries: backoffs{}, reported: reported{},
		done: sets.Set[types.UID]{}, released: sets.Set[types.UID]{}}
}

// keep discards what is remembered of all objects but those.
func (d *deletions) keep(uids sets.Set[types.UID]) {
	d.done, d.released = d.done.Intersection(uids), d.released.Intersection(uids)
	keepOnly(d.retries, uids)
	keepOnly(d.reported, uids)
}

// next returns after how long the next reconciliation is due when no event comes: when something is due, when the first wait or the
// first pause after a failure is over, and at the latest after the interval, while something is stale; 0: when nothing is.
func (d *deletions) next(subjects []localvolume.Subject) time.Duration {
	if len(subjects) == 0 {
		return 0
	}
	now := d.site.Clock.Now()
	next := d.site.Config.StalePVDiscoveryInterval.Duration
	for i := range subjects {
		if subjects[i].Pending() {
			next = min(next, localvolume.BeatInterval) // the record is confirmed
		}
		decision := d.decision(&subjects[i])
		until := decision.Until
		if until.IsZero() && decision.Action != localvolume.Keep && !d.site.DryRun() {
			until = d.retries[d.object(&subjects[i]).GetUID()].until
		}
		if !until.IsZero() {
			next = min(next, until.Sub(now))
		}
	}
	if d.more {
		return localvolume.PassInterval
	}
	return max(next, localvolume.PassInterval)
}

// isDue reports whether it is time to delete or release an object, and this cleaner may.
func (d *deletions) isDue(s *localvolume.Subject, now time.Time) bool {
	var before sets.Set[types.UID]
	switch d.decision(s).Action {
	case localvolume.Delete:
		before = d.done
	case localvolume.Release:
		before = d.released
	default:
		return false
	}
	uid := d.object(s).GetUID()
	if before.Has(uid) || now.Before(d.retries[uid].until) || d.site.DryRun() && d.reported[uid] == d.pretence(s) {
		return false
	}
	class := s.Volume.Spec.StorageClassName
	if d.site.Holds(class) {
		return true
	}
	if why := d.site.HeldBy(class); why != "" {
		d.skip(s, why)
	}
	return false
}

// act deletes the objects whose time has come, if anything may be deleted. A deletion that fails is logged, and tried again later:
// it is no reason to defer anything else.
func (d *deletions) act(ctx context.Context, subjects []localvolume.Subject) error {
	now := d.site.Clock.Now()
	// Those that failed least come first, in the order of their names.
	ordered := slices.Clone(subjects)
	failures := func(s *localvolume.Subject) int {
		if d.decision(s).Action == localvolume.Keep {
			return 0
		}
		return d.retries[d.object(s).GetUID()].failures
	}
	slices.SortStableFunc(ordered, func(a, b localvolume.Subject) int { return cmp.Compare(failures(&a), failures(&b)) })
	due := 0
	permit, allowed, err := d.site.Clear(ctx, ordered, func(s *localvolume.Subject) bool {
		is := d.isDue(s, now)
		if is {
			due++
		}
		return is
	})
	d.more = due > localvolume.MaxBatch
	if len(allowed) == 0 && d.unreported > 0 { // once for all batches in a row
		log.FromContext(ctx).Info("Deleted "+d.noun+"s of missing nodes", "count", d.unreported)
		d.unreported = 0
	}
	if err != nil || len(allowed) == 0 {
		return err
	}
	if d.site.DryRun() {
		for i := range allowed {
			d.announce(&allowed[i], localvolume.EventSkipped, d.pretence(&allowed[i]))
		}
		log.FromContext(ctx).Info("Dry run: "+d.noun+"s would be deleted", "count", len(allowed))
		return nil
	}
	if err := d.delete(ctx, permit, allowed); err != nil {
		log.FromContext(ctx).Error(err, "Failed to delete "+d.noun+"s of missing nodes, retrying later")
	}
	return nil
}

// delete deletes objects, several concurrently, after their events.
func (d *deletions) delete(ctx context.Context, permit *localvolume.Permit, subjects []localvolume.Subject) error {
	releases := func(i int) bool { return d.decision(&subjects[i]).Action == localvolume.Release }
	for i := range subjects {
		if s := &subjects[i]; releases(i) {
			d.announce(s, localvolume.EventReleased, localvolume.ReleaseNotice(s))
		} else {
			d.announce(s, localvolume.EventDeleting, fmt.Sprintf("%s, because %s.", d.announcement(s), s.Lost()))
		}
	}
	done, failed, alive := make([]bool, len(subjects)), make([]bool, len(subjects)), make([]string, len(subjects))
	err := d.site.Each(len(subjects), func(i int) error {
		s := &subjects[i]
		object := d.object(s)
		allowed, err := permit.AllowsNow(ctx, s.Stale)
		if d.proofOfLife != nil && allowed && err == nil {
			alive[i], err = d.proofOfLife(ctx, permit, s.Stale)
		}
		switch {
		case err == nil && alive[i] != "": // it is reported below
			return nil
		case err == nil && !allowed:
			return nil // a node came back meanwhile
		case err == nil && releases(i):
			done[i], err = d.site.ReleaseExactly(ctx, s.Volume)
		case err == nil:
			done[i], err = d.site.DeleteExactly(ctx, object)
		}
		if err != nil {
			failed[i] = true
			d.failed(s)
			return fmt.Errorf("%s %s %s: %w", strings.ToLower(string(d.decision(s).Action)), localvolume.KindOf(object),
				strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/"), err)
		}
		return nil
	})
	for i := range subjects {
		uid := d.object(&subjects[i]).GetUID()
		switch {
		case alive[i] != "":
			d.skip(&subjects[i], alive[i])
		case failed[i]:
			d.retries.failed(uid, d.site.Clock.Now())
		case done[i] && releases(i):
			d.released.Insert(uid)
			delete(d.retries, uid)
		case done[i]:
			d.unreported++
			d.done.Insert(uid)
			delete(d.retries, uid)
			d.deleted(&subjects[i])
		}
	}
	return err
}

// skip reports to an object why it stays, once.
func (d *deletions) skip(s *localvolume.Subject, why string) {
	d.announce(s, localvolume.EventSkipped, fmt.Sprintf("%s, but the %s is retained: %s.", s.Sentence(), d.noun, why))
}

func (d *deletions) pretence(s *localvolume.Subject) string {
	return fmt.Sprintf("Dry run: this %s would be deleted, because %s.", d.noun, s.Lost())
}

// announce records an event, unless the last one about the object was the same.
func (d *deletions) announce(s *localvolume.Subject, reason, message string) {
	object := d.object(s)
	if d.reported.isNew(object.GetUID(), message) {
		d.site.Recorder.Event(object, corev1.EventTypeNormal, reason, message)
	}
}
