// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// victim is a process that a round kills, and how it starts again.
type victim struct {
	name        string
	kill, start func()
}

// TestSoakTranslationsOnOVNSurviveKills changes objects of a control plane and rows of the Northbound database at random while the
// controller manager, ovn-northd and the servers of both databases are killed. It checks after each round that the database has what an
// undisturbed one has for the same objects, that rows of another client are unchanged, and that a restarted controller manager
// writes nothing; and at the end that nothing is left of deleted objects.
func TestSoakTranslationsOnOVNSurviveKills(t *testing.T) {
	s := newStorm(t, ovnserver.Options{Northd: true, Members: 3})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	objects := cluster{nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, services: map[*corev1.Service][]*discoveryv1.EndpointSlice{}}
	objects.change(random, 0)
	for _, step := range s.steps(objects) {
		step()
	}
	s.converged()
	s.addForeign()
	s.converged()
	for round := range min(rounds(t), 100) {
		objects.change(random, round+1)
		s.round(random, round, s.steps(objects))
		s.stays()
		if t.Failed() {
			return
		}
	}
	for _, step := range s.steps(cluster{}) {
		step()
	}
	s.converged()
	s.stays()
	s.neverPanicked()
}

// victims are sets of processes to kill.
func (s *storm) victims() [][]victim {
	manager := victim{"the controller manager", func() { s.must(s.manager.Kill(s.t.Context())) }, func() {
		s.must(errors.Join(s.manager.Start(s.t.Context()), s.manager.Ready(s.t.Context())))
	}}
	northd := victim{"ovn-northd", s.server.KillNorthd, func() { s.server.RestartNorthd(s.t) }}
	southbound := victim{"the Southbound database", s.server.KillSouthbound, func() { s.server.RestartSouthbound(s.t) }}
	leader := victim{"the leader of the Northbound database", func() { s.server.KillLeader(s.t) }, func() { s.server.StartMembers(s.t) }}
	members := victim{"all members of the Northbound database", s.server.KillMembers, func() { s.server.StartMembers(s.t) }}
	return [][]victim{{manager}, {manager}, {leader}, {members}, {northd, southbound}, {manager, leader}, {members, manager, northd}}
}

// round makes changes in a random order. Somewhere among them, and among the writes that they cause, processes are killed, and later
// they are started again.
func (s *storm) round(random *rand.Rand, round int, steps []func()) {
	s.t.Helper()
	sets := s.victims()
	victims := sets[random.IntN(len(sets))]
	at, restart, writes := random.IntN(len(steps)), random.IntN(len(steps)), int64(random.IntN(20))
	var names []string
	for _, victim := range victims {
		names = append(names, victim.name)
	}
	tampers := random.IntN(2) == 0
	s.t.Logf("round %d: of %d changes at number %d, or %d writes later, are killed: %s (another client tampers: %t)", round, len(steps), at, writes, strings.Join(names, ", "), tampers)
	random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	started := time.Now()
	down := false
	start := func() {
		for _, victim := range slices.Backward(victims) {
			victim.start()
		}
		down = false
	}
	for i, step := range steps {
		step()
		if i == at {
			if tampers {
				s.tamper(random)
			}
			s.wrote(s.writes.Load() + writes)
			for _, victim := range victims {
				victim.kill()
			}
			down = true
		}
		if down && i >= restart {
			start()
		}
	}
	if down {
		start()
	}
	s.converged()
	s.t.Logf("round %d: converged after %s", round, time.Since(started).Round(time.Millisecond))
}

// wrote waits until there were so many writes. There need not be as many, so it does not wait for long.
func (s *storm) wrote(writes int64) {
	_ = wait.PollUntilContextTimeout(s.t.Context(), 2*time.Millisecond, 300*time.Millisecond, true, func(context.Context) (bool, error) {
		return s.writes.Load() >= writes, nil
	})
}

// tamper deletes or changes a row of the tenant as another client.
func (s *storm) tamper(random *rand.Rand) {
	s.t.Helper()
	changes := []struct {
		table   string
		command func(id string) []string
	}{
		{"Load_Balancer", func(id string) []string { return []string{"destroy", "Load_Balancer", id} }},
		{"Load_Balancer", func(id string) []string { return []string{"clear", "Load_Balancer", id, "vips"} }},
		{"Port_Group", func(id string) []string { return []string{"destroy", "Port_Group", id} }},
		{"Port_Group", func(id string) []string { return []string{"clear", "Port_Group", id, "acls"} }},
		{"Port_Group", func(id string) []string { return []string{"clear", "Port_Group", id, "ports"} }},
		{"Logical_Switch", func(id string) []string { return []string{"destroy", "Logical_Switch", id} }},
		{"Logical_Switch_Port", func(id string) []string { return []string{"lsp-del", id} }},
		{"Logical_Switch_Port", func(id string) []string { return []string{"clear", "Logical_Switch_Port", id, "addresses"} }},
	}
	change := changes[random.IntN(len(changes))]
	ids := strings.Fields(s.server.Nbctl(s.t, "--bare", "--columns=_uuid", "find", change.table, "external_ids:groundskeeper-tenant="+tenant))
	if len(ids) == 0 {
		return
	}
	// The row may be deleted meanwhile, which is no failure.
	s.server.Nbctl(s.t, append([]string{"--if-exists"}, change.command(ids[random.IntN(len(ids))])...)...)
}

// converged waits until all Translations are in sync and applied, the database has exactly what the objects specify, and the other
// client's rows are unchanged. A client that was rejected for a while retries less and less often: ovn-northd up to eight seconds, the
// controller manager up to a minute apart.
func (s *storm) converged() {
	s.t.Helper()
	want := s.expect()
	var last error
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		s.supervise()
		last = s.unsettled(ctx, want)
		return last == nil, nil
	})
	if err != nil {
		s.t.Fatalf("%v: %v\n%s printed last:\n%s", err, last, s.manager.Name(), strings.Join(s.manager.Tail(60), "\n"))
	}
}

// supervise starts the manager again if it ended because it did not renew its Lease before the deadline, as the kubelet would.
func (s *storm) supervise() {
	s.t.Helper()
	if s.manager.PID() != 0 {
		return
	}
	if message := strings.Join(s.manager.Tail(5), "\n"); !strings.Contains(message, "leader election lost") {
		s.t.Fatalf("%s ended:\n%s", s.manager.Name(), message)
	}
	s.t.Log("the controller manager lost its Lease and is started again")
	s.must(s.manager.Start(s.t.Context()))
}

// stays checks that a restarted controller manager compares everything and writes nothing, neither to the database nor to Translations.
func (s *storm) stays() {
	s.t.Helper()
	before, revisions := s.versions(), s.revisions()
	s.must(s.manager.Restart(s.t.Context()))
	s.compared()
	for table, rows := range map[string][2]map[string]string{"rows": {before, s.versions()}, "Translations": {revisions, s.revisions()}} {
		if changed := differences(rows[1], rows[0]); len(changed) > 0 {
			s.t.Errorf("a restarted controller manager wrote %d %s:\n%s", len(changed), table, strings.Join(changed, "\n"))
		}
	}
}

// neverPanicked searches all output of the manager.
func (s *storm) neverPanicked() {
	s.t.Helper()
	log, err := os.ReadFile(s.manager.LogFile())
	s.must(err)
	for line := range strings.Lines(string(log)) {
		if lower := strings.ToLower(line); strings.Contains(lower, "panic") || strings.HasPrefix(lower, "goroutine ") {
			s.t.Fatalf("%s printed: %s", s.manager.Name(), line)
		}
	}
}

func (s *storm) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(fmt.Errorf("%w\nthe manager printed last:\n%s", err, strings.Join(s.manager.Tail(20), "\n")))
	}
}
