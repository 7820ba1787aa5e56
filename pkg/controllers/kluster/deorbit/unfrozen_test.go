// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestUnfrozen checks that nothing is deleted of what a cluster makes that could not be frozen, after it was read: Deorbit ends in stage Pods,
// whose claims do not go, by a process that has only the status.
func TestUnfrozen(t *testing.T) {
	l := newLife(t, 1)
	l.kills = 0
	l.kluster.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete
	l.kluster.Spec.Deorbit.Timeout = &metav1.Duration{Duration: 100 * time.Minute}
	stays := l.claim("data", "Delete", "example.com/keep")
	l.service("old", "IP", false)
	l.cluster.unfreezable = true
	l.begin(t, true)
	for range 200 {
		l.after(time.Minute, l.kluster)
		if l.store.Find(l.kluster); l.kluster.Status.Deorbit.Stage == kubernikusv1.DeorbitPods {
			break
		}
	}
	volume := l.claim("new", "Delete")
	l.service("new", "IP", false)
	l.restart(t)
	for range 200 {
		l.after(time.Minute, l.kluster)
		if l.store.Find(l.kluster); klustertest.Condition(l.kluster, kubernikusv1.ConditionDeorbited) == "True/"+reasonLeftovers {
			break
		}
	}
	there, status, made := l.there(), l.kluster.Status.Deorbit, l.parts["new"]
	for _, id := range []string{made.balancer, made.address, made.group, volume, stays} {
		if !there[id] {
			t.Errorf("%s %s has been deleted, and the cluster uses it", l.made[id], id)
		}
		i := slices.IndexFunc(status.Remaining, func(o kubernikusv1.DeorbitObject) bool { return o.ID == id })
		if i < 0 || id != stays && id != volume && !strings.Contains(status.Remaining[i].Reason, "not frozen") {
			t.Errorf("%s %s: not left over: %+v", l.made[id], id, status.Remaining)
		}
	}
	if slices.ContainsFunc(status.Remaining, func(o kubernikusv1.DeorbitObject) bool { return o.Name == "groundskeeper-deorbit" }) {
		t.Errorf("remaining = %+v, want nothing that the cluster did not make", status.Remaining)
	}
}

// TestMadeBeforeTheFreeze checks that a Service is seen that is made right before the freeze comes into force, which it does in the second check.
func TestMadeBeforeTheFreeze(t *testing.T) {
	l := newLife(t, 1)
	l.kills = 0
	l.claim("data", "Delete", "example.com/keep") // it retains stage Pods
	probes := 0
	l.cluster.before = func(r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		switch probes++; probes {
		case 1:
			l.cluster.mu.Lock()
			delete(l.cluster.items, freezePath)
			l.cluster.mu.Unlock()
		case 2:
			l.service("web", "IP", false)
		}
	}
	l.begin(t, true)
	for range 20 {
		l.after(time.Minute, l.kluster)
		if l.store.Find(l.kluster); l.kluster.Status.Deorbit.Stage == kubernikusv1.DeorbitPods {
			break
		}
	}
	if d := l.kluster.Status.Deorbit; d.Stage != kubernikusv1.DeorbitPods || len(d.SeenServices) != 1 {
		t.Errorf("stage %s after %d probes, seen Services = %+v, want Pods and web", d.Stage, probes, d.SeenServices)
	}
}
