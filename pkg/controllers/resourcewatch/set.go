// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// retryPeriod is the interval after discovery failed, or while a watch fails.
	retryPeriod = 2 * time.Second
	// settlePeriod is the polling interval of Settled.
	settlePeriod = 50 * time.Millisecond
	// discoveryTimeout limits the discovery of one kind, so that an unresponsive API server does not delay the other kinds.
	discoveryTimeout = 10 * time.Second
)

// DiscoveryPeriod is the default interval between two checks of discovery.
const DiscoveryPeriod = time.Minute

// Set watches kinds. Create it with NewSet.
type Set struct {
	kinds  []*Kind
	find   Finder
	source Source
	clock  clock.PassiveClock
	// after is time.After; tests replace it.
	after func(time.Duration) <-chan time.Time
	// period is the interval between two checks if none failed.
	period time.Duration
	// hurry requests the next check before the interval is over.
	hurry chan struct{}

	mu       sync.RWMutex
	states   map[schema.GroupResource]*state
	handlers []handler
	// ended are watches that were stopped, and whose goroutines may still run.
	ended []*watch
}

type state struct {
	// known is true after discovery has succeeded once.
	known bool
	err   error
	// watch is nil if the kind is not served, or if none of its While is watched.
	watch *watch
	// failure is why the watch fails, as it was logged last, "" if it does not.
	failure string
	// lost is the time at which the kind was no longer served.
	lost time.Time
}

// NewSet returns a Set of distinct kinds. Start starts the watches.
func NewSet(find Finder, source Source, clock clock.PassiveClock, period time.Duration, kinds ...Kind) *Set {
	s := &Set{find: find, source: source, clock: clock, after: time.After, period: period, hurry: make(chan struct{}, 1),
		states: map[schema.GroupResource]*state{}}
	for i := range kinds {
		s.kinds = append(s.kinds, &kinds[i])
		s.states[kinds[i].GroupResource] = &state{}
	}
	return s
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Replicas that are not the leader have synced watches as well.
func (s *Set) NeedLeaderElection() bool { return false }

// Start watches the kinds until the context is done, and returns when all watches have stopped.
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
			// A watch that fails repeatedly requests a check each time: limit their rate.
			select {
			case <-ctx.Done():
			case <-s.after(retryPeriod):
			}
		case <-s.after(pause):
		}
	}
}

// check discovers which kinds are served, and starts and stops watches accordingly. It reports whether everything succeeded.
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
		logger.Info("A resource is no longer served")
	case !s.isNeeded(kind):
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
		logger.Info("Watching a resource", "version", found.Version)
	}
	state.logFailure(logger)
	return state.watch == nil || state.watch.problem() == nil
}

// logFailure logs why the watch of a kind fails: nothing is done about its objects meanwhile, and perhaps nothing else reports that.
func (s *state) logFailure(logger logr.Logger) {
	failure := ""
	if s.watch != nil {
		if err := s.watch.requests.problem(); err != nil {
			failure = err.Error()
		}
	}
	if failure != "" && failure != s.failure {
		logger.Info("Failed to watch a resource, retrying", "err", failure)
	}
	s.failure = failure
}

// isNeeded reports whether one of the kinds in While is watched. The caller holds the lock.
func (s *Set) isNeeded(kind *Kind) bool {
	return len(kind.While) == 0 || slices.ContainsFunc(kind.While, func(other schema.GroupResource) bool {
		return s.states[other] != nil && s.states[other].watch != nil
	})
}

// Recheck requests a check of discovery. Callers use it when they know that a CustomResourceDefinition or APIService changed.
func (s *Set) Recheck() { s.urge() }

// urge requests a check of discovery after a watch failed, because its kind may no longer be served.
func (s *Set) urge() {
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// end stops the watch of a kind, if any. The caller holds the lock, so it must not wait for handlers, which may wait for the lock.
func (s *Set) end(state *state) {
	if state.watch != nil {
		state.watch.stop()
		s.ended, state.watch = append(s.ended, state.watch), nil
	}
}

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

// Settled waits until each of the resources is either not served or has synced. If the deadline of the context is exceeded, the error
// names the others; cancellation is not an error.
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

// problem returns the reason why the objects of a resource are unknown, or nil.
func (s *Set) problem(resource schema.GroupResource) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.states[resource]
	switch {
	case state == nil:
		return fmt.Errorf("%s is not watched", resource)
	case state.err != nil:
		return state.err
	case !state.known:
		return fmt.Errorf("it is not known yet whether %s is served", resource)
	case state.watch == nil:
		return nil
	}
	return state.watch.problem()
}
