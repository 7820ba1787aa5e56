// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// parentState is what a reconciliation knows of a parent.
type parentState int

const (
	parentThere parentState = iota - 1
	// parentElsewhere: it is in no list of this reconciliation. It is the zero state.
	parentElsewhere
	parentAwaited
	parentMissing
)

// walk reads collections from the top down: what is under something that is missing is not requested, and a collection with nothing
// in it that should be there only when its parent was seen to be. What lies under something that no list has comes last, since it
// may need all the rest; and after that what lies under something that could not be read.
func (p *pass) walk(ctx context.Context) {
	waiting := map[backend.Collection]struct{}{}
	for c, entries := range p.listed {
		for _, en := range entries {
			if key := p.above(&en); key != nil {
				p.parents[*key] = parentElsewhere
			}
			if en.check {
				waiting[c] = struct{}{}
			}
		}
	}
	p.awaitParents()
	wave := p.e.b.Roots()
	for turn := parentThere; turn <= parentAwaited && ctx.Err() == nil; {
		for c := range waiting {
			switch state := p.parents[parentOf(c)]; {
			case state == parentMissing:
				p.skip(p.listed[c])
				delete(waiting, c)
			case state <= turn:
				wave = append(wave, c)
				delete(waiting, c)
			}
		}
		wave = p.fresh(wave)
		if len(wave) == 0 {
			turn++
			continue
		}
		turn = parentThere
		p.found = nil
		p.each(ctx, len(wave), func(i int) { p.readList(ctx, wave[i]) })
		wave = p.found
	}
}

// awaitParents keeps, of all entries, those that collections lie under.
func (p *pass) awaitParents() {
	keep := map[backend.Key]parentState{}
	for c := range p.listed {
		if _, ok := p.parents[parentOf(c)]; ok {
			keep[parentOf(c)] = parentAwaited
		}
	}
	p.parents = keep
}

// parentOf is the key of what a collection lies under.
func parentOf(c backend.Collection) backend.Key {
	return backend.Key{Kind: c.ParentKind, ID: c.Parent}
}

// fresh are those of the collections that were not read yet. They are noted as read.
func (p *pass) fresh(collections []backend.Collection) []backend.Collection {
	var out []backend.Collection
	for _, c := range collections {
		if _, ok := p.visited[c]; !ok {
			p.visited[c] = struct{}{}
			out = append(out, c)
		}
	}
	return out
}

// noteParents enters which of the parents among the entries of a list are there and which are missing.
func (p *pass) noteParents(list []backend.Observed, entries []entry) {
	for _, en := range entries {
		key := p.above(&en)
		if key == nil {
			continue
		}
		if _, ok := p.parents[*key]; ok {
			p.parents[*key] = parentMissing
		}
	}
	for i := range list {
		if _, ok := p.parents[list[i].Key]; ok {
			p.parents[list[i].Key] = parentThere
		}
	}
}

// skip enters that all of a collection is missing, for what it lies under is.
func (p *pass) skip(entries []entry) {
	var findings []finding
	for _, en := range entries {
		if en.check {
			findings = append(findings, missingFrom(en))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteParents(nil, entries)
	p.e.enter(findings, &p.report)
}
