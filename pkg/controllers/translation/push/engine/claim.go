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

// Claim is an ordered list of wanted resources, and what is known of them from before.
type Claim struct {
	// Name is unique among the Claims that there are.
	Name types.NamespacedName
	// UID notifies it from another one that had the name before.
	UID types.UID
	// Created decides who owns a resource that two Claims want: the older one.
	Created time.Time
	// Owner is equal for the Claims of one object. Empty means unknown: the Claim shares its owner with no other one.
	Owner string
	// Current reports that the Claim has the version that is written now. Of two Claims of one owner that want a resource the
	// current one has it, whatever their age.
	Current bool
	// Deleting reports that nothing is wanted any more.
	Deleting bool
	// Items are the wanted resources.
	Items Items
	// Pushed is what was reported of the Claim last.
	Pushed []Pushed
}

// Items give the wanted resources of a Claim, each behind those it needs: the same ones whenever they are requested, from any
// goroutine. The engine requests them when it has something to do for the Claim and does not keep them, so that they can be kept in
// a form that is small. List must not call the engine, which may be locked.
type Items interface {
	List() []backend.Item
}

// Listed are Items that are kept unchanged.
type Listed []backend.Item

// List implements Items.
func (l Listed) List() []backend.Item { return l }

// State reports how one resource in the backend relates to the one that is wanted.
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
	// Kind, Parent and ID name the resource; Ref of a backend can be had of them.
	Kind, Parent, ID string
	State            State
	// Hash is that of the body that the backend accepted last, and of the parent; empty: none is known.
	Hash string
	// Code is the status code of the backend's last response that was not a success; 0 when there is none.
	Code int
	// Message reports why the resource is not in sync.
	Message string
}

// Reason reports why a Claim is not in sync, or why it needs a user. It is a word for a condition.
type Reason string

// The reasons.
const (
	// ReasonSynced: the backend has everything.
	ReasonSynced Reason = "Synced"
	// ReasonWaiting: a resource that another Claim has to bring does not exist yet, or one has to go first.
	ReasonWaiting Reason = "Waiting"
	// ReasonRetrying: the backend did not respond or was busy; it is tried again automatically.
	ReasonRetrying Reason = "Retrying"
	// ReasonDrifted: another client changed the backend, and the mode is not to repair it.
	ReasonDrifted Reason = "Drifted"
	// ReasonPlanned: the mode is to write nothing.
	ReasonPlanned Reason = "Planned"
	// ReasonConflict: another Claim has a resource, or something that only one can have. It stalls.
	ReasonConflict Reason = "Conflict"
	// ReasonRefused: the backend does not take a resource. It stalls.
	ReasonRefused Reason = "Refused"
	// ReasonUnknownKind: the backend has no resources of a kind. It stalls.
	ReasonUnknownKind Reason = "UnknownKind"
	// ReasonInvalid: an item cannot be understood. It stalls.
	ReasonInvalid Reason = "Invalid"
)

// Outcome is what came of one push of a Claim.
type Outcome struct {
	// Pushed is the new state of each wanted resource, in the order of the Claim, and behind them of each that is no longer wanted
	// and not known to have been deleted.
	Pushed []Pushed
	// Reason is ReasonSynced, or the gravest one why it is not. Message is for users and names the resources.
	Reason  Reason
	Message string
	// Stalled reports that a user must act: trying again soon makes no sense.
	Stalled bool
	// Wrote reports that something was written by this push.
	Wrote bool
	// Deleted reports that nothing of a Claim that is Deleting is left in the backend, except what belongs to another Claim.
	Deleted bool
	// Settling reports that what is missing is expected in a moment (a resource in progress for another Claim): there is no need to
	// report yet, RetryAfter is when there is.
	Settling bool
	// RetryAfter is when to push again if nothing wakes the Claim before; 0: there is no need.
	RetryAfter time.Duration
}

// reading is an item, understood, or why it cannot be.
type reading struct {
	backend.Resource
	digest  digest
	slots   []slot
	in      backend.Collection
	listed  bool
	trouble *trouble
}

// collection is the collection that has it, zero if none has.
func (r *reading) collection() unique.Handle[backend.Collection] {
	if !r.listed {
		return unique.Handle[backend.Collection]{}
	}
	return unique.Make(r.in)
}

// report is what was reported of a resource, and where that is.
type report struct {
	backend.Ref
	Pushed
}

// read understands items. It keeps nothing of their bodies but what notifies them from others.
func (e *Engine) read(items []backend.Item) []reading {
	readings := e.resolve(items)
	for i := range readings {
		if r := &readings[i]; r.trouble == nil {
			r.digest, r.slots = digestOf(r.Body, r.Parent), slotsOf(r.Slots)
			r.Body, r.Slots = nil, nil
		}
	}
	return readings
}

// resolve understands items as far as to report where they are.
func (e *Engine) resolve(items []backend.Item) []reading {
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
	}
	return readings
}

// misunderstood is the trouble with an item that the backend does not understand.
func misunderstood(err error) *trouble {
	if errors.Is(err, backend.ErrUnknownKind) {
		return &trouble{verdict: verdict{state: NotApplicable, reason: ReasonUnknownKind, message: err.Error()}}
	}
	return &trouble{verdict: verdict{state: Failed, reason: ReasonInvalid, message: err.Error()}}
}

// locate finds what was reported. Where the backend cannot have it, it never was pushed. A resource counts once.
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
