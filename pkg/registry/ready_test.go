// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// Flux, Helm and cli-utils wait by kstatus. No revision of an object is ready for them before its controllers reconciled its
// generation, and none stays ready in the write that changes it.
func TestReadyOnlyWhenReconciled(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		created := kind.good()
		reconcile(created, 1) // claimed by the client
		if err := kind.create(t, created); err != nil {
			t.Fatal(err)
		}
		created.SetResourceVersion("1")
		wantStatus(t, "created", created, status.InProgressStatus)

		reconciled := copied(created)
		reconcile(reconciled, 1)
		if err := kind.updateStatus(t, reconciled, created); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "reconciled", reconciled, status.CurrentStatus)

		labelled := copied(reconciled)
		labelled.SetLabels(map[string]string{"a": "b"})
		if err := kind.update(t, labelled, reconciled); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "with another label", labelled, status.CurrentStatus)

		changed := copied(reconciled)
		kind.change(changed)
		if err := kind.update(t, changed, reconciled); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "changed", changed, status.InProgressStatus)

		late := copied(changed)
		reconcile(late, 1) // a controller that does not know of the change
		if err := kind.updateStatus(t, late, changed); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "reconciled by its former spec", late, status.InProgressStatus)

		caughtUp := copied(late)
		reconcile(caughtUp, 2)
		if err := kind.updateStatus(t, caughtUp, late); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "reconciled again", caughtUp, status.CurrentStatus)

		again := copied(caughtUp)
		if err := kind.updateStatus(t, again, caughtUp); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(caughtUp, again); diff != "" {
			t.Errorf("a status update that changes nothing changes the object:\n%s", diff)
		}
	})
}

// A writer of the status cannot report that an object is ready: its conditions report so, or not.
func TestReadyCannotBeClaimed(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		old := kind.stored(t)
		o := copied(old)
		claim(o)
		if err := kind.updateStatus(t, o, old); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "claimed to be ready", o, status.InProgressStatus)
	})
}

func wantStatus(t *testing.T, what string, o registry.Object, want status.Status) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != want {
		t.Errorf("%s: kstatus = %s (%s), want %s", what, result.Status, result.Message, want)
	}
}

// reconcile writes a status as the controllers do when all is well.
func reconcile(o registry.Object, generation int64) {
	good := func(kinds ...string) []metav1.Condition {
		var list []metav1.Condition
		for _, kind := range kinds {
			list = append(list, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Good", Message: "good",
				ObservedGeneration: generation, LastTransitionTime: o.GetCreationTimestamp()})
		}
		return list
	}
	switch o := o.(type) {
	case *gardenerv1beta1.Project:
		o.Status.Phase, o.Status.ObservedGeneration = gardenerv1beta1.ProjectReady, generation
		o.Status.Conditions = nil
		for _, kind := range []gardenerv1beta1.ConditionType{gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ProjectRBACReady} {
			o.Status.Conditions = append(o.Status.Conditions, gardenerv1beta1.Condition{Type: kind, Status: gardenerv1beta1.ConditionTrue, Reason: "Good"})
		}
	case *kubernikusv1.Kluster:
		o.Status.ObservedGeneration = generation
		o.Status.Conditions = good(kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable)
	case *midonetv1.Translation:
		o.Status.ObservedGeneration, o.Status.Conditions = generation, good(midonetv1.ConditionSynced)
	case *gimbalv1.DiscoveryBackend:
		o.Status.ObservedGeneration = generation
		o.Status.Conditions = good(gimbalv1.ConditionAvailable, gimbalv1.ConditionCredentialsValid, gimbalv1.ConditionDiscovered, gimbalv1.ConditionDrained)
		if o.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance {
			drained := &o.Status.Conditions[3]
			drained.Status, drained.Reason = metav1.ConditionFalse, "Enabled"
		}
	}
}

// claim writes nothing but the condition Ready.
func claim(o registry.Object) {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Claimed", Message: "claimed", LastTransitionTime: o.GetCreationTimestamp()}
	switch o := o.(type) {
	case *gardenerv1beta1.Project:
		o.Status.Conditions = []gardenerv1beta1.Condition{{Type: "Ready", Status: gardenerv1beta1.ConditionTrue}}
	case *kubernikusv1.Kluster:
		o.Status.Conditions = []metav1.Condition{c}
	case *midonetv1.Translation:
		o.Status.Conditions = []metav1.Condition{c}
	case *gimbalv1.DiscoveryBackend:
		o.Status.Conditions = []metav1.Condition{c}
	}
}
