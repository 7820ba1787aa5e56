// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// retryPeriod is the pause after discovery failed, or while a watch does not work.
	retryPeriod = 2 * time.Second
	// settlePeriod is how often Settled looks.
	settlePeriod = 50 * time.Millisecond
	// discoveryTimeout bounds the questions about one kind, so that a server that blocks does not block the others.
	discoveryTimeout = 10 * time.Second
)

// DiscoveryPeriod is how often a Set looks which kinds are served, while all is well.
const DiscoveryPeriod = time.Minute

// Set follows kinds. Its zero value is of no use: call NewSet.
type Set struct {
	kinds  []*Kind
	find   Finder
	source Source
	clock  clock.PassiveClock
	// after makes the pauses between two checks discovery.
	after func(time.Duration) <-chan time.Time
	// period is the pause between two checks while all is well.
	period time.Duration
	// hurry ends a pause early.
	hurry chan struct{}

	mu       sync.RWMutex
	states   map[schema.GroupResource]*state
	handlers []handler
	// ended are watches that were stopped, and may not have come to their end.
	ended []*watch
}

// state is what is known of a kind.
type state struct {
	// known is true once it was found out whether the kind is served.
	known bool
	// err is why the last check failed.
	err error
	// watch follows the objects. nil: the kind is not served, or not worth it.
	watch *watch
	// lost is when the kind went away after it was served.
	lost time.Time
}

// NewSet returns a Set of kinds, none of them twice. It follows them from Start on.
func NewSet(find Finder, source Source, clock clock.PassiveClock, period time.Duration, kinds ...Kind) *Set {
	s := &Set{find: find, source: source, clock: clock, after: time.After, period: period, hurry: make(chan struct{}, 1),
		states: map[schema.GroupResource]*state{}}
	for i := range kinds {
		s.kinds = append(s.kinds, &kinds[i])
		s.states[kinds[i].GroupResource] = &state{}
	}
	return s
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a replica that waits knows all that it will need.
func (s *Set) NeedLeaderElection() bool { return false }

// Start follows the kinds until the context ends, and returns when all watches have ended.
func (s *Set) Start(ctx context.Context) error {
	for {
		pause := s.period
		if !s.check(ctx) {
			pause = retryPeriod
		}
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-s.hurry:
			// Not faster than the pause after a failure: a watch that cannot work would request one manage the other.
			select {
			case <-ctx.Done():
			case <-s.after(retryPeriod):
			}
		case <-s.after(pause):
		}
	}
}

// check finds out which kinds are served, and begins and ends watches accordingly. It reports whether all is well.
func (s *Set) check(ctx context.Context) bool {
	found, errs := make([]*schema.GroupVersionResource, len(s.kinds)), make([]error, len(s.kinds))
	var group sync.WaitGroup
	for i, kind := range s.kinds {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
			defer cancel()
			found[i], errs[i] = s.find(ctx, kind)
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return false
	}
	well := true
	for i, kind := range s.kinds {
		well = s.settle(ctx, kind, found[i], errs[i]) && well
	}
	return well
}

// settle takes note of what was found out about a kind.
func (s *Set) settle(ctx context.Context, kind *Kind, found *schema.GroupVersionResource, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, logger := s.states[kind.GroupResource], log.FromContext(ctx).WithValues("resource", kind.String())
	if err != nil {
		if state.err == nil || state.err.Error() != err.Error() {
			logger.Info("Failed to determine whether a resource is served, retrying", "err", err.Error())
		}
		state.err = err
		return false
	}
	state.known, state.err = true, nil
	switch {
	case found == nil && state.watch != nil:
		state.lost = s.clock.Now()
		s.end(state)
		logger.Info("a resource is not served any more")
	case !s.worthIt(kind):
		s.end(state)
	case found != nil && (state.watch == nil || state.watch.resource != *found):
		s.end(state)
		state.watch, state.lost = newWatch(kind, *found, s.source), time.Time{}
		for _, handler := range s.handlers {
			if handler.wants(kind) {
				state.watch.notify(handler.handle)
			}
		}
		state.watch.start(ctx, s.urge)
		logger.Info("watching a resource", "version", found.Version)
	}
	return state.watch == nil || state.watch.problem() == nil
}

// worthIt reports whether what a kind is watched for is there. The lock is held.
func (s *Set) worthIt(kind *Kind) bool {
	return len(kind.While) == 0 || slices.ContainsFunc(kind.While, func(other schema.GroupResource) bool {
		return s.states[other] != nil && s.states[other].watch != nil
	})
}

// Recheck requests a check of discovery soon, by another client who knows that kinds came or went.
func (s *Set) Recheck() { s.urge() }

// urge requests a check of discovery: a watch has failed, perhaps because its kind has been deleted.
func (s *Set) urge() {
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// end ends the watch of a kind, if there is one. The lock is held, so it does not wait: a handler may wait for the lock.
func (s *Set) end(state *state) {
	if state.watch != nil {
		state.watch.stop()
		s.ended, state.watch = append(s.ended, state.watch), nil
	}
}

// stop ends all watches and waits for their end.
func (s *Set) stop() {
	s.mu.Lock()
	for _, state := range s.states {
		s.end(state)
	}
	ended := s.ended
	s.mu.Unlock()
	for _, watch := range ended {
		watch.wait()
	}
}

// Settled waits until it is known of each of the resources whether it is served, and what objects it has. An error
// names those that are not when the context ends by its deadline; its cancellation is no error.
func (s *Set) Settled(ctx context.Context, resources ...schema.GroupResource) error {
	var missing []string
	err := wait.PollUntilContextCancel(ctx, settlePeriod, true, func(context.Context) (bool, error) {
		missing = nil
		for _, resource := range resources {
			if s.problem(resource) != nil {
				missing = append(missing, resource.String())
			}
		}
		return len(missing) == 0, nil
	})
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return fmt.Errorf("the API server does not respond for %s", strings.Join(missing, ", "))
}

// problem is why it is not known what objects a resource has.
func (s *Set) problem(resource schema.GroupResource) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.states[resource]
	switch {
	case state == nil:
		return fmt.Errorf("%s is not followed", resource)
	case state.err != nil:
		return state.err
	case !state.known:
		return fmt.Errorf("it is not known yet whether %s is served", resource)
	case state.watch == nil:
		return nil
	}
	return state.watch.problem()
}
