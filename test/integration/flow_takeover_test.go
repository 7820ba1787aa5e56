// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// testLeaderStops checks that a leader releases its Lease on SIGTERM: the Lease is valid for an hour, which no replica waits for.
func (p *pair) testLeaderStops(t *testing.T) {
	leader, others := leaderOf(t, p.Managers)
	if len(others) != 1 {
		t.Fatalf("%d managers stand by", len(others))
	}
	if err := leader.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := leaderOf(t, p.Managers); now != others[0] {
		t.Errorf("%s leads", now.Name())
	}
	p.project(t, "handed", nil, olivia())
	restart(t, leader)
}

// testLeaderIsKilled checks that the standby takes over from a killed leader when its Lease expires, and not before.
func (p *pair) testLeaderIsKilled(t *testing.T) {
	const duration = 10 * time.Second // half of it is the time that a busy machine may delay a renewal
	config := write(t, managerConfig(duration))
	for _, manager := range p.Managers {
		restart(t, manager, "--config="+config)
	}
	leader, others := leaderOf(t, p.Managers)
	if len(others) != 1 {
		t.Fatalf("%d managers stand by", len(others))
	}
	lease := p.lease(t)
	if err := leader.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := p.lease(t)
	if *before.Spec.HolderIdentity != *lease.Spec.HolderIdentity {
		t.Fatalf("%s leads, not %s", *before.Spec.HolderIdentity, *lease.Spec.HolderIdentity)
	}
	p.project(t, "orphaned", nil, olivia())
	if now, _ := leaderOf(t, p.Managers); now != others[0] {
		t.Errorf("%s leads", now.Name())
	}
	after := p.lease(t)
	// Those who wait compare renewals by the second: of two within one, they count from the first.
	if waited := after.Spec.AcquireTime.Sub(before.Spec.RenewTime.Time); waited < duration-time.Second {
		t.Errorf("the lease of %s was taken after %s", duration, waited)
	}
	restart(t, leader)
}

func (p *pair) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "groundskeeper-system", Name: "groundskeeper-controller-manager"}}
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
		t.Fatal(err)
	}
	return lease
}

// testAPIServersStop checks that either of two API servers suffices, and that both return the same.
func (p *pair) testAPIServersStop(t *testing.T) {
	direct := []client.WithWatch{clientOf(t, p.DirectConfig(0)), clientOf(t, p.DirectConfig(1))}
	var made []*gardenerv1beta1.Project
	for stopped, server := range p.APIServers {
		if err := server.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := direct[1-stopped]
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "one")}}
		if err := c.Create(t.Context(), project); err != nil {
			t.Fatalf("without %s: %v", server.Name(), err)
		}
		if made = append(made, project); len(made) == 2 { // the names that the other server reserved exist, and can be changed
			err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // with a manager that writes the status
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(made[0]), made[0]); err != nil {
					return err
				}
				made[0].Spec.Description = new("changed by the other server")
				return c.Update(t.Context(), made[0])
			})
			if err != nil {
				t.Fatalf("without %s: %v", server.Name(), err)
			}
		}
		restart(t, server)
	}
	for _, project := range made {
		p.ready(t, project) // through the aggregator, by the managers
		for i, c := range direct {
			eventually(t, func(ctx context.Context) error { return isReady(ctx, c, project) })
			t.Logf("project %s is Ready at API server %d", project.Name, i)
		}
	}
}

// restart starts a process, after it was stopped if it runs, and waits until it is ready.
func restart(t *testing.T, process *plane.Process, flags ...string) {
	t.Helper()
	if err := process.Restart(t.Context(), flags...); err != nil {
		t.Fatal(err)
	}
}
