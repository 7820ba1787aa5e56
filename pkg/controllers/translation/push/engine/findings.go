// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

// enter takes over findings, as far as nothing happened to the resources since the reconciliation began, and counts them.
func (e *Engine) enter(findings []finding, r *Report) {
	e.with(func(x *index) {
		for i := range findings {
			f := &findings[i]
			if f.n = x.found(f); f.n == nil {
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

// found is the node that a finding is about; nil when something happened to it since the reconciliation began, and when it is as
// wanted and its Claim at rest, which need not be loaded for that.
func (x *index) found(f *finding) *node {
	n, c := f.n, f.c
	if n == nil || x.nodes.get(n.key) != n {
		// The Claim was at rest then, or was since.
		if x.claims[c.name] != c || c.gen != f.gen {
			return nil
		}
		if c.work == nil {
			if c.seq != f.seq {
				return nil
			}
			if f.kind == asWanted {
				c.see(int(f.place))
				return nil
			}
			x.load(c)
		}
		n = c.items[f.place].node
	}
	if n == nil || n.busy || n.seq != f.seq || n.own != c {
		return nil
	}
	return n
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
