// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// finding is the result of a drift check of one resource.
type finding struct {
	entry
	kind findingKind
	// at is the index of the resource in the list of its collection, or -1 if it does not exist.
	at int
	// message describes how the resource differs from the desired one.
	message string
}

type findingKind int

const (
	asWanted findingKind = iota
	isMissing
	isDifferent
	isMisplaced
	// isDoubled means that a copy of the resource was left.
	isDoubled
)

// missingFrom returns the finding that a resource does not exist.
func missingFrom(en entry) finding {
	return finding{entry: en, kind: isMissing, message: "it was deleted in the backend"}
}

// differing returns the finding for a resource that exists.
func differing(b Backend, en entry, want backend.Resource, have backend.Observed) finding {
	fields := b.Differences(want, have)
	if have.Parent != want.Parent {
		fields = append(fields, "parent")
	}
	if len(fields) == 0 {
		return finding{entry: en, kind: asWanted}
	}
	return finding{entry: en, kind: isDifferent, message: "it was changed in the backend: " + strings.Join(fields, ", ")}
}

// compare compares the entries of a collection with its list. Strangers are the elements of the list that are neither an entry nor
// the copy of one.
func compare(b Backend, entries []entry, list []backend.Observed) (findings []finding, strangers []backend.Observed) {
	at := make(map[backend.Key]int, len(list))
	for i := range list {
		at[list[i].Key] = i
	}
	known := make(map[backend.Key]struct{}, len(entries))
	var wanted lister
	for _, en := range entries {
		want, err := b.Resolve(wanted.item(&en))
		if err != nil {
			continue
		}
		want.Claim = en.c.name
		known[want.Key] = struct{}{}
		doubled := false
		if want.Doubles {
			key := b.Copy(want).Key
			known[key] = struct{}{}
			_, doubled = at[key]
		}
		if !en.check {
			continue
		}
		i, there := at[want.Key]
		if there && list[i].Invalid != nil {
			continue // it exists, but its content is unknown
		}
		var f finding
		switch {
		case doubled:
			f = finding{entry: en, kind: isDoubled, message: "a copy of it was left in the backend"}
		case !there:
			f = missingFrom(en)
		default:
			f = differing(b, en, want, list[i])
		}
		if f.at = i; !there {
			f.at = -1
		}
		findings = append(findings, f)
	}
	markMisplaced(findings)
	for i := range list {
		if _, ok := known[list[i].Key]; !ok && !list[i].Foreign {
			strangers = append(strangers, list[i])
		}
	}
	return findings, strangers
}

// markMisplaced finds the ordered resources that are in sync otherwise but are not in the order of their Claim.
func markMisplaced(findings []finding) {
	for start := 0; start < len(findings); {
		end := start + 1
		for end < len(findings) && findings[end].c == findings[start].c {
			end++
		}
		var present []int
		for i := start; i < end; i++ {
			if findings[i].at >= 0 && findings[i].ordered {
				present = append(present, i)
			}
		}
		slices.SortFunc(present, func(i, j int) int { return cmp.Compare(findings[i].at, findings[j].at) })
		places := make([]int, len(present))
		for k, i := range present {
			places[k] = -int(findings[i].place)
		}
		for _, k := range misplacedIn(places) {
			if f := &findings[present[k]]; f.kind == asWanted {
				f.kind, f.message = isMisplaced, "it was moved among its siblings in the backend"
			}
		}
		start = end
	}
}

// enter records the findings for resources that did not change since the drift check began, and counts them.
func (e *Engine) enter(findings []finding, r *Report) {
	r.Compared += len(findings)
	e.with(func(x *index) {
		for i := range findings {
			f := &findings[i]
			if !x.current(f) {
				continue
			}
			if f.kind != asWanted {
				r.Drifted++
			}
			switch e.o.Mode {
			case Repair:
				if x.repair(f) {
					r.Repaired++
				}
			case Observe:
				x.note(f)
			case Plan:
			}
		}
	})
}

// current reports whether the resource did not change since the drift check began.
func (x *index) current(f *finding) bool {
	n := f.n
	return x.nodes[n.key] == n && !n.busy && n.seq == f.seq && n.winner == f.c
}

// repair marks what the next push has to repair, and reports whether there is anything to repair.
func (x *index) repair(f *finding) bool {
	n := f.n
	n.proven = true
	if f.kind == asWanted {
		return false
	}
	n.seq++
	n.setDrift(f.message)
	switch f.kind {
	case isMissing:
		n.know, n.hash, n.misplaced = deleted, digest{}, false
		x.release(n)
		x.invalidate(n)
	case isMisplaced:
		n.misplaced = true
	case isDoubled:
		n.know, n.copied = unknown, true
	default:
		n.know = unknown
	}
	x.wake(n.winner)
	return true
}

// note records a difference that is only reported. The hash remains that of the body that was desired, so the report ends when the
// Claim changes.
func (x *index) note(f *finding) {
	n := f.n
	know := landed
	if f.kind == isMissing {
		know = deleted
	}
	n.proven = true
	if n.know == know && n.drift() == f.message {
		return
	}
	before := n.know
	n.know = know
	n.seq++
	n.setDrift(f.message)
	x.wake(n.winner)
	if before != landed && know == landed {
		x.wakeWaiters(n)
	}
}

// plan determines the result of a push without writes. Resources that are known to be in sync are not read.
func (p *push) plan(ctx context.Context) error {
	for i := range p.items {
		v, known := p.predict(&p.items[i])
		if !known {
			var err error
			if v, err = p.compareOne(ctx, i); err != nil {
				return err
			}
		}
		p.verdicts[i] = v
	}
	p.e.with(func(x *index) {
		for i := range p.c.tail {
			n := p.c.tail[i].node
			p.swept[n] = verdict{state: Deleting, reason: ReasonPlanned, key: n.key.String(), message: "would delete"}
			if n.winner != nil {
				p.swept[n] = verdict{state: Deleting, reason: ReasonPlanned, key: n.key.String(),
					message: "would hand over to " + n.winner.name.String()}
			}
		}
	})
	return nil
}

// compareOne reads a resource from the backend and returns the verdict: what a push would do.
func (p *push) compareOne(ctx context.Context, i int) (verdict, error) {
	it := &p.items[i]
	want, err := p.e.b.Resolve(p.wanted[i])
	if err != nil {
		return misunderstood(err).verdict, nil
	}
	want.Claim = p.c.name
	have, there, err := p.e.b.Get(ctx, want)
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	v := verdict{state: Pending, reason: ReasonPlanned, key: it.node.key.String()}
	switch {
	case ignoreDeleted(err) != nil:
		v.message, v.code, v.reason, v.retry = err.Error(), codeOf(err), ReasonRetrying, jittered(1, retryLast, retryLast)
	case p.deleting && !there:
		return verdict{reason: ReasonSynced, deleted: true}, nil
	case p.deleting:
		v.state, v.message = Deleting, "would delete"
	case !there:
		v.message = "would create"
	case have.Parent != want.Parent:
		v.message = "would move from " + have.Parent
	default:
		fields := p.e.b.Differences(want, have)
		switch {
		case len(fields) == 0:
			v.message = "would adopt"
		case want.Updatable:
			v.message = "would update: fields " + strings.Join(fields, ", ")
		default:
			v.message = "would replace: fields " + strings.Join(fields, ", ")
		}
	}
	return v, nil
}
