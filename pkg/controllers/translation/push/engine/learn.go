// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

// fact is what one or several calls reported about a resource.
type fact struct {
	know              knowledge
	hash              digest
	parent            string
	copied, misplaced bool
	// lost: it went, and the backend may have deleted or cleared what needs it.
	lost bool
	// seq is that of the node when the calls began, by the Claim that they were made for, nil if for none.
	seq uint32
	by  *claim
}

// learn enters a fact about a node that was busy. Where something happened meanwhile that the calls may not have seen,
// it has to be verified.
func (x *index) learn(n *node, f fact) {
	before := n.know
	overtaken := n.seq != f.seq
	n.busy = false
	n.seq++
	n.know, n.hash, n.copied, n.misplaced = f.know, f.hash, f.copied, f.misplaced
	n.proven = n.proven || f.know != absent
	if f.know == landed || f.know == unknown {
		n.lies(f.parent)
	}
	if f.know == landed || f.know == deleted {
		n.setDrift("")
	}
	if overtaken && n.know == landed {
		n.know = unknown
		x.wakeAll(n)
	}
	if f.lost {
		x.invalidate(n)
	}
	switch {
	case n.know == absent || n.know == deleted:
		n.hash, n.parent, n.misplaced = digest{}, "", false
		x.release(n)
		x.wakeWaiters(n)
	case n.know == landed && before != landed:
		x.wakeWaiters(n)
	}
	for c := range n.refs.all() {
		if c != f.by {
			x.wake(c)
		}
	}
	x.drop(n)
}
