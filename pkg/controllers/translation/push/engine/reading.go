// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

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
