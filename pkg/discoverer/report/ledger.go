// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package report reports failures to users: in status.errors of the DiscoveryBackend.
package report

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// maxMessage is how long a message may be. Longer ones are cut.
const maxMessage = 512

// Problem is something that fails. Two problems of one type and message are one.
type Problem struct {
	// Type is one of the Error constants of gimbal/v1.
	Type string
	// Message states the problem, the object and the remedy. It contains no values that change constantly, such as ages.
	Message string
}

// Entry is a Problem with the time when it was last seen, to the second. While it lasts, that is noted once a minute.
type Entry struct {
	Problem
	Seen time.Time
}

// Ledger has the problems of now, each under what has it.
type Ledger struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	subjects map[string][]Entry
	changed  chan struct{}
}

// NewLedger returns a Ledger without problems.
func NewLedger(clock clock.PassiveClock) *Ledger {
	return &Ledger{clock: clock, subjects: map[string][]Entry{}, changed: make(chan struct{}, 1)}
}

// Set records the problems of a subject, which may be none. It returns the new ones.
func (l *Ledger) Set(subject string, problems ...Problem) []Problem {
	now := l.clock.Now().Truncate(time.Second)
	l.mu.Lock()
	before := l.subjects[subject]
	var entries []Entry
	var news []Problem
	for _, problem := range problems {
		problem.Message = kit.Bounded(problem.Message, maxMessage)
		entry := Entry{Problem: problem, Seen: now}
		i := slices.IndexFunc(before, func(entry Entry) bool { return entry.Problem == problem })
		switch {
		case i < 0:
			news = append(news, problem)
		case now.Sub(before[i].Seen) < time.Minute:
			entry.Seen = before[i].Seen
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		delete(l.subjects, subject)
	} else {
		l.subjects[subject] = entries
	}
	same := slices.Equal(before, entries)
	l.mu.Unlock()
	if !same {
		l.Poke()
	}
	return news
}

// Changed is sent to after changes.
func (l *Ledger) Changed() <-chan struct{} { return l.changed }

// Poke has what is reported checked soon.
func (l *Ledger) Poke() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// severity orders the types: what is wrong with the whole backend comes first.
func severity(kind string) int {
	order := []string{
		gimbalv1.ErrorAuthentication, gimbalv1.ErrorAnotherCluster, gimbalv1.ErrorConnection, gimbalv1.ErrorRateLimited,
		gimbalv1.ErrorConflict, gimbalv1.ErrorNameCollision, gimbalv1.ErrorInvalidService, gimbalv1.ErrorAddressDenied,
		gimbalv1.ErrorNamespaceMissing,
	}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// Entries returns the problems, in order and each once. When there are more than MaxErrorsPerWriter, the last one returned reports
// so.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	seen := map[Problem]time.Time{}
	for _, entries := range l.subjects {
		for _, entry := range entries {
			if entry.Seen.After(seen[entry.Problem]) {
				seen[entry.Problem] = entry.Seen
			}
		}
	}
	l.mu.Unlock()
	problems := slices.SortedFunc(maps.Keys(seen), func(a, b Problem) int {
		return cmp.Or(cmp.Compare(severity(a.Type), severity(b.Type)), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Message, b.Message))
	})
	var entries []Entry
	for i, problem := range problems {
		if i == gimbalv1.MaxErrorsPerWriter-1 && len(problems) > gimbalv1.MaxErrorsPerWriter {
			more := Problem{Type: problem.Type, Message: "there are more errors than fit here: repair these first, and see the log of the " +
				"discoverer for the others"}
			return append(entries, Entry{Problem: more, Seen: seen[problem]})
		}
		entries = append(entries, Entry{Problem: problem, Seen: seen[problem]})
	}
	return entries
}

// Reasons of the condition Reachable.
const (
	// reasonResponding: the backend has responded to the last request, whatever it responded.
	reasonResponding = "Responding"
	// reasonRateLimited: it has, and rejects requests because there are too many.
	reasonRateLimited   = "RateLimited"
	reasonNotResponding = "NotResponding"
	// reasonResponseUnknown: the last request has not shown whether it responds.
	reasonResponseUnknown = "ResponseUnknown"
)

// Contact is whether the backend responds, whatever it responds, and since when it has done so or not. What was before this process
// started is not known to it.
type Contact struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	response Response
	since    time.Time
}

// NewContact returns a Contact of a backend to which no request was sent yet.
func NewContact(clock clock.PassiveClock) *Contact { return &Contact{clock: clock} }

// Note notes whether the backend has responded.
func (c *Contact) Note(response Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() || c.response.unlimited() != response.unlimited() {
		c.since = c.clock.Now()
	}
	c.response = response
}

// condition returns the condition Reachable, nil before the first request. A backend that another process could not reach before
// counts as unreachable only from the first failure of this one on: what was between the two is not known.
func (c *Contact) condition(before *metav1.Condition, generation int64) *metav1.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return before
	}
	condition := &metav1.Condition{
		Type: gimbalv1.ConditionReachable, Status: metav1.ConditionFalse, Reason: reasonNotResponding, Message: "the backend does not respond",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(c.since.Truncate(time.Second)),
	}
	switch c.response {
	case Unclear:
		condition.Status, condition.Reason = metav1.ConditionUnknown, reasonResponseUnknown
		condition.Message = "requests fail for another reason than silence of the backend, see status.errors"
	case Responded, Limited:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, reasonResponding, "the backend responds"
		if c.response == Limited {
			condition.Reason = reasonRateLimited
			condition.Message = "the backend responds, but rejects requests because there are too many, see status.errors"
		}
		if before != nil && before.Status == metav1.ConditionTrue {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
	return condition
}
