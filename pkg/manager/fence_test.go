// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
)

// memoryLock is a candidate's view of a lock in memory.
type memoryLock struct {
	*sharedRecord
	identity string
	// fails is the error of every request; nil: they succeed.
	fails func() error
	// took is called when a write made this one the holder.
	took func()
}

// sharedRecord is what the candidates compete for.
type sharedRecord struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
}

func (m *memoryLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails(); err != nil {
		return nil, nil, err
	}
	if m.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "a")
	}
	raw, err := json.Marshal(m.record)
	record := *m.record
	return &record, raw, err
}

func (m *memoryLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return m.Update(ctx, record)
}

func (m *memoryLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails(); err != nil {
		return err
	}
	m.record = &record
	if record.HolderIdentity == m.identity && m.took != nil {
		m.took()
	}
	return nil
}

func (m *memoryLock) RecordEvent(string) {}
func (m *memoryLock) Identity() string   { return m.identity }
func (m *memoryLock) Describe() string   { return "memory/a" }

func election() v1alpha1.LeaderElectionConfiguration {
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	return config.LeaderElection
}

func TestFence(t *testing.T) {
	const name, deadline = "groundskeeper-system/groundskeeper-controller-manager", 10 * time.Second
	own := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	type stage struct {
		lock  resourcelock.Interface
		inner *memoryLock
		// pass lets time pass by each clock.
		pass func(wall, monotonic time.Duration)
	}
	create := func(t *testing.T, s *stage) {
		if err := s.lock.Create(t.Context(), own); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		act  func(t *testing.T, s *stage)
		want string
	}{
		"never held":   {func(*testing.T, *stage) {}, "does not hold the Lease " + name},
		"just created": {create, ""},
		"the last moment": {func(t *testing.T, s *stage) {
			create(t, s)
			s.pass(deadline-1, deadline-1)
		}, ""},
		"the deadline": {func(t *testing.T, s *stage) {
			create(t, s)
			s.pass(deadline, deadline)
		}, "the Lease " + name + " was renewed 10s ago, and leaderElection.renewDeadline is 10s"},
		"the machine was suspended": {func(t *testing.T, s *stage) {
			create(t, s)
			s.pass(time.Hour, time.Millisecond)
		}, "1h0m0s ago"},
		"the wall clock was set back": {func(t *testing.T, s *stage) {
			create(t, s)
			s.pass(-time.Hour, deadline)
		}, "10s ago"},
		"renewed": {func(t *testing.T, s *stage) {
			create(t, s)
			s.pass(deadline, deadline)
			if err := s.lock.Update(t.Context(), own); err != nil {
				t.Fatal(err)
			}
			s.pass(deadline-1, deadline-1)
		}, ""},
		"renewing failed": {func(t *testing.T, s *stage) {
			create(t, s)
			s.pass(deadline-1, deadline-1)
			s.inner.fails = func() error { return errors.New("timeout") }
			if err := s.lock.Update(t.Context(), own); err == nil {
				t.Fatal("no error")
			}
			s.pass(1, 1)
		}, "10s ago"},
		"the response was slow": {func(t *testing.T, s *stage) {
			s.inner.took = func() { s.pass(deadline, deadline) }
			create(t, s)
		}, "10s ago"},
		"released": {func(t *testing.T, s *stage) {
			create(t, s)
			if err := s.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
				t.Fatal(err)
			}
		}, "does not hold"},
		"released, and the response was lost": {func(t *testing.T, s *stage) {
			create(t, s)
			s.inner.fails = func() error { return errors.New("timeout") }
			if err := s.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err == nil {
				t.Fatal("no error")
			}
		}, "does not hold"},
		"read": {func(t *testing.T, s *stage) {
			create(t, s)
			if _, _, err := s.lock.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"taken by another client": {func(t *testing.T, s *stage) {
			create(t, s)
			s.inner.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "you"}
			if _, _, err := s.lock.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, "does not hold"},
	} {
		t.Run(name, func(t *testing.T) {
			fence, now := newFence(election()), instant{wall: time.Unix(1e9, 0)}
			fence.now = func() instant { return now }
			inner := &memoryLock{sharedRecord: &sharedRecord{}, identity: "me", fails: func() error { return nil }}
			tc.act(t, &stage{lock: fence.guard(inner), inner: inner, pass: func(wall, monotonic time.Duration) {
				now.wall, now.monotonic = now.wall.Add(wall), now.monotonic+monotonic
			}})
			err := fence.Check()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestTerm checks that a term begins when this process becomes the leader, and is the first one of a Lease that it created.
func TestTerm(t *testing.T) {
	fence := newFence(election())
	lock := fence.guard(&memoryLock{sharedRecord: &sharedRecord{}, identity: "me", fails: func() error { return nil }})
	record := func(transitions int) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaderTransitions: transitions}
	}
	term := func(transitions int, first bool) ovnbackend.Term {
		return ovnbackend.Term{Lease: "groundskeeper-system/groundskeeper-controller-manager", Transitions: transitions, Holder: "me", First: first}
	}
	for i, step := range []struct {
		write func() error
		want  ovnbackend.Term
	}{
		{func() error { return nil }, ovnbackend.Term{}},
		{func() error { return lock.Create(t.Context(), record(0)) }, term(0, true)},
		{func() error { return lock.Update(t.Context(), record(0)) }, term(0, true)},
		{func() error {
			return lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "you", LeaderTransitions: 1})
		}, term(0, true)},
		{func() error { return lock.Update(t.Context(), record(2)) }, term(2, false)},
		{func() error { return lock.Update(t.Context(), record(2)) }, term(2, false)},
	} {
		if err := step.write(); err != nil {
			t.Fatal(err)
		}
		if got := fence.Term(); got != step.want {
			t.Errorf("step %d: term = %+v, want %+v", i, got, step.want)
		}
	}
	alone := election()
	alone.LeaderElect = new(false)
	if got := newFence(alone).Term(); got != (ovnbackend.Term{}) {
		t.Errorf("term without an election = %+v, want none", got)
	}
}

// TestFenceWithoutElection checks that without an election the fence is open.
func TestFenceWithoutElection(t *testing.T) {
	config := election()
	config.LeaderElect = new(false)
	fence := newFence(config)
	if err := fence.Check(); err != nil {
		t.Error(err)
	}
	if lock, _, err := newLock(nil, nil, config, fence); lock != nil || err != nil {
		t.Errorf("got the lock %v, %v", lock, err)
	}
}

// TestFenceClosesBeforeAnotherLeads checks that a leader that cannot renew its Lease stops writing so early that its last write has
// ended before another one leads.
func TestFenceClosesBeforeAnotherLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := election()
		fence, shared := newFence(config), &sharedRecord{}
		start, cut := time.Now(), time.Minute
		var taken time.Time
		first := &memoryLock{sharedRecord: shared, identity: "first", fails: func() error {
			if time.Since(start) >= cut {
				return errors.New("the API server is out of reach")
			}
			return nil
		}}
		second := &memoryLock{sharedRecord: shared, identity: "second", fails: func() error { return nil }, took: func() {
			if taken.IsZero() {
				taken = time.Now()
			}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var electors sync.WaitGroup
		run := func(lock resourcelock.Interface) {
			electors.Go(func() {
				leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
					Lock:          lock,
					LeaseDuration: config.LeaseDuration.Duration, RenewDeadline: config.RenewDeadline.Duration, RetryPeriod: config.RetryPeriod.Duration,
					Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
				})
			})
			synctest.Wait()
		}
		run(fence.guard(first))
		run(second)
		isTaken := func() bool {
			shared.mu.Lock()
			defer shared.mu.Unlock()
			return !taken.IsZero()
		}
		var open time.Time // when a write could start last
		for !isTaken() {
			if err := fence.Check(); err == nil {
				open = time.Now()
			} else if time.Since(start) < cut {
				t.Fatalf("a leader that renews is stopped: %v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if left := config.LeaseDuration.Duration - config.RenewDeadline.Duration; taken.Sub(open) < left {
			t.Errorf("the last write could start %s before the other one led, want %s at least", taken.Sub(open), left)
		}
		if open.Sub(start) < cut {
			t.Errorf("it was stopped %s after its start, before it failed to renew", open.Sub(start))
		}
		cancel()
		electors.Wait()
	})
}
