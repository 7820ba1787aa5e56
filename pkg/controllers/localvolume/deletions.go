// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Target is what one of the two controllers deletes of a stale volume: its claim, or itself.
type Target struct {
	// Noun is what users call it: claim or volume.
	Noun string
	// Object returns it, and Decision what was decided about it.
	Object   func(*Subject) client.Object
	Decision func(*Subject) Decision
	// Announcement begins the message of the event that precedes its deletion; the reason follows.
	Announcement func(*Subject) string
	// Release removes what keeps an object that is being deleted, and Notice is the event about it. Both are nil when there
	// is no such thing.
	Release func(context.Context, *Subject) (bool, error)
	Notice  func(*Subject) string
	// Deleted or Failed is called after its deletion, Failed in parallel.
	Deleted, Failed func(*Subject)
}

// Deletions deletes what is due, and remembers what it deleted and what it reported. It is for one goroutine.
type Deletions struct {
	site   *Site
	target Target
	// retries are the objects whose deletion failed. They come last, so that they keep nothing else waiting.
	retries Backoffs
	// deleted are the objects that were deleted and have not been deleted yet, released those that were released after that.
	deleted, released map[types.UID]bool
	// reported is what was last notified of objects that stay, or go now.
	reported Reported
	// more reports that more is due than fits into a batch.
	more bool
	// unreported is how many were deleted and not logged yet.
	unreported int
}

// NewDeletions returns the deletions of one kind of target.
func (s *Site) NewDeletions(target Target) *Deletions {
	return &Deletions{site: s, target: target, retries: Backoffs{}, deleted: map[types.UID]bool{}, released: map[types.UID]bool{}, reported: Reported{}}
}

// Has reports whether an object was deleted and has not been deleted yet.
func (d *Deletions) Has(uid types.UID) bool { return d.deleted[uid] }

// Skip reports to an object why it stays, once.
func (d *Deletions) Skip(subject *Subject, why string) {
	d.announce(subject, EventSkipped, fmt.Sprintf("%s, but the %s is retained: %s.", AbsentSentence(subject.Nodes), d.target.Noun, why))
}

// Keep discards all objects but those.
func (d *Deletions) Keep(uids map[types.UID]bool) {
	for _, done := range []map[types.UID]bool{d.deleted, d.released} {
		for uid := range done {
			if !uids[uid] {
				delete(done, uid)
			}
		}
	}
	d.retries.Keep(uids)
	d.reported.Keep(uids)
}

// Next returns after how long the next reconciliation is due when no event comes: when something is due, when the first wait or the
// first pause after a failure is over, and at the latest after the interval, while something is stale. The second result is false
// when nothing is.
func (d *Deletions) Next(subjects []Subject) (time.Duration, bool) {
	if len(subjects) == 0 {
		return 0, false
	}
	now := d.site.Clock.Now()
	next := d.site.Config.StalePVDiscoveryInterval.Duration
	for i := range subjects {
		if subjects[i].pending() {
			next = min(next, beatInterval) // the record is confirmed
		}
		decision := d.target.Decision(&subjects[i])
		switch {
		case !decision.Until.IsZero():
			next = min(next, decision.Until.Sub(now))
		case decision.Action != Keep && !d.site.DryRun():
			if until := d.retries.Until(d.target.Object(&subjects[i]).GetUID()); !until.IsZero() {
				next = min(next, until.Sub(now))
			}
		}
	}
	if d.more {
		next = PassInterval
	}
	return max(next, PassInterval), true
}

// Act deletes the objects whose time has come, if anything may be deleted. A deletion that fails is logged, and tried again later:
// it is no reason to defers anything else.
func (d *Deletions) Act(ctx context.Context, subjects []Subject) error {
	now := d.site.Clock.Now()
	// Those that failed least come first, in the order of their names.
	ordered := slices.Clone(subjects)
	failures := func(s *Subject) int {
		if d.target.Decision(s).Action == Keep {
			return 0
		}
		return d.retries.Failures(d.target.Object(s).GetUID())
	}
	slices.SortStableFunc(ordered, func(a, b Subject) int { return cmp.Compare(failures(&a), failures(&b)) })
	due := 0
	permit, allowed, err := d.site.Clear(ctx, ordered, func(s *Subject) bool {
		done := d.deleted
		switch d.target.Decision(s).Action {
		case Delete:
		case Release:
			done = d.released
		default:
			return false
		}
		uid := d.target.Object(s).GetUID()
		is := !done[uid] && !now.Before(d.retries.Until(uid)) && (!d.site.DryRun() || d.reported[uid] != d.pretence(s))
		if class := s.Volume.Spec.StorageClassName; is && !d.site.Holds(class) {
			if why := d.site.HeldBy(class); why != "" {
				d.Skip(s, why)
			}
			return false
		}
		if is {
			due++
		}
		return is
	})
	d.more = due > MaxBatch
	if len(allowed) == 0 && d.unreported > 0 { // once for all batches in a row
		log.FromContext(ctx).Info("Deleted "+d.target.Noun+"s of missing nodes", "count", d.unreported)
		d.unreported = 0
	}
	if err != nil || len(allowed) == 0 {
		return err
	}
	if d.site.DryRun() {
		d.pretend(ctx, allowed)
		return nil
	}
	if err := d.delete(ctx, permit, allowed); err != nil {
		log.FromContext(ctx).Error(err, "Failed to delete "+d.target.Noun+"s of missing nodes, retrying later")
	}
	return nil
}

// pretence returns what an object is reported in a dry run.
func (d *Deletions) pretence(s *Subject) string {
	return fmt.Sprintf("Dry run: this %s would be deleted, because %s.", d.target.Noun, Absent(s.Nodes))
}

// pretend reports once what would be deleted.
func (d *Deletions) pretend(ctx context.Context, subjects []Subject) {
	for i := range subjects {
		d.announce(&subjects[i], EventSkipped, d.pretence(&subjects[i]))
	}
	log.FromContext(ctx).Info("Dry run: "+d.target.Noun+"s would be deleted", "count", len(subjects))
}

// delete deletes objects, several concurrently, after their events.
func (d *Deletions) delete(ctx context.Context, permit *Permit, subjects []Subject) error {
	releases := func(i int) bool { return d.target.Decision(&subjects[i]).Action == Release }
	for i := range subjects {
		if releases(i) {
			d.announce(&subjects[i], EventReleased, d.target.Notice(&subjects[i]))
			continue
		}
		d.announce(&subjects[i], EventDeleting, fmt.Sprintf("%s, because %s.", d.target.Announcement(&subjects[i]), Absent(subjects[i].Nodes)))
	}
	done, failed := make([]bool, len(subjects)), make([]bool, len(subjects))
	err := d.site.Each(len(subjects), func(i int) error {
		object := d.target.Object(&subjects[i])
		allowed, err := permit.AllowsNow(ctx, subjects[i].Stale)
		switch {
		case err == nil && !allowed:
			return nil // a node came back meanwhile
		case err == nil && releases(i):
			done[i], err = d.target.Release(ctx, &subjects[i])
		case err == nil:
			done[i], err = d.site.DeleteExactly(ctx, object)
		}
		if err != nil {
			failed[i] = true
			d.target.Failed(&subjects[i])
			return fmt.Errorf("%s %s %s: %w", strings.ToLower(string(d.target.Decision(&subjects[i]).Action)), kindOf(object),
				strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/"), err)
		}
		return nil
	})
	for i := range subjects {
		uid := d.target.Object(&subjects[i]).GetUID()
		switch {
		case failed[i]:
			d.retries.Failed(uid, d.site.Clock.Now())
		case done[i] && releases(i):
			d.released[uid] = true
			delete(d.retries, uid)
		case done[i]:
			d.unreported++
			d.deleted[uid] = true
			delete(d.retries, uid)
			d.target.Deleted(&subjects[i])
		}
	}
	return err
}

// announce records an event, unless the last one about the object was the same.
func (d *Deletions) announce(subject *Subject, reason, message string) {
	object := d.target.Object(subject)
	if d.reported.New(object.GetUID(), message) {
		d.site.Recorder.Event(object, corev1.EventTypeNormal, reason, message)
	}
}
