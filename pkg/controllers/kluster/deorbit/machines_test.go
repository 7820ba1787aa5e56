// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"strings"
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

const machines = kubernikusv1.DeorbitMachines

// withMachines is a Kluster that is deleted with its Cluster of Cluster API.
func withMachines(value string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) {
		if k.Annotations == nil {
			k.Annotations = map[string]string{}
		}
		k.Annotations[kubernikusv1.MachinesAnnotation] = value
	}
}

func TestAdvanceWithMachines(t *testing.T) {
	with := func(value string) settings {
		s := usual()
		s.machines = value
		return s
	}
	for name, c := range map[string]struct {
		before   progress
		seen     *outcome
		machines string
		after    time.Duration
		want     kubernikusv1.DeorbitStage
		notes    string
		lost     bool
	}{
		"the machines are waited for":    {in(wait), showed(wait), kubernikusv1.MachinesPresent, 0, machines, "DeorbitStage", false},
		"a value that is not known":      {in(wait), showed(wait), "Perhaps", 0, machines, "DeorbitStage", false},
		"they are there":                 {in(machines), nil, kubernikusv1.MachinesPresent, 23 * time.Hour, machines, "", false},
		"they have been deleted":         {in(machines), nil, kubernikusv1.MachinesDeleted, 23 * time.Hour, verify, "DeorbitStage", false},
		"no longer deleted with it":      {in(machines), nil, "", time.Hour, verify, "DeorbitStage", false},
		"lost behind":                    {in(pods, unreachable(0)), failed(pods, clusterFailure(errDown)), kubernikusv1.MachinesPresent, time.Hour, machines, "ClusterUnreachable DeorbitStage", true},
		"deleted early":                  {in(pods), nil, kubernikusv1.MachinesDeleted, time.Minute, verify, "ClusterUnreachable DeorbitStage", true},
		"deleted, a last check":          {in(wait), showed(wait), kubernikusv1.MachinesDeleted, time.Minute, verify, "DeorbitStage", false},
		"deleted, a Secret that is lost": {in(freeze), failed(freeze, wayFailure("s", errDown)), kubernikusv1.MachinesDeleted, time.Minute, freeze, "", false},
		"deleted, in Drain":              {in(drain), nil, kubernikusv1.MachinesDeleted, time.Minute, drain, "", false},
		"deleted, Drain is over":         {in(drain), showed(drain), kubernikusv1.MachinesDeleted, time.Minute, verify, "ClusterUnreachable DeorbitStage", true},
		"deleted, in the last stage":     {in(wait), nil, kubernikusv1.MachinesDeleted, time.Minute, verify, "ClusterUnreachable DeorbitStage", true},
		"the timeout does not wait":      {in(machines), nil, kubernikusv1.MachinesPresent, 24 * time.Hour, release, "DeorbitStage", false},
		"what is behind stays":           {in(verify), showed(verify), kubernikusv1.MachinesPresent, time.Minute, routes, "DeorbitStage", false},
	} {
		t.Run(name, func(t *testing.T) {
			next, action := advance(c.before, c.seen, with(c.machines), epoch.Add(c.after))
			var notes []string
			for _, n := range action.notes {
				notes = append(notes, n.reason)
			}
			if next.Stage != c.want || strings.Join(notes, " ") != c.notes || (next.ClusterLost != "") != c.lost {
				t.Errorf("stage = %s, notes %v, lost %q; want %s, %q, lost %t", next.Stage, notes, next.ClusterLost, c.want, c.notes, c.lost)
			}
		})
	}
}

// OpenStack is not checked before the machines have been deleted, and the wait costs no requests and no writes.
func TestWaitForMachines(t *testing.T) {
	k := deleted("k", withMachines(kubernikusv1.MachinesPresent))
	f := newFlow(t, k, secretOf("k-secret"))
	f.turn(k)
	if got := f.stages(); got != "Drain Freeze Pods Snapshots Claims Services Wait" {
		t.Errorf("stages = %s", got)
	}
	f.is(k, machines, "False/Machines")
	f.store.ResetLog()
	f.respond(nil)
	if wait := f.after(5*time.Hour, k); wait != 19*time.Hour || f.stages() != "" || f.store.Count() != 0 {
		t.Errorf("it comes back in %s, checks %q, writes %v", wait, f.stages(), f.store.Writes())
	}
	f.restart()
	if f.turn(k); f.stages() != "" {
		t.Errorf("after a restart it checks %s", f.stages())
	}
	f.store.Change(k, func() { withMachines(kubernikusv1.MachinesDeleted)(k) })
	f.turn(k)
	if got := f.stages(); got != "Verify Routes Verify Routes Drain" {
		t.Errorf("stages = %s", got)
	}
	if f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}

// A cluster that never had machines, or whose Secret was never written, is checked in OpenStack immediately.
func TestMachinesDeletedBeforeTheClusterWasChecked(t *testing.T) {
	k := deleted("k", withMachines(kubernikusv1.MachinesDeleted))
	f := newFlow(t, k)
	var lost string
	f.respond(func(_ context.Context, c call) (stage.Report, error) {
		if c.stage == verify {
			lost = c.work.ClusterLost
		}
		return stage.Report{}, nil
	})
	f.turn(k)
	if got := f.stages(); got != "Drain" {
		t.Errorf("stages = %s", got) // no Secret, no project
	}
	f.store.Add(secretOf("k-secret"))
	f.after(2*time.Minute, k)
	if got := f.stages(); !strings.HasPrefix(got, "Drain Verify Routes") || lost == "" {
		t.Errorf("stages = %s, lost %q", got, lost)
	}
}

// The total timeout ends the wait for machines that are not deleted.
func TestMachinesAreNotWaitedForWithoutEnd(t *testing.T) {
	k := deleted("k", withMachines(kubernikusv1.MachinesPresent))
	f := newFlow(t, k, secretOf("k-secret"))
	f.turn(k)
	f.is(k, machines, "False/Machines")
	f.after(24*time.Hour, k)
	if f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}
