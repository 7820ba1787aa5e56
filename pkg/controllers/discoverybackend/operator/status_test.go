// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

func TestConditions(t *testing.T) {
	usable, bad := credentials{digest: "d"}, credentials{reason: reasonSecretMissing, problem: "no Secret"}
	running := appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	swapping := appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1}
	stuck := *swapping.DeepCopy()
	stuck.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: "too late"}}
	rejected := *stuck.DeepCopy()
	rejected.AvailableReplicas = 0
	restarting := running
	restarting.AvailableReplicas = 0
	unseen := running
	unseen.ObservedGeneration = 0
	synced := func(b *gimbalv1.DiscoveryBackend) { b.Status.LastSyncTime = new(metav1.Now()) }
	denied := func(b *gimbalv1.DiscoveryBackend) {
		synced(b)
		b.Status.Errors = []gimbalv1.DiscoveryError{{Type: gimbalv1.ErrorAuthentication, Message: "401"}}
	}
	accepted := func(b *gimbalv1.DiscoveryBackend) {
		synced(b)
		b.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionCredentialsValid, Status: metav1.ConditionTrue}}
	}
	elsewhere := func(b *gimbalv1.DiscoveryBackend) {
		accepted(b)
		b.Status.Errors = []gimbalv1.DiscoveryError{{Type: gimbalv1.ErrorAnotherCluster, Message: "another cluster"}}
	}
	none := func(*gimbalv1.DiscoveryBackend) {}
	for name, tc := range map[string]struct {
		found              findings
		deployment         *appsv1.DeploymentStatus
		backend            func(*gimbalv1.DiscoveryBackend)
		available, credits string
	}{
		"nothing yet":           {findings{credentials: usable}, nil, none, "False/" + reasonNotStarted, "Unknown/" + reasonNotTried},
		"no Secret":             {findings{credentials: bad}, nil, none, "False/" + reasonNotStarted, "False/" + reasonSecretMissing},
		"starting":              {findings{credentials: usable}, &appsv1.DeploymentStatus{}, none, "False/" + reasonStarting, "Unknown/" + reasonNotTried},
		"running":               {findings{credentials: usable}, &running, synced, "True/" + reasonDiscoverer, "True/" + reasonAccepted},
		"swapping":              {findings{credentials: usable}, &swapping, synced, "True/" + reasonRollingOut, "Unknown/" + reasonNotTried},
		"not seen yet":          {findings{credentials: usable}, &unseen, synced, "True/" + reasonRollingOut, "Unknown/" + reasonNotTried},
		"the new one is stuck":  {findings{credentials: usable}, &stuck, synced, "True/" + reasonRolloutStuck, "Unknown/" + reasonNotTried},
		"other credentials":     {findings{credentials: credentials{digest: "new"}}, &running, accepted, "True/" + reasonDiscoverer, "Unknown/" + reasonNotTried},
		"restarting":            {findings{credentials: usable}, &restarting, accepted, "False/" + reasonStarting, "True/" + reasonAccepted},
		"the first restart":     {findings{credentials: usable}, &restarting, synced, "False/" + reasonStarting, "Unknown/" + reasonNotTried},
		"another cluster":       {findings{credentials: usable}, &running, elsewhere, "True/" + reasonDiscoverer, "False/" + reasonAnotherCluster},
		"the first is stuck":    {findings{credentials: usable}, &rejected, none, "False/" + reasonRolloutStuck, "Unknown/" + reasonNotTried},
		"the backend denies it": {findings{credentials: usable}, &running, denied, "True/" + reasonDiscoverer, "False/" + reasonRefused},
		"the Secret went":       {findings{credentials: bad}, &running, synced, "True/" + reasonDiscoverer, "False/" + reasonSecretMissing},
		"the Secret is unknown": {findings{unread: errors.New("no response")}, &running, synced, "True/" + reasonDiscoverer, "Unknown/" + reasonSecretUnknown},
		"going":                 {findings{terminating: "it stops"}, nil, synced, "False/" + reasonDeletionPending, ""},
	} {
		t.Run(name, func(t *testing.T) {
			backend := testBackend(adminNamespace, "east")
			tc.backend(backend)
			if tc.deployment != nil {
				tc.found.deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "east-discoverer", UID: "u", Generation: 1}, Status: *tc.deployment}
				tc.found.deployment.Spec.Template.Annotations = map[string]string{annotationDigest: "d"}
			}
			conditions, _, changed := nextStatus(backend, tc.found, nil, time.Now())
			if !changed {
				t.Error("nothing to write")
			}
			for kind, want := range map[string]string{gimbalv1.ConditionAvailable: tc.available, gimbalv1.ConditionCredentialsValid: tc.credits} {
				got := ""
				if c := meta.FindStatusCondition(conditions, kind); c != nil {
					got = string(c.Status) + "/" + c.Reason
				}
				if got != want {
					t.Errorf("%s is %q, want %q", kind, got, want)
				}
			}
		})
	}
}

// TestErrorsOfOthersAreRetained checks that the operator adds and removes only its own entries, and retains those of the
// discoverer.
func TestErrorsOfOthersAreRetained(t *testing.T) {
	backend, secret := testBackend(adminNamespace, "east"), testSecret(adminNamespace, testKubeconfig)
	w := newWorld(t, backend)
	w.mustReconcile(backend)
	theirs := gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithStatus(gimbalapply.DiscoveryBackendStatus().WithErrors(
		gimbalapply.DiscoveryError().WithType(gimbalv1.ErrorAuthentication).WithMessage("401").WithStatusTime(metav1.Now())))
	if err := w.store.Status().Apply(t.Context(), theirs, client.FieldOwner("discoverer"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	if sent := w.mustReconcile(backend); len(sent) > 0 {
		t.Errorf("an entry of the discoverer leads to %q", sent)
	}
	if got := w.errors(backend); len(got) != 2 {
		t.Errorf("errors: %q", got)
	}
	w.store.Add(secret)
	w.mustReconcile(backend)
	if got := w.errors(backend); len(got) != 1 || !strings.HasSuffix(got[0], "401") {
		t.Errorf("errors: %q", got)
	}
	if got := w.condition(backend, gimbalv1.ConditionCredentialsValid); got != "False/"+reasonRefused {
		t.Error(got)
	}
}

// TestTimesStay checks that times change only together with what they refer to.
func TestTimesStay(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend)
	w.mustReconcile(backend)
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	if sent := w.mustReconcile(backend); len(sent) > 0 {
		t.Errorf("an hour later: %q", sent)
	}
}
