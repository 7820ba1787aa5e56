// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
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
