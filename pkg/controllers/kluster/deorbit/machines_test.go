// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
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
		seen     *observed
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
		"deleted, a Secret that is lost": {in(freeze), failed(freeze, wayFailure(&kubernikusv1.Kluster{}, errDown)), kubernikusv1.MachinesDeleted, time.Minute, freeze, "", false},
		"deleted, in Drain":              {in(drain), nil, kubernikusv1.MachinesDeleted, time.Minute, drain, "", false},
		"deleted, Drain is over":         {in(drain), showed(drain), kubernikusv1.MachinesDeleted, time.Minute, verify, "ClusterUnreachable DeorbitStage", true},
		"deleted, in the last stage":     {in(wait), nil, kubernikusv1.MachinesDeleted, time.Minute, verify, "ClusterUnreachable DeorbitStage", true},
		"the timeout does not wait":      {in(machines), nil, kubernikusv1.MachinesPresent, 24 * time.Hour, release, "DeorbitStage", false},
		"what is behind stays":           {in(verify), showed(verify), kubernikusv1.MachinesPresent, time.Minute, routes, "DeorbitStage", false},
	} {
		t.Run(name, func(t *testing.T) {
			next, action := decide(c.before, c.seen, with(c.machines), epoch.Add(c.after))
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

// A cluster of Cluster API that never came up is checked in OpenStack immediately, and nothing of it is in doubt. Whatever shows that
// something ran in it prevents that.
func TestAdvanceWithoutControlPlane(t *testing.T) {
	unborn := func(value string) settings {
		s := usual()
		s.machines, s.neverCameUp = value, true
		return s
	}
	saw := func(p *progress) { p.SeenVolumes = []kubernikusv1.SeenVolume{{ID: "v", ReclaimPolicy: "Delete"}} }
	named := func(p *progress) { p.ClusterName = "web" }
	identified := func(p *progress) { p.ClusterID = "a" }
	const present, none = kubernikusv1.MachinesPresent, kubernikusv1.MachinesDeleted
	noSecret := wayFailure(&kubernikusv1.Kluster{}, kluster.ErrNoSecret)
	for name, c := range map[string]struct {
		before   progress
		seen     *observed
		settings settings
		after    time.Duration
		want     kubernikusv1.DeorbitStage
		notes    string
		lost     bool
	}{
		"no Secret":                   {in(freeze), failed(freeze, noSecret), unborn(present), 0, machines, "ClusterNeverCameUp DeorbitStage", false},
		"no API server":               {in(freeze), failed(freeze, clusterFailure(errDown)), unborn(present), 0, machines, "ClusterNeverCameUp DeorbitStage", false},
		"its machines are deleted":    {in(drain), showed(drain), unborn(none), 0, verify, "ClusterNeverCameUp DeorbitStage", false},
		"deleted while it is checked": {in(freeze), nil, unborn(none), 0, verify, "ClusterNeverCameUp DeorbitStage", false},
		"it came up":                  {in(freeze), failed(freeze, noSecret), func() settings { s := unborn(present); s.neverCameUp = false; return s }(), time.Hour, freeze, "", false},
		"an API server that rejects":  {in(freeze), failed(freeze, clusterFailure(unauthorized)), unborn(present), 0, freeze, "", false},
		"an API server that is busy":  {in(freeze), failed(freeze, clusterFailure(apierrors.NewServiceUnavailable("503"))), unborn(present), 0, freeze, "", false},
		"busy for long":               {in(freeze, unreachable(0)), failed(freeze, clusterFailure(apierrors.NewServiceUnavailable("503"))), unborn(present), time.Hour, machines, "ClusterNeverCameUp DeorbitStage", false},
		"an API server that responds": {in(freeze), showed(freeze), unborn(present), 0, pods, "DeorbitStage", false},
		"it responded before":         {in(pods), failed(pods, clusterFailure(errDown)), unborn(present), 0, pods, "", false},
		"a volume was seen":           {in(freeze, saw), failed(freeze, clusterFailure(errDown)), unborn(present), 0, freeze, "", false},
		"a name was seen":             {in(freeze, named), failed(freeze, noSecret), unborn(present), 0, freeze, "", false},
		"its identity was read":       {in(freeze, identified), failed(freeze, clusterFailure(errDown)), unborn(present), 0, freeze, "", false},
		"a volume was seen, deleted":  {in(freeze, saw), nil, unborn(none), 0, verify, "ClusterUnreachable DeorbitStage", true},
	} {
		t.Run(name, func(t *testing.T) {
			next, action := decide(c.before, c.seen, c.settings, epoch.Add(c.after))
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

// Behind the machines nothing exists in the cluster, whether its stages were skipped, left or completed. What it rejected stays recorded.
func TestNothingStandsWithoutMachines(t *testing.T) {
	s := usual()
	s.machines = kubernikusv1.MachinesDeleted
	standing := func(p *progress) {
		p.SeenVolumes = []kubernikusv1.SeenVolume{{ID: "v", Standing: kubernikusv1.StandingPresent}, {ID: "w", Standing: kubernikusv1.StandingRefused}}
	}
	for name, before := range map[string]progress{"drainTimeout won": in(claims, standing), "stageTimeout won": in(machines, standing)} {
		t.Run(name, func(t *testing.T) {
			next, _ := decide(before, nil, s, epoch.Add(time.Minute))
			if got := next.SeenVolumes; next.Stage != verify || got[0].Standing != "" || got[1].Standing != kubernikusv1.StandingRefused {
				t.Errorf("stage = %s, volumes = %+v, want Verify, and only what was rejected to stand", next.Stage, got)
			}
			if next.VerifyStartedAt == nil || !next.VerifyStartedAt.Equal(next.StageStartedAt) {
				t.Errorf("verifyStartedAt = %v, want %v", next.VerifyStartedAt, next.StageStartedAt)
			}
		})
	}
}

// The network is retained for verifyTimeout after the machines have been deleted, whatever remains.
func TestVerifyTimeout(t *testing.T) {
	volume := thing("Volume", "v")
	for name, c := range map[string]struct {
		before   progress
		seen     *observed
		machines string
		after    time.Duration
		want     kubernikusv1.DeorbitStage
		ends     ending
	}{
		"not yet":                   {in(release, verifying), released([]kubernikusv1.DeorbitObject{volume}, nil), kubernikusv1.MachinesDeleted, 4*time.Hour - time.Second, release, ""},
		"over":                      {in(release, verifying), released([]kubernikusv1.DeorbitObject{volume}, nil), kubernikusv1.MachinesDeleted, 4 * time.Hour, release, endsLeftovers},
		"over in Verify":            {in(verify, verifying), nil, kubernikusv1.MachinesDeleted, 4 * time.Hour, release, ""},
		"over, OpenStack fails":     {in(release, verifying), failed(release, rejected()), kubernikusv1.MachinesDeleted, 4 * time.Hour, release, endsLeftovers},
		"over, the cluster is used": {in(verify, verifying, func(p *progress) { p.held = &hold{} }), nil, kubernikusv1.MachinesDeleted, 4 * time.Hour, verify, ""},
		"not of Cluster API":        {in(release, verifying), released([]kubernikusv1.DeorbitObject{volume}, nil), "", 23 * time.Hour, release, ""},
		"machines are present":      {in(machines), nil, kubernikusv1.MachinesPresent, 23 * time.Hour, machines, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := usual()
			s.machines = c.machines
			next, action := decide(c.before, c.seen, s, epoch.Add(c.after))
			if next.Stage != c.want || action.ends != c.ends {
				t.Errorf("stage = %s, ends %q; want %s, %q", next.Stage, action.ends, c.want, c.ends)
			}
			if c.ends == endsLeftovers && !slices.ContainsFunc(action.notes, func(n note) bool { return strings.Contains(n.message, "4h0m0s after the machines") }) {
				t.Errorf("notes = %+v, want one that names the time", action.notes)
			}
		})
	}
	paused := in(release, verifying).resumed(time.Hour)
	if want := epoch.Add(time.Hour); !paused.VerifyStartedAt.Time.Equal(want) {
		t.Errorf("verifyStartedAt after a pause = %s, want %s", paused.VerifyStartedAt, want)
	}
}

func verifying(p *progress) { p.VerifyStartedAt = since(0) }

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
