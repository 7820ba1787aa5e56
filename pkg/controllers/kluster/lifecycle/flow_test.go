// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func TestRegistration(t *testing.T) {
	k := klustertest.Kluster("k", wants("1.36.3"))
	f := newFlow(t, k)
	wantConditions(t, f.settled(k), "False/SecretMissing", "False/SecretMissing")
	if k.Status.Phase != kubernikusv1.KlusterPending {
		t.Errorf("without a Secret it is %s", k.Status.Phase)
	}
	secret := f.secret("k-secret")
	f.store.Add(secret)
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
	s := k.Status
	if s.Phase != kubernikusv1.KlusterRunning || s.ApiserverVersion != "v1.36.3" || s.ObservedGeneration != 1 ||
		s.Openstack == nil || s.Openstack.RouterID != f.router || s.Openstack.ProjectID != "garden" {
		t.Errorf("got %+v, %+v", s, s.Openstack)
	}
	if f.store.Find(secret); !isHeld(secret) {
		t.Error("the Secret can go before the Kluster")
	}
	// An unchanged state costs no write, and a check one request to the cloud.
	f.Requests()
	before := f.store.Count()
	f.clock.SetTime(f.clock.Now().Add(6 * time.Minute))
	f.settled(k)
	if requests := f.Requests(); f.store.Count() != before || len(requests) != 1 {
		t.Errorf("%d writes, %d requests", f.store.Count()-before, len(requests))
	}
	// New credentials are tried immediately.
	f.AddUser("gardener", "changed", "garden")
	f.RevokeTokens()
	f.store.Change(secret, func() { secret.Data["openstack-password"] = []byte("wrong") })
	wantConditions(t, f.settled(k), "True/Reachable", "False/CredentialsRefused")
	f.store.Change(secret, func() { secret.Data["openstack-password"] = []byte("changed") })
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
}

// TestForeignPhase checks that a phase that another client writes is retained.
func TestForeignPhase(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret"))
	f.store.Find(k)
	k.Status.Phase, k.Status.ApiserverVersion = kubernikusv1.KlusterCreating, "v1.0.0"
	if err := f.store.Status().Update(t.Context(), k, client.FieldOwner("kubernikus")); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
	if k.Status.Phase != kubernikusv1.KlusterCreating || k.Status.ApiserverVersion != "v1.0.0" {
		t.Errorf("Groundskeeper fights: %s, %s", k.Status.Phase, k.Status.ApiserverVersion)
	}
}

func TestPaused(t *testing.T) {
	k := klustertest.Kluster("k", klustertest.Annotated("groundskeeper.io/paused"))
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret"))
	if f.settled(k); klustertest.Condition(k, kubernikusv1.ConditionPaused) != "True/"+reasonPaused || len(k.Status.Conditions) != 1 || len(f.Requests()) > 0 {
		t.Errorf("got %+v", k.Status)
	}
	f.store.Change(k, func() { k.Annotations = nil })
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
	if klustertest.Condition(k, kubernikusv1.ConditionPaused) != "" {
		t.Error("the condition stays")
	}
}
