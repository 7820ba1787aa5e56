// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
	"time"
)

// action is what a push does about one wanted resource next.
type action int

const (
	// actReport: nothing, the verdict reports why.
	actReport action = iota
	// actWait: nothing, and the Claim is woken when the node in question changes.
	actWait
	// actEvict: something of the same Claim that no client wants has to go first.
	actEvict
	// actWrite: bring it about.
	actWrite
)

// situation is all that decides on the next action about a wanted resource.
type situation struct {
	// key is the resource as messages name it.
	key  string
	mode Mode
	now  time.Time
	know knowledge
	// same: the backend accepted the wanted body last. hashed: it accepted some body. copied: a copy may be there.
	same, hashed, copied, misplaced, busy bool
	drift                                 string
	// winner is the name of the Claim that has the resource, when it is another one.
	winner string
	// retry and trouble are those of the Claim and of the resource, or nil.
	retry, trouble *trouble
	// short is what it needs and does not exist, missing its name.
	short   shortage
	missing string
	// slot reports who is in a slot that it needs.
	slot    slotState
	slotter string
}

// slotState reports who is in a slot that a resource needs.
type slotState int

const (
	// slotOwn: a resource of the same Claim that no client wants. Zero: none.
	slotOwn slotState = iota + 1
	// slotLeaving: a resource of another Claim, which has to go.
	slotLeaving
	// slotTaken: a resource that another Claim, or this one itself, wants.
	slotTaken
)

// decide is what to do next about a wanted resource.
func decide(s situation) (action, verdict) {
	if s.winner != "" {
		return actReport, verdict{state: Failed, reason: ReasonConflict, message: "it belongs to " + s.winner + ": list it in one of them only"}
	}
	if s.know == landed && s.same && !s.copied && !s.misplaced && !s.busy && s.drift == "" {
		return actReport, verdict{state: Synced, reason: ReasonSynced}
	}
	if s.drift != "" && s.same && s.mode == Observe {
		return actReport, verdict{state: Drifted, reason: ReasonDrifted, message: s.drift}
	}
	if s.retry != nil && s.now.Before(s.retry.until) {
		v := s.retry.blocked(s.key, s.now)
		v.state = s.waiting()
		return actReport, v
	}
	if s.trouble != nil && s.now.Before(s.trouble.until) && (!s.trouble.missing || s.short.node != nil) {
		v := s.trouble.verdict
		v.retry = s.trouble.until.Sub(s.now)
		if v.state == Pending {
			v.state = s.waiting()
		}
		return actWait, v
	}
	wait := verdict{state: s.waiting(), reason: ReasonWaiting}
	switch {
	case s.short.node != nil && !s.short.unlisted:
		wait.message, wait.coming = "it waits for "+s.missing, true
		return actWait, wait
	case s.short.node != nil && s.short.wait > 0:
		wait.message, wait.retry = "it waits for "+s.missing+", which no Claim lists", s.short.wait
		return actWait, wait
	case s.busy:
		wait.message, wait.coming = "a call for it is under way", true
		return actWait, wait
	case s.slot == slotOwn:
		return actEvict, wait
	case s.slot == slotLeaving:
		wait.message, wait.coming = "it waits until "+s.slotter+" has been deleted from its place", true
		return actWait, wait
	case s.slot == slotTaken:
		return actWait, verdict{state: Failed, reason: ReasonConflict, message: s.slotter + " is in its place"}
	}
	return actWrite, verdict{}
}

// waiting is the state of a resource that is not tried now. One that may be there, for all that is known, or its copy,
// must not be taken for absent after a restart.
func (s *situation) waiting() State {
	switch {
	case s.drift != "":
		return Drifted
	case (s.know == unknown || s.copied) && !s.hashed:
		return Failed
	default:
		return Pending
	}
}

// plan finds out what a push would do, and writes nothing. What is known to be in sync is not read.
func (p *push) plan(ctx context.Context) error {
	for i := range p.items {
		v, known := p.foresee(&p.items[i])
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
			if n.own != nil {
				p.swept[n] = verdict{state: Deleting, reason: ReasonPlanned, key: n.key.String(), message: "would hand over to " + n.own.name.String()}
			}
		}
	})
	return nil
}

// foresee is the verdict on an item that needs no read.
func (p *push) foresee(it *item) (v verdict, known bool) {
	p.e.with(func(*index) {
		n := it.node
		switch {
		case n == nil && p.deleting:
			v, known = verdict{reason: ReasonSynced, away: true}, true
		case n == nil:
			v, known = it.trouble.verdict, true
		case p.c.gen != p.gen:
			v, known = overtaken(n), true
		case p.deleting && n.own != nil:
			v, known = verdict{reason: ReasonSynced, away: true}, true
		case p.deleting && n.know == landed:
			v, known = verdict{state: Deleting, reason: ReasonPlanned, message: "would delete"}, true
		case p.deleting:
		case n.own != p.c:
			_, v = decide(situation{winner: n.own.name.String()})
			known = true
		case n.know == landed && n.hash == it.want:
			v, known = verdict{state: Synced, reason: ReasonSynced}, true
		}
		if n != nil {
			v.key = n.key.String()
		}
	})
	return v, known
}

// compareOne reads what the backend has of an item, and reports what would be done about it.
func (p *push) compareOne(ctx context.Context, i int) (verdict, error) {
	it := &p.items[i]
	want, err := p.e.b.Resolve(p.wanted[i])
	if err != nil {
		return misunderstood(err).verdict, nil
	}
	have, there, err := p.e.b.Get(ctx, want)
	if ctx.Err() != nil {
		return verdict{}, ctx.Err()
	}
	v := verdict{state: Pending, reason: ReasonPlanned, key: it.node.key.String()}
	switch {
	case ignoreDeleted(err) != nil:
		v.message, v.code, v.reason, v.retry = err.Error(), codeOf(err), ReasonRetrying, jittered(1, retryLast, retryLast)
	case p.deleting && !there:
		return verdict{reason: ReasonSynced, away: true}, nil
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
