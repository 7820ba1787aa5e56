// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Target is what one of the two controllers deletes of a stale volume: its claim, or itself.
type Target struct {
	// Noun is what people call it: claim or volume.
	Noun string
	// Object returns it, and Decision what was decided about it.
	Object   func(*Subject) client.Object
	Decision func(*Subject) Decision
	// Announcement begins the message of the event that precedes its deletion; the reason follows.
	Announcement func(*Subject) string
	// Before is called before its deletion, Deleted or Failed after it. Before and Failed are called in parallel.
	Before, Deleted, Failed func(*Subject)
}

// Deletions deletes what is due, and remembers what it deleted and what it told. It is for one goroutine.
type Deletions struct {
	site   *Site
	target Target
	// deleted are the objects that were deleted and are not gone yet.
	deleted map[types.UID]bool
	// told is what was last told of objects that stay, or go now.
	told Told
	// unreported is how many were deleted and not logged yet.
	unreported int
}

// NewDeletions returns the deletions of one kind of target.
func (s *Site) NewDeletions(target Target) *Deletions {
	return &Deletions{site: s, target: target, deleted: map[types.UID]bool{}, told: Told{}}
}

// Has says whether an object was deleted and is not gone yet.
func (d *Deletions) Has(uid types.UID) bool { return d.deleted[uid] }

// Skip tells an object why it stays, once.
func (d *Deletions) Skip(subject *Subject, why string) {
	d.tell(subject, EventSkipped, fmt.Sprintf("%s, but the %s is kept: %s.", GoneSentence(subject.Nodes), d.target.Noun, why))
}

// Keep forgets all objects but those.
func (d *Deletions) Keep(uids map[types.UID]bool) {
	for uid := range d.deleted {
		if !uids[uid] {
			delete(d.deleted, uid)
		}
	}
	d.told.Keep(uids)
}

// Act deletes the objects whose time has come, if anything may be deleted.
func (d *Deletions) Act(ctx context.Context, subjects []Subject) error {
	permit, allowed, err := d.site.Clear(ctx, subjects, func(s *Subject) bool {
		return d.target.Decision(s).Action == Delete && !d.deleted[d.target.Object(s).GetUID()]
	})
	if len(allowed) == 0 && d.unreported > 0 { // once for all batches in a row
		log.FromContext(ctx).Info("Deleted "+d.target.Noun+"s of missing nodes", d.target.Noun+"s", d.unreported)
		d.unreported = 0
	}
	if err != nil || len(allowed) == 0 {
		return err
	}
	if d.site.DryRun() {
		d.pretend(ctx, allowed)
		return nil
	}
	return d.delete(ctx, permit, allowed)
}

// pretend tells what would be deleted, once.
func (d *Deletions) pretend(ctx context.Context, subjects []Subject) {
	count := 0
	for i := range subjects {
		if d.tell(&subjects[i], EventSkipped, fmt.Sprintf("Dry run: this %s would be deleted, because %s.", d.target.Noun, Gone(subjects[i].Nodes))) {
			count++
		}
	}
	if count > 0 {
		log.FromContext(ctx).Info("Dry run: "+d.target.Noun+"s would be deleted", d.target.Noun+"s", count)
	}
}

// delete deletes objects, several at once, after their events.
func (d *Deletions) delete(ctx context.Context, permit *Permit, subjects []Subject) error {
	for i := range subjects {
		d.tell(&subjects[i], EventDeleting, fmt.Sprintf("%s, because %s.", d.target.Announcement(&subjects[i]), Gone(subjects[i].Nodes)))
	}
	done := make([]bool, len(subjects))
	err := d.site.Each(len(subjects), func(i int) (err error) {
		if !permit.Allows(subjects[i].Stale) {
			return nil // a node came back meanwhile
		}
		d.target.Before(&subjects[i])
		object := d.target.Object(&subjects[i])
		if done[i], err = d.site.DeleteExactly(ctx, object); err != nil {
			d.target.Failed(&subjects[i])
			return fmt.Errorf("delete %s %s: %w", kindOf(object), strings.TrimPrefix(client.ObjectKeyFromObject(object).String(), "/"), err)
		}
		return nil
	})
	for i := range subjects {
		if done[i] {
			d.unreported++
			d.deleted[d.target.Object(&subjects[i]).GetUID()] = true
			d.target.Deleted(&subjects[i])
		}
	}
	return err
}

// tell records an event, unless the last one about the object said the same.
func (d *Deletions) tell(subject *Subject, reason, message string) bool {
	object := d.target.Object(subject)
	if !d.told.New(object.GetUID(), message) {
		return false
	}
	d.site.Recorder.Event(object, corev1.EventTypeNormal, reason, message)
	return true
}
