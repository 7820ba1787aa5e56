// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/plane"
)

// The manager takes over quickly from one that was killed, and gives up on the backend quickly.
const hastyConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
log: {level: debug}
leaderElection: {leaseDuration: 4s, renewDeadline: 2s, retryPeriod: 250ms}
controllers:
  translation:
    push: {driftInterval: 1s}
    midonet: {timeout: 1500ms}
`

func hasty(t *testing.T) func(*plane.Options) {
	return func(o *plane.Options) { o.ManagerConfig = write(t, hastyConfig) }
}

// TestSoakTranslationsSurviveKills changes objects, Translations and the backend while Groundskeeper's processes are killed and the
// backend fails, at random. It checks that the backend finally has the desired content.
func TestSoakTranslationsSurviveKills(t *testing.T) {
	rare(t)
	t.Parallel()
	s := newStorm(t)
	for round := range min(rounds(t, 4), 100) {
		s.round(round)
		if t.Failed() {
			return
		}
	}
	s.stays()
	s.neverPanicked()
}

// TestSoakTranslationsSurvivePausedLeaders checks that a leader that is paused for longer than its Lease exits without damage when
// it resumes: another one has taken over, and a request that was already being sent is corrected when it arrives.
func TestSoakTranslationsSurvivePausedLeaders(t *testing.T) {
	rare(t)
	t.Parallel()
	s := newStorm(t, func(o *plane.Options) { o.Managers = 2 })
	for round := range min(rounds(t, 2), 20) {
		leader, others := leaderOf(t, s.Managers)
		for range changesPerRound {
			s.change()
		}
		s.clearRequests()
		s.wrote(s.random.IntN(40))
		pid := leader.PID()
		if pid == 0 { // it lost its lease meanwhile, and 0 would be this process itself
			s.converged()
			continue
		}
		t.Logf("round %d: %s is paused", round, leader.Name())
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for range changesPerRound {
			s.change()
		}
		leaderOf(t, others)
		s.converged()
		for range changesPerRound {
			s.change()
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		eventually(t, func(context.Context) error {
			if leader.PID() == pid {
				return fmt.Errorf("%s continues", leader.Name())
			}
			return nil
		})
		s.converged()
		if err := leader.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.stays()
	s.neverPanicked()
}

const changesPerRound = 15

// round changes objects; somewhere among the changes, and among the writes that they cause, processes are killed or the
// backend begins to fail.
func (s *storm) round(round int) {
	s.t.Helper()
	victims := [][]*plane.Process{nil, s.Managers, s.APIServers, {s.Managers[0], s.APIServers[0]}}[s.random.IntN(4)]
	var fault map[string]any
	if victims == nil || s.random.IntN(3) == 0 {
		fault = s.fault()
	}
	at, restart, writes := s.random.IntN(changesPerRound), s.random.IntN(changesPerRound), s.random.IntN(40)
	var names []string
	for _, victim := range victims {
		names = append(names, victim.Name())
	}
	s.t.Logf("round %d: at change %d, or %d writes later, %v die, the backend has %v", round, at, writes, names, fault)
	s.clearRequests()
	down := false
	for i := range changesPerRound {
		s.change()
		if i == at {
			s.wrote(writes)
			if fault != nil {
				s.fails(fault)
			}
			for _, victim := range victims {
				if err := victim.Kill(s.t.Context()); err != nil {
					s.t.Fatal(err)
				}
			}
			down = true
		}
		if down && i >= restart {
			s.start(victims)
			down = false
		}
	}
	if down {
		s.start(victims)
	}
	s.heal()
	s.converged()
}

// fault returns a kubeconfig which the backend fails.
func (s *storm) fault() map[string]any {
	fault := map[string]any{}
	switch s.random.IntN(4) {
	case 0:
		fault["cut"] = fakemidonet.CutResponse
	case 1:
		fault["cut"] = fakemidonet.CutRequest
	case 2:
		fault["status"] = http.StatusServiceUnavailable
	case 3:
		fault["latency"] = "2s" // longer than the client waits
	}
	if methods := []string{"", http.MethodPost, http.MethodDelete, http.MethodGet}; s.random.IntN(2) == 0 {
		fault["method"] = methods[s.random.IntN(len(methods))]
	}
	if s.random.IntN(2) == 0 {
		fault["skip"], fault["times"] = s.random.IntN(20), 1+s.random.IntN(20)
	}
	return fault
}

// wrote waits until the backend was requested so many writes. There need not be as many, so it does not wait for long.
func (s *storm) wrote(writes int) {
	s.t.Helper()
	_ = wait.PollUntilContextTimeout(s.t.Context(), 2*time.Millisecond, 300*time.Millisecond, true, func(context.Context) (bool, error) {
		return s.requests().by(http.MethodPost, http.MethodPut, http.MethodDelete) >= writes, nil
	})
}

// start starts those that were killed, the API server first.
func (s *storm) start(victims []*plane.Process) {
	s.t.Helper()
	for _, victim := range slices.Backward(victims) {
		if err := errors.Join(victim.Start(s.t.Context()), victim.Ready(s.t.Context())); err != nil {
			s.t.Fatal(err)
		}
	}
}

// converged waits until all is settled. A client that was rejected for a while retries less and less often, up to a minute apart.
func (n *network) converged() {
	n.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(n.t.Context(), 100*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		(&chaos{Plane: n.Plane}).supervise(n.t)
		last = n.unsettled(ctx)
		return last == nil, nil
	})
	if err == nil {
		return
	}
	for _, process := range []*plane.Process{n.APIServers[0], n.Managers[0]} {
		n.t.Logf("%s has pid %d and printed last:\n%s", process.Name(), process.PID(), strings.Join(process.Tail(60), "\n"))
	}
	n.t.Fatalf("%v: %v\nthe backend rejected %+v", err, last, n.requests().Rejected)
}

// TestTranslationsSurviveALostBackend checks that a backend that lost its content is filled again, whether or not the manager ran
// meanwhile.
func TestTranslationsSurviveALostBackend(t *testing.T) {
	rare(t)
	t.Parallel()
	n := newNetwork(t, hasty(t))
	ns := n.namespace("lost")
	for i, name := range stormNodes() {
		n.annotated(n.node(name, fmt.Sprintf("10.1.%d.0/24", i), fmt.Sprintf("192.0.2.%d", i+1)), n.host(name))
		n.pod(ns, "web-"+name, name, fmt.Sprintf("10.1.%d.10", i))
	}
	n.slice(n.service(ns, "web", tcp("http", 80)), "web-a", "10.1.0.10", "10.1.1.10")
	n.converged()
	backend := n.Processes()[slices.IndexFunc(n.Processes(), func(p *plane.Process) bool { return p.Name() == "fake-midonet" })]

	lose := func() {
		if err := errors.Join(backend.Kill(t.Context()), backend.Start(t.Context()), backend.Ready(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("with the manager")
	lose()
	n.pod(ns, "late", "node-a", "10.1.0.20")
	n.converged()
	t.Log("without the manager")
	n.stopManager()
	lose()
	n.delete(podOf(ns, "late"))
	n.startManager()
	n.converged()
	n.stays()
	n.neverPanicked()
}
