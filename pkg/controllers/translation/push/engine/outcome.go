// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

func (p *push) finish() Outcome {
	var o Outcome
	var took time.Duration
	p.e.with(func(x *index) {
		c := p.c
		all := slices.Clone(p.verdicts)
		var pushed []Pushed
		for i := range p.items {
			if v := p.verdicts[i]; !v.deleted {
				pushed = append(pushed, p.reportOf(&p.items[i], p.wanted[i], v))
			}
		}
		for i := range c.tail {
			it := &c.tail[i]
			v, ok := p.swept[it.node]
			if !ok {
				v = verdict{state: Deleting, reason: ReasonWaiting, key: it.node.key.String(), message: "it is deleted later",
					coming: true, retry: recheck}
			}
			all = append(all, v)
			pushed = append(pushed, p.reportOf(it, backend.Item{}, v))
		}
		o = summarize(all, x.now.Sub(c.seen.time()))
		o.Pushed, o.Wrote = pushed, p.wrote
		if c.gen != p.gen {
			o.Settling, o.RetryAfter = true, recheck
			return
		}
		o.Deleted = p.deleting && len(pushed) == 0
		x.count(c, tallyOf(pushed))
		if len(c.tail) == 0 && !p.deleting {
			c.blocked = 0
		}
		if o.Reason == ReasonSynced && !p.deleting && !c.synced {
			c.synced = true
			if c.wrote {
				took = max(x.now.Sub(c.seen.time()), 1)
			}
		}
	})
	if took > 0 && p.e.o.Pushed != nil {
		p.e.o.Pushed(took)
	}
	return o
}

func (p *push) reportOf(it *item, wanted backend.Item, v verdict) Pushed {
	out := Pushed{Kind: wanted.Kind, Parent: wanted.Parent, State: v.state, Code: v.code}
	if v.state != Synced {
		out.Message = v.message
	}
	if n := it.node; n != nil {
		out.Kind, out.Parent, out.ID = n.key.Kind, it.parent, n.key.ID
		if n.winner == p.c || n.winner == nil {
			out.Hash = n.hash.String()
		}
		if out.Hash != "" {
			out.Parent = n.parent
		}
	}
	return out
}

// namedResources is the number of resources that the message of an Outcome names.
const namedResources = 3

// verdict is the result of one push for one resource.
type verdict struct {
	state  State
	reason Reason
	// key names the resource in the Outcome's message; empty if the message names it itself.
	key     string
	code    int
	message string
	// retry is the time until the next push; 0 if a change wakes the Claim, or no push is necessary.
	retry time.Duration
	// coming: the resource waits only for resources that other live Claims list.
	coming bool
	// deleted: nothing is left of the resource.
	deleted bool
}

// gravity orders the reasons by severity: the Outcome has the most severe one.
func gravity(r Reason) int {
	return slices.Index([]Reason{ReasonSynced, ReasonPlanned, ReasonWaiting, ReasonDrifted, ReasonRetrying,
		ReasonRefused, ReasonConflict, ReasonUnknownKind, ReasonInvalid}, r)
}

// summarize combines verdicts into an Outcome, except for Pushed and Deleted. Age is the time since the first push of the Claim's
// content.
func summarize(verdicts []verdict, age time.Duration) Outcome {
	o := Outcome{Reason: ReasonSynced}
	coming, all := false, true // all that is missing waits only for other Claims
	for _, v := range verdicts {
		if gravity(v.reason) > gravity(o.Reason) {
			o.Reason = v.reason
		}
		o.Stalled = o.Stalled || gravity(v.reason) >= gravity(ReasonRefused)
		if v.retry > 0 && (o.RetryAfter == 0 || v.retry < o.RetryAfter) {
			o.RetryAfter = v.retry
		}
		coming = coming || v.coming
		all = all && (v.coming || v.reason == ReasonSynced)
	}
	o.Message = messageFor(verdicts, o.Reason)
	if o.Reason == ReasonWaiting && coming && all && age < settleTime {
		o.Settling = true
		if rest := settleTime - age; o.RetryAfter == 0 || rest < o.RetryAfter {
			o.RetryAfter = rest
		}
	}
	return o
}

// messageFor returns the messages of the first resources with a reason.
func messageFor(verdicts []verdict, reason Reason) string {
	if reason == ReasonSynced {
		return ""
	}
	var parts []string
	more := 0
	for _, v := range verdicts {
		switch {
		case v.reason != reason:
		case len(parts) == namedResources:
			more++
		case v.key == "":
			parts = append(parts, v.message)
		default:
			parts = append(parts, v.key+": "+v.message)
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// tally is the number of resources in each state, indexed by stateNumber.
type tally [6]int32

// states are in the order of a tally.
func states() []State { return []State{Pending, Synced, Drifted, Failed, Deleting, NotApplicable} }

// stateNumber returns the index of a state in a tally. Unknown states count as Pending.
func stateNumber(s State) int { return max(0, slices.Index(states(), s)) }

// byState returns the tally by state, including states without resources.
func (t tally) byState() map[State]int {
	counts := make(map[State]int, len(t))
	for i, s := range states() {
		counts[s] = int(t[i])
	}
	return counts
}

// tallyOf counts the reported resources of a Claim.
func tallyOf(pushed []Pushed) tally {
	var t tally
	for _, p := range pushed {
		t[stateNumber(p.State)]++
	}
	return t
}

// count replaces the part of the counts that is due to c.
func (x *index) count(c *claim, t tally) {
	for i := range t {
		x.counts[i] += t[i] - c.counted[i]
	}
	c.counted = t
}
