// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestEndedBeforeRead checks that nothing is deleted in OpenStack when Deorbit ends before it has read what exists in the cluster: the
// cluster may run, and its Services and claims may still be used.
func TestEndedBeforeRead(t *testing.T) {
	for name, selfDestruct := range map[string]bool{"the annotation ends it": true, "the timeout does": false} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, 1)
			l.kills = 0
			l.kluster.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete
			l.claim("data", "Delete")
			l.service("web", "IP", false)
			if selfDestruct {
				metav1.SetMetaDataAnnotation(&l.kluster.ObjectMeta, kubernikusv1.SelfDestructAnnotation, kubernikusv1.SelfDestructNow)
			}
			l.kluster.Spec.Deorbit.Timeout = &metav1.Duration{Duration: 10 * time.Minute}
			l.begin(t, true)
			l.r.systems.withdraw = func(context.Context, *kubernikusv1.Kluster) (stage.Report, error) {
				return stage.Report{Remaining: things(backendKind, "b")}, nil // it keeps stage Drain
			}
			for range 20 {
				l.after(time.Minute, l.kluster)
			}
			l.store.Find(l.kluster)
			if got := klustertest.Condition(l.kluster, kubernikusv1.ConditionDeorbited); !strings.HasPrefix(got, "True/") {
				t.Fatalf("condition = %s, want it to be released: %+v", got, l.kluster.Status.Deorbit)
			}
			there, status := l.there(), l.kluster.Status.Deorbit
			for id, kind := range l.made {
				if !there[id] {
					t.Errorf("%s %s has been deleted, and the cluster may use it", kind, id)
				}
				i := slices.IndexFunc(status.Remaining, func(o kubernikusv1.DeorbitObject) bool { return o.ID == id })
				if i < 0 || !strings.Contains(status.Remaining[i].Reason, "before what exists in the cluster was read") {
					t.Errorf("%s %s: not left over: %+v", kind, id, status.Remaining)
				}
			}
		})
	}
}

// TestCutShort checks when the state of the cluster counts as unknown at the end of a Deorbit.
func TestCutShort(t *testing.T) {
	deletedMachines, unborn := usual(), usual()
	deletedMachines.machines, unborn.neverCameUp = kubernikusv1.MachinesDeleted, true
	for name, c := range map[string]struct {
		stage    kubernikusv1.DeorbitStage
		settings settings
		want     string
	}{
		"in Drain":             {drain, usual(), endedUnread},
		"in Freeze":            {freeze, usual(), endedUnread},
		"behind Freeze":        {pods, usual(), ""},
		"without a cloud":      {drain, without(false, true), endedUnread},
		"and behind Freeze":    {services, without(false, true), endedUnread},
		"neither":              {drain, without(false, false), ""},
		"it never came up":     {drain, unborn, ""},
		"the machines are not": {drain, deletedMachines, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, seen := range map[string]*observed{
				"no check": nil, "a check": showed(c.stage, thing("Thing", "x")), "a check that failed": failed(c.stage, internalFailure(errDown)),
			} {
				if p, _ := decide(in(c.stage), seen, destructing(c.settings), epoch); p.Stage != release || p.ClusterRefused != c.want {
					t.Errorf("%s: %s with %q, want Release with %q", kind, p.Stage, p.ClusterRefused, c.want)
				}
			}
			p := in(c.stage)
			p.ClusterRefused = "401"
			if p, _ = decide(p, nil, destructing(c.settings), epoch); p.ClusterRefused != "401" {
				t.Errorf("a rejection is replaced by %q", p.ClusterRefused)
			}
		})
	}
}
