// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
)

// background is for the oracles, which read when all processes have ended.
var background = context.Background() //nolint:gochecknoglobals // it is a constant

// Act is what a user does. It is over when nothing is left to do because of it.
type Act struct {
	// Name is for the failures of a test.
	Name string
	Do   func()
	// Left returns what is left to do, "" for nothing.
	Left func() string
}

// Life is a world with a loop.
type Life struct {
	// Step lets some time pass and the loop work. The context ends with the process.
	Step func(ctx context.Context) error
	// Restart starts another process on the same systems. What the one before had in memory is lost.
	Restart func()
	// Acts are what users do, one after the other.
	Acts []Act
	// Freeze keeps the cache of the process unchanged, all of it or all except the kind that the loop is about. Thaw ends that. nil:
	// the process has none.
	Freeze func(all bool)
	Thaw   func()
	// Check are the oracles of this loop, when all acts are over.
	Check func() error
}

// Loop is a loop whose every fault is tested.
type Loop struct {
	// Start makes a world whose process sends all requests through the gate.
	Start func(t *testing.T, g *Gate) *Life
	// Fenced selects the writes before which the loop checks its Lease; nil: none. Others end with the context of the process.
	Fenced func(*Request) bool
	// Beats selects the writes that the loop repeats for as long as it works, such as those of a time; nil: none. They do not keep an
	// act from being over.
	Beats func(*Request) bool
	// TakesAll reports that the loop deletes all objects of some kinds, so that it may delete what another client recreated: once it
	// has read it.
	TakesAll bool
	// Bubble runs each life in a bubble of synctest.
	Bubble bool
	// Steps bounds the steps of an act, 50 by default.
	Steps int
}

// frozenFor is how many steps a cache is frozen, also those of the next process and of the next act.
const frozenFor = 5

// short is about how many lives a short run has.
const short = 26

// Test runs the life of a loop without a fault, and then with each one.
func (l Loop) Test(t *testing.T) {
	log := l.run(t, none, -1) // also if one fault is selected with -run
	if t.Failed() {
		return
	}
	if len(log) == 0 {
		t.Fatal("the life has no requests: the gate is not between the loop and its systems")
	}
	lives := 0
	for _, fault := range Faults() {
		t.Run(fault.String(), func(t *testing.T) {
			for _, i := range l.requests(log, fault, testing.Short()) {
				lives++
				t.Run(fmt.Sprint(i+1), func(t *testing.T) { l.run(t, fault, i) })
			}
		})
	}
	t.Logf("%d lives for %d requests", lives, len(log))
	if os.Getenv("FAULTTEST_LOG") != "" {
		for i := range log {
			t.Logf("%d: %s", i+1, &log[i])
		}
	}
}

// requests returns the numbers of the requests that a fault is tested at. A sample of them has some for each fault, and others than
// for the fault before.
func (l Loop) requests(log []Request, fault Fault, sample bool) []int {
	all := 0
	var concerned []int
	for _, f := range Faults() {
		for i := range log {
			if !f.concerns(&log[i], l.Fenced != nil) {
				continue
			}
			if all++; f == fault {
				concerned = append(concerned, i)
			}
		}
	}
	if !sample || len(concerned) == 0 {
		return concerned
	}
	var sampled []int
	stride := (all + short - 1) / short
	for i := int(fault) * 5 % min(stride, len(concerned)); i < len(concerned); i += stride {
		sampled = append(sampled, concerned[i])
	}
	return sampled
}

// run runs one life, and returns its requests.
func (l Loop) run(t *testing.T, fault Fault, at int) []Request {
	t.Helper()
	log, err := l.try(t, fault, at)
	if err == nil {
		return log
	}
	t.Error(err)
	// That is the smallest case already: one fault.
	for i := range log {
		mark := ""
		if i == at && fault != none {
			mark = " <- " + fault.String()
		}
		t.Logf("%4d %s%s", i+1, &log[i], mark)
	}
	return log
}

// try runs one life, and returns its requests and what was wrong.
func (l Loop) try(t *testing.T, fault Fault, at int) (log []Request, err error) {
	t.Helper()
	run := func(t *testing.T) {
		g := newGate(fault, at)
		err = l.live(t, g)
		log = g.Log()
	}
	if l.Bubble {
		synctest.Test(t, run)
	} else {
		run(t)
	}
	return log, err
}

// live lets all acts happen, and consults the oracles.
func (l Loop) live(t *testing.T, g *Gate) error {
	t.Helper()
	ctx := g.begin(t.Context())
	life := l.Start(t, g)
	g.freeze = life.Freeze
	g.arm()
	defer func() { g.end() }()
	for _, act := range life.Acts {
		act.Do()
		var err error
		if ctx, err = l.converge(ctx, t, g, life, act); err != nil {
			return errors.Join(err, AsRead(g.Log()), OnlyLeaders(g.Log(), l.Fenced))
		}
	}
	if g.fault != none && !g.hit {
		return fmt.Errorf("request %d was never sent: without a fault the life is another one", g.at+1)
	}
	err := errors.Join(AsRead(g.Log()), OnlyLeaders(g.Log(), l.Fenced))
	if !l.TakesAll {
		err = errors.Join(err, g.strangersLive())
	}
	if life.Check != nil {
		err = errors.Join(err, life.Check())
	}
	return err
}

// converge lets the loop work until nothing is left of an act, and nothing is written any more.
func (l Loop) converge(ctx context.Context, t *testing.T, g *Gate, life *Life, act Act) (context.Context, error) {
	t.Helper()
	var err error
	steps := cmp.Or(l.Steps, 50)
	for range steps {
		if g.thaws() {
			life.Thaw()
		}
		before := g.writes(l.Beats)
		err = life.Step(ctx)
		if g.over() {
			ctx = g.begin(t.Context())
			life.Restart()
			continue
		}
		// Users do not wait for a cache that is late, because of which a loop may repeat itself.
		if err == nil && act.Left() == "" && (g.writes(l.Beats) == before || g.isFrozen()) {
			return ctx, nil
		}
	}
	return ctx, fmt.Errorf("%s: it does not converge in %d steps: %q is left, the last error is %w", act.Name, steps, act.Left(), orNone(err))
}

func orNone(err error) error {
	if err == nil {
		return errors.New("none")
	}
	return err
}
