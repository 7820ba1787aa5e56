// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestDue checks the start of the next reconciliation, in seconds after the start of the test.
func TestDue(t *testing.T) {
	start := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		state state
		want  time.Time
	}{
		"nothing happened": {state{next: at(300), ended: at(0)}, at(300)},
		"never passed":     {state{woken: at(5)}, time.Time{}},
		"a node went":      {state{next: at(300), ended: at(0), woken: at(100)}, at(102)},
		"a node went right behind a reconciliation":   {state{next: at(300), ended: at(100), woken: at(101)}, at(110)},
		"a node went, and the reconciliation is near": {state{next: at(101), ended: at(0), woken: at(100)}, at(101)},
		"a node went, and the last failed":            {state{next: at(60), ended: at(0), woken: at(1), failed: true}, at(60)},
		"a new secret, and all is well":               {state{next: at(300), ended: at(0), renewed: true}, at(300)},
		"a new secret, and the last failed":           {state{next: at(60), ended: at(0), renewed: true, failed: true}, time.Time{}},
		"a new secret, and the cloud is busy":         {state{next: at(600), ended: at(0), renewed: true, failed: true, throttled: true}, at(600)},
		"both":                                        {state{next: at(300), ended: at(0), renewed: true, woken: at(100)}, at(102)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.state.due(); !got.Equal(test.want) {
				t.Errorf("due = %s, want %s", got.Sub(start), test.want.Sub(start))
			}
		})
	}
}

// TestNodesDeleted checks that a deleted node triggers the next reconciliation early, that a hundred of them trigger one, and that
// no orphan is removed sooner.
func TestNodesDeleted(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	if err := f.r.wakes.Start(t.Context(), f.queue); err != nil {
		t.Fatal(err)
	}
	deleted := func(uid types.UID) {
		t.Helper()
		f.r.wakes.NodeDeleted(client.ObjectKeyFromObject(k), uid)
		if got := f.woken(); got != client.ObjectKeyFromObject(k) {
			t.Fatalf("%s is queued", got)
		}
	}
	f.pass(k, 0)
	f.clock.SetTime(f.clock.Now().Add(20 * time.Second))
	f.orphan()
	f.Requests()

	deleted("of another Kluster with this name")
	if wait := f.reconcile(k).RequeueAfter; wait < 4*time.Minute {
		t.Errorf("another Kluster's node: the next reconciliation is in %s", wait)
	}
	for range 100 {
		deleted(k.UID)
		if wait := f.reconcile(k).RequeueAfter; wait != gather {
			t.Fatalf("the next reconciliation is in %s", wait)
		}
	}
	if got := f.pass(k, gather); got != "False/"+ReasonConfirming {
		t.Errorf("woken: %s", got)
	}
	f.wantRoutes(5)
	passes := 0
	for _, request := range f.Requests() {
		if request.Path == "/compute/v2.1/servers/detail" {
			passes++
		}
	}
	if passes != 1 {
		t.Errorf("%d passes", passes)
	}
	// Another one does not end the time in which an orphan has to be confirmed.
	deleted(k.UID)
	if wait := f.reconcile(k).RequeueAfter; wait != rest {
		t.Errorf("right behind a reconciliation: the next one is in %s", wait)
	}
	if got := f.pass(k, rest); got != "False/"+ReasonConfirming {
		t.Errorf("woken again: %s", got)
	}
	f.wantRoutes(5)
	if got := f.pass(k, 20*time.Second); got != "True/"+ReasonClean {
		t.Errorf("confirmed: %s", got)
	}
	f.wantRoutes(4)
}

// A node that is deleted during a reconcile triggers another one, because the first may have listed the servers before.
func TestNodeDeletedMeanwhile(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.reconcile(k)
	f.r.wakes.NodeDeleted(client.ObjectKeyFromObject(k), k.UID)
	f.reconcile(k)
	f.woken()
	if wait := f.reconcile(k).RequeueAfter; wait != rest {
		t.Errorf("the next reconciliation is in %s", wait)
	}
}

// TestWakesAreDiscarded checks that nothing remains of a wake of a Kluster that is not managed.
func TestWakesAreDiscarded(t *testing.T) {
	paused := klustertest.Kluster("paused", klustertest.Annotated("groundskeeper.io/paused"))
	f := newFlow(t, paused)
	for _, name := range []string{"paused", "none"} {
		key := types.NamespacedName{Namespace: klustertest.Namespace, Name: name}
		f.r.wakes.NodeDeleted(key, paused.UID)
		if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	if left := f.r.wakes.pending; len(left) != 0 {
		t.Errorf("left %v", left)
	}
	// Events before the start are queued then.
	f.r.wakes.NodeDeleted(client.ObjectKeyFromObject(paused), paused.UID)
	if err := f.r.wakes.Start(t.Context(), f.queue); err != nil {
		t.Fatal(err)
	}
	if got := f.woken(); got != client.ObjectKeyFromObject(paused) {
		t.Errorf("%s is queued", got)
	}
}

// TestSecretWakes checks that a Secret that is created or repaired ends the pause after a failure, and that other changes do not.
func TestSecretWakes(t *testing.T) {
	k, other := klustertest.Kluster("k"), klustertest.Kluster("other", pods("100.101.0.0/16"))
	f := newFlow(t, k, other)
	secretChanged := func() {
		t.Helper()
		secret := kluster.SecretMetadata()
		secret.Namespace, secret.Name = klustertest.Namespace, "k-secret"
		requests := f.r.wakes.secretChanged(f.store)(t.Context(), secret)
		if len(requests) != 1 || requests[0].NamespacedName != client.ObjectKeyFromObject(k) {
			t.Fatalf("woken: %v", requests)
		}
	}
	f.pass(k, 0)
	secretChanged()
	if wait := f.reconcile(k).RequeueAfter; wait < 4*time.Minute {
		t.Errorf("all is well: the next reconciliation is in %s", wait)
	}

	// Rejected credentials.
	f.AddUser("gardener", "another", "garden")
	f.RevokeTokens()
	if got := f.pass(k, 6*time.Minute); got != "Unknown/CredentialsRefused" {
		t.Fatal(got)
	}
	secret := klustertest.Secret("k-secret", f.AuthURL(), "gardener", "another", "garden", nil)
	if err := f.store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if wait := f.reconcile(k).RequeueAfter; wait < 50*time.Second {
		t.Errorf("not notified yet: the next reconciliation is in %s", wait)
	}
	secretChanged()
	if got := f.pass(k, 0); got != "True/"+ReasonClean {
		t.Errorf("repaired: %s", got)
	}

	// None, and then one.
	f.store.Remove(secret)
	if got := f.pass(k, 6*time.Minute); got != "Unknown/CredentialsInvalid" {
		t.Fatal(got)
	}
	secret.ResourceVersion = ""
	if err := f.store.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	secretChanged()
	if got := f.pass(k, 0); got != "True/"+ReasonClean {
		t.Errorf("created: %s", got)
	}

	// A cloud that requests a pause gets it.
	f.Inject(fake.Fault{Method: "GET", Path: "/network/v2.0/routers/" + f.router, Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "600"}, Times: 1})
	if got := f.pass(k, 6*time.Minute); got != "Unknown/RateLimited" {
		t.Fatal(got)
	}
	secretChanged()
	if wait := f.reconcile(k).RequeueAfter; wait != 10*time.Minute {
		t.Errorf("a busy cloud: the next reconciliation is in %s", wait)
	}
}
