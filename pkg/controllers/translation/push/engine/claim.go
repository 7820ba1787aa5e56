// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// Claim is an ordered list of desired resources with the state that was last reported for them.
type Claim struct {
	// Name is unique among all Claims.
	Name types.NamespacedName
	// UID distinguishes the Claim from an earlier one with the same name.
	UID types.UID
	// Created decides which Claim wins a resource that two Claims list: the older one.
	Created time.Time
	// Owner is equal for all Claims of one object. Empty means unknown: such a Claim shares its owner with no other Claim.
	Owner string
	// Current reports whether the Claim has the version that is currently written. If two Claims of one owner list a resource, the
	// current one wins it, regardless of age.
	Current bool
	// Deleting reports whether the Claim is being deleted: nothing is desired any more.
	Deleting bool
	// Items are the desired resources.
	Items Items
	// Pushed is the last reported state of each resource.
	Pushed []Pushed
}

// Items returns the desired resources of a Claim, each behind its dependencies. It returns the same ones on every call, from any
// goroutine. The engine calls it when it pushes the Claim and does not store the result, so that the caller can store the items in
// a compact form. List must not call the engine, which may be locked.
type Items interface {
	List() []backend.Item
}

// Listed are Items that are stored unpacked.
type Listed []backend.Item

// List implements Items.
func (l Listed) List() []backend.Item { return l }

// State is the state of a resource in the backend relative to the desired one.
type State string

// The states.
const (
	Pending       State = "Pending"
	Synced        State = "Synced"
	Drifted       State = "Drifted"
	Failed        State = "Failed"
	Deleting      State = "Deleting"
	NotApplicable State = "NotApplicable"
)

// Pushed is the state of one resource of a Claim.
type Pushed struct {
	// Kind, Parent and ID identify the resource; a backend derives its Ref from them.
	Kind, Parent, ID string
	State            State
	// Hash is the hash of the body that the backend accepted last, together with the parent; empty if none is known.
	Hash string
	// Code is the status code of the backend's last response that was an error; 0 if there was none.
	Code int
	// Message explains why the resource is not in sync.
	Message string
}

// Reason is the reason why a Claim is not in sync, in the form of a condition reason.
type Reason string

// The reasons.
const (
	// ReasonSynced means that the backend has all resources of the Claim.
	ReasonSynced Reason = "Synced"
	// ReasonWaiting means that a resource of another Claim does not exist yet, or has to be deleted first.
	ReasonWaiting Reason = "Waiting"
	// ReasonRetrying means that the backend did not respond or was busy; the push is retried automatically.
	ReasonRetrying Reason = "Retrying"
	// ReasonDrifted means that another client changed the backend, and that the mode does not allow repairs.
	ReasonDrifted Reason = "Drifted"
	// ReasonPlanned means that the mode does not allow writes.
	ReasonPlanned Reason = "Planned"
	// ReasonConflict means that another Claim has won a resource, or occupies a slot that only one resource can have. The Claim
	// stalls.
	ReasonConflict Reason = "Conflict"
	// ReasonRefused means that the backend rejects a resource. The Claim stalls.
	ReasonRefused Reason = "Refused"
	// ReasonUnknownKind means that the backend has no resources of a kind. The Claim stalls.
	ReasonUnknownKind Reason = "UnknownKind"
	// ReasonInvalid means that an item cannot be parsed. The Claim stalls.
	ReasonInvalid Reason = "Invalid"
)

// Outcome is the result of one push of a Claim.
type Outcome struct {
	// Pushed is the new state of each desired resource, in the order of the Claim, followed by the resources that are no longer
	// desired and not known to have been deleted.
	Pushed []Pushed
	// Reason is ReasonSynced, or the most severe reason of all resources. Message is written for users and names the resources.
	Reason  Reason
	Message string
	// Stalled reports whether a user must act: a retry would fail as well.
	Stalled bool
	// Wrote reports whether the push wrote to the backend.
	Wrote bool
	// Deleted reports whether a Claim that is Deleting has no resources left in the backend, except those that belong to another
	// Claim.
	Deleted bool
	// Settling reports whether everything that is missing is expected shortly, for instance a resource of another Claim that is
	// being pushed. The caller need not report the state before RetryAfter.
	Settling bool
	// RetryAfter is the time until the next push if nothing wakes the Claim before; 0 if none is necessary.
	RetryAfter time.Duration
}

// reading is a parsed item, or the reason why it cannot be parsed.
type reading struct {
	backend.Resource
	digest  digest
	slots   []slot
	in      backend.Collection
	listed  bool
	trouble *trouble
}

// collection returns the collection that contains the resource, or zero if none does.
func (r *reading) collection() unique.Handle[backend.Collection] {
	if !r.listed {
		return unique.Handle[backend.Collection]{}
	}
	return unique.Make(r.in)
}

// report is the reported state of a resource, with its location.
type report struct {
	backend.Ref
	Pushed
}

// read parses items. Of their bodies it stores only the digests.
func (e *Engine) read(items []backend.Item) []reading {
	readings := make([]reading, len(items))
	seen := make(map[backend.Key]struct{}, len(items))
	for i, item := range items {
		r := &readings[i]
		var err error
		if r.Resource, err = e.b.Resolve(item); err != nil {
			r.trouble = misunderstood(err)
			continue
		}
		if _, twice := seen[r.Key]; twice {
			r.trouble = &trouble{verdict: verdict{state: Failed, reason: ReasonInvalid, key: r.String(), message: "it is listed twice: remove one"}}
			continue
		}
		seen[r.Key] = struct{}{}
		r.in, r.listed = e.b.Collection(r.Resource)
		r.digest, r.slots = digestOf(r.Body, r.Parent), slotsOf(r.Slots)
		r.Body, r.Slots = nil, nil
	}
	return readings
}

// misunderstood returns the failure of an item that the backend cannot parse.
func misunderstood(err error) *trouble {
	if errors.Is(err, backend.ErrUnknownKind) {
		return &trouble{verdict: verdict{state: NotApplicable, reason: ReasonUnknownKind, message: err.Error()}}
	}
	return &trouble{verdict: verdict{state: Failed, reason: ReasonInvalid, message: err.Error()}}
}

// locate finds the location of each reported resource. Resources that the backend cannot have are omitted, because they were never
// pushed, and so are duplicates.
func (e *Engine) locate(pushed []Pushed) []report {
	reports := make([]report, 0, len(pushed))
	seen := make(map[backend.Key]struct{}, len(pushed))
	for _, p := range pushed {
		ref, err := e.b.Locate(p.Kind, p.Parent, p.ID)
		if err != nil || p.State == NotApplicable {
			continue
		}
		if _, twice := seen[ref.Key]; twice {
			continue
		}
		seen[ref.Key] = struct{}{}
		reports = append(reports, report{Ref: ref, Pushed: p})
	}
	return reports
}
