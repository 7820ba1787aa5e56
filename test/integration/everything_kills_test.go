// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

// reaper kills and pauses the processes of a plane and of its workload cluster, and starts them again as a kubelet would.
type reaper struct {
	*plane.Plane
	workload *plane.Plane
	c        client.WithWatch
	ledger   *ledger
	dir      string
	random   *rand.Rand

	kills map[string]int
	// lives are the current lives of the managers, numbered from 1. The requests of a life have its number in the audit log.
	lives map[*plane.Process]int
	last  int
	// revoked are the lives that were paused, and when another process acquired their Lease.
	revoked map[int]time.Time
	// exits counts why processes ended that were not killed.
	exits map[string]int
	// paused is the manager that is stopped at present.
	paused *plane.Process
	discoverers
}

// group is a group of the user of one life of a manager or a discoverer: the audit log shows it with each request.
func group(life int) string { return fmt.Sprintf("life-%d", life) }

// start starts a manager with credentials of a new life.
func (r *reaper) start(ctx context.Context, manager *plane.Process) error {
	r.last++
	kubeconfig := filepath.Join(r.dir, fmt.Sprintf("manager-%d.kubeconfig", r.last))
	if err := r.KubeconfigFor(kubeconfig, audit.Manager, "system:serviceaccounts", audit.Accounts, group(r.last)); err != nil {
		return err
	}
	r.lives[manager] = r.last
	return manager.Start(ctx, "--kubeconfig="+kubeconfig)
}

// revive starts again what has ended. A manager or a discoverer is allowed to end automatically when it lost its Lease, and when it
// cannot reach a server at startup.
func (r *reaper) revive(ctx context.Context) error {
	for _, process := range slices.Concat(r.Processes(), r.workload.Processes()) {
		if process.PID() != 0 || process == r.paused {
			continue
		}
		if !slices.Contains(r.Managers, process) {
			return fmt.Errorf("%s ended:\n%s", process.Name(), strings.Join(process.Tail(20), "\n"))
		}
		message := strings.Join(process.Tail(8), "\n")
		reason := reasonOf(message)
		if reason == "" {
			return fmt.Errorf("%s ended:\n%s", process.Name(), message)
		}
		r.exits["manager "+reason]++
		if err := r.start(ctx, process); err != nil {
			return err
		}
	}
	return r.rediscover()
}

// reasonOf returns why a process ended that printed a message last, "" if it should not have.
func reasonOf(message string) string {
	for reason, texts := range map[string][]string{
		"lost its Lease":             {"leader election lost", "the Lease was lost"},
		"found no server at startup": {"connection refused", "currently unable to handle the request", "connection reset", "EOF", "failed to get server groups"},
	} {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) }) {
			return reason
		}
	}
	return ""
}

// leader returns the manager that holds the Lease, of those that are not paused.
func (r *reaper) leader(ctx context.Context) (*plane.Process, error) {
	if err := r.revive(ctx); err != nil {
		return nil, err
	}
	for _, manager := range r.Managers {
		if manager == r.paused {
			continue
		}
		request, cancel := context.WithTimeout(ctx, 3*time.Second)
		leads, err := metric(request, manager, "leader_election_master_status")
		cancel()
		if err == nil && leads == 1 {
			return manager, nil
		}
	}
	return nil, errors.New("no manager leads")
}

// kill kills or pauses something at random, at a random moment, and returns when it runs again.
func (r *reaper) kill(t *testing.T) {
	t.Helper()
	r.moment(t)
	_ = r.resumed(t.Context()) // it is repeated
	switch n := r.random.IntN(100); {
	case n < 5:
		r.strikeDiscoverer(t)
	case n < 8:
		r.suspend(t)
	case n < 30:
		patiently(t, r.revive)
		r.strike(t, "manager", r.Managers[r.random.IntN(len(r.Managers))])
	case n < 52:
		r.pause(t)
	case n < 78:
		r.strike(t, "API server", r.APIServers[r.random.IntN(len(r.APIServers))])
	case n < 82:
		r.strike(t, "both API servers", r.APIServers...)
	case n < 86:
		patiently(t, r.revive)
		r.strike(t, "manager and API server", r.APIServers[r.random.IntN(len(r.APIServers))], r.Managers[r.random.IntN(len(r.Managers))])
	case n < 89:
		r.strike(t, "etcd", r.Etcd)
	case n < 91:
		r.strike(t, "kube-apiserver", r.KubeAPIServer)
	case n < 92:
		r.strike(t, "kube-controller-manager", r.KubeControllerManager)
	case n < 96:
		r.strike(t, "workload cluster's kube-apiserver", r.workload.KubeAPIServer)
	case n < 98:
		r.strike(t, "workload cluster's etcd", r.workload.Etcd)
	default:
		r.strike(t, "workload cluster's kube-controller-manager", r.workload.KubeControllerManager)
	}
}

// moment lets a random number of events pass, usually after a manager has become the leader: the controllers are in the middle of
// something then. There may be none, when the leader waits before it repeats a request, so it does not wait for long.
func (r *reaper) moment(t *testing.T) {
	t.Helper()
	if r.random.IntN(8) > 0 {
		patiently(t, func(ctx context.Context) error { _, err := r.leader(ctx); return err })
	}
	until := r.ledger.events.Load() + r.random.Int64N(60)
	deadline := time.NewTimer(3 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.ledger.events.Load() < until {
		select {
		case <-deadline.C:
			return
		case <-tick.C:
		}
	}
}

// strike kills processes (SIGKILL), starts them again and waits until they are ready, servers first.
func (r *reaper) strike(t *testing.T, kind string, victims ...*plane.Process) {
	t.Helper()
	r.kills["SIGKILL "+kind]++
	for _, victim := range victims {
		if err := victim.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, victim := range victims {
		if slices.Contains(r.Managers, victim) {
			if err := r.start(ctx, victim); err != nil {
				t.Fatal(err)
			}
			continue // when it is ready is of no interest
		}
		if err := errors.Join(victim.Start(ctx), victim.Ready(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cluster := range []*plane.Plane{r.Plane, r.workload} {
		if slices.Contains(victims, cluster.Etcd) {
			if err := cluster.KubeAPIServer.Ready(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pause stops the leader (SIGSTOP) until another manager has acquired the Lease, and lets it continue (SIGCONT). It has to end then.
func (r *reaper) pause(t *testing.T) {
	t.Helper()
	var leader *plane.Process
	before := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: "groundskeeper-system", Name: "groundskeeper-controller-manager"}
	pid := 0
	patiently(t, func(ctx context.Context) (err error) {
		if leader, err = r.leader(ctx); err != nil {
			return err
		}
		if err := r.c.Get(ctx, key, before); err != nil {
			return err
		}
		if pid = leader.PID(); pid == 0 { // 0 would be this process itself
			return fmt.Errorf("%s ended", leader.Name())
		}
		return syscall.Kill(pid, syscall.SIGSTOP)
	})
	life, led := r.lives[leader], true
	r.paused = leader
	patiently(t, func(ctx context.Context) error {
		if _, err := r.leader(ctx); err != nil {
			return fmt.Errorf("%s is paused: %w", leader.Name(), err)
		}
		after := &coordinationv1.Lease{}
		if err := r.c.Get(ctx, key, after); err != nil {
			return err
		}
		if holder := *after.Spec.HolderIdentity; holder == "" {
			return fmt.Errorf("%s is paused, and no manager holds the Lease", leader.Name())
		} else if led = holder != *before.Spec.HolderIdentity; led {
			r.revoked[life] = after.Spec.AcquireTime.Time
		} // otherwise it had lost the Lease immediately before it was paused
		return nil
	})
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if led {
		r.kills["SIGSTOP of the leader for longer than its Lease, SIGCONT"]++
	} else {
		r.kills["SIGSTOP of another manager, SIGCONT"]++
	}
	patiently(t, func(context.Context) error {
		if led && leader.PID() == pid {
			return fmt.Errorf("%s continues without the Lease", leader.Name())
		}
		return nil
	})
	r.paused = nil
}

// late returns the requests to write, except those of the election and its events, that arrived from managers and discoverers
// after another one had acquired their Lease.
func (r *reaper) late(log string) (writes []string, err error) {
	for event, err := range audit.Read(log) {
		if err != nil {
			return nil, err
		}
		if !audit.IsGroundskeepers(event.User.Username) || !event.Writes() || event.ObjectRef.Resource == "leases" || event.ObjectRef.Resource == "events" {
			continue
		}
		for _, name := range event.User.Groups {
			life := 0
			if _, err := fmt.Sscanf(name, "life-%d", &life); err != nil {
				continue
			}
			if revoked, paused := r.revoked[life]; paused && event.Received.After(revoked) {
				writes = append(writes, fmt.Sprintf("%s %s: %d, %s after another one had acquired the Lease", event.Verb, event.RequestURI,
					event.ResponseStatus.Code, event.Received.Sub(revoked)))
			}
		}
	}
	return writes, nil
}
