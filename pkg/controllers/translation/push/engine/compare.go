// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// finding is what a drift pass found out about a resource.
type finding struct {
	entry
	kind findingKind
	// at is its place in the list of its collection, -1 when it does not exist.
	at int
	// message reports how the backend has it otherwise.
	message string
}

type findingKind int

const (
	asWanted findingKind = iota
	isMissing
	isDifferent
	isMisplaced
	// isDoubled: a copy of it was left.
	isDoubled
)

// missingFrom is the finding that nothing is there.
func missingFrom(en entry) finding {
	return finding{entry: en, kind: isMissing, message: "it was deleted in the backend"}
}

// differing is the finding about a resource that is there.
func differing(b backend.Backend, en entry, want backend.Resource, have backend.Observed) finding {
	fields := b.Differences(want, have)
	if have.Parent != want.Parent {
		fields = append(fields, "parent")
	}
	if len(fields) == 0 {
		return finding{entry: en, kind: asWanted}
	}
	return finding{entry: en, kind: isDifferent, message: "it was changed in the backend: " + strings.Join(fields, ", ")}
}

// compare holds the entries of a collection against its list. Strangers are those of the list that are neither an
// entry nor the copy of one.
func compare(b backend.Backend, entries []entry, list []backend.Observed) (findings []finding, strangers []backend.Observed) {
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
			continue // it is there, and that is all that is known
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

// markMisplaced finds, among those that are as wanted otherwise, the ordered ones that do not stand in the order of
// their Claim.
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

// enter takes over findings, as far as nothing happened to the resources since the reconciliation began, and counts them.
func (e *Engine) enter(findings []finding, r *Report) {
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

// current reports whether nothing has happened to the resource of a finding since the reconciliation began.
func (x *index) current(f *finding) bool {
	n := f.n
	return x.nodes[n.key] == n && !n.busy && n.seq == f.seq && n.own == f.c
}

// repair marks what the next push has to repair, and reports whether there is anything.
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
	x.wake(n.own)
	return true
}

// note enters what is only reported. What a Claim wanted last is kept: the report ends when it wants something else.
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
	x.wake(n.own)
	if before != landed && know == landed {
		x.wakeWaiters(n)
	}
}
