// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func TestChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*kubernikusv1.Kluster)
		want   bool
	}{
		"a resync":                  {func(k *kubernikusv1.Kluster) { k.ResourceVersion = "1" }, true},
		"the spec":                  {func(k *kubernikusv1.Kluster) { k.Generation++ }, true},
		"an annotation":             {klustertest.Annotated("groundskeeper.io/paused"), true},
		"Groundskeeper's finalizer": {func(k *kubernikusv1.Kluster) { k.Finalizers = nil }, true},
		"the API server":            {servedAt("https://a.example"), true},
		"a label":                   {func(k *kubernikusv1.Kluster) { k.Labels = map[string]string{"a": "b"} }, false},
		"own condition":             {func(k *kubernikusv1.Kluster) { k.Status.Conditions = []metav1.Condition{*announced(k)} }, false},
		"another finalizer":         {func(k *kubernikusv1.Kluster) { k.Finalizers = append(k.Finalizers, "a/b") }, false},
		"how far Deorbit has":       {func(k *kubernikusv1.Kluster) { k.Status.Deorbit = &kubernikusv1.DeorbitStatus{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := klustertest.Kluster("k", toBeAnnounced, func(k *kubernikusv1.Kluster) { k.ResourceVersion = "1" })
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			tc.change(after)
			if got := changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("admitted = %t, want %t", got, tc.want)
			}
		})
	}
}

func names(requests []reconcile.Request) (all string) {
	for _, request := range requests {
		all += request.String() + " "
	}
	return all
}

// TestUsersOf checks that a Secret is mapped to the Kluster whose credentials it has, and to the one whose announcement it is part
// of.
func TestUsersOf(t *testing.T) {
	here, there := klustertest.Kluster("here", toBeAnnounced), klustertest.Kluster("there", toBeAnnounced, func(k *kubernikusv1.Kluster) {
		k.Spec.Discovery.Namespace = "elsewhere"
		k.Spec.SecretRef.Name = "shared"
	})
	f := newFlow(t, here, there, klustertest.Kluster("plain"), klustertest.Kluster("gone", toBeAnnounced, klustertest.Going))
	for _, tc := range []struct{ namespace, name, want string }{
		{klustertest.Namespace, "here-secret", "garden-shop/here "},
		{klustertest.Namespace, "shared", "garden-shop/there "},
		{klustertest.Namespace, "plain-secret", ""},
		{klustertest.Namespace, "gone-secret", ""},
		{"garden-bank", "here-secret", ""},
		{discoveryNamespace, "here-discovery", "garden-shop/here "},
		{discoveryNamespace, "there-discovery", ""},
		{"elsewhere", "there-discovery", "garden-shop/there "},
		{"elsewhere", "there", ""},
	} {
		secret := credentials(tc.name, "")
		secret.Namespace = tc.namespace
		if got := names(f.r.usersOf(t.Context(), secret)); got != tc.want {
			t.Errorf("%s/%s concerns %q, want %q", tc.namespace, tc.name, got, tc.want)
		}
	}
}

func TestConcernedBy(t *testing.T) {
	f := newFlow(t, klustertest.Kluster("k", toBeAnnounced), klustertest.Kluster("other", toBeAnnounced))
	backend := func(name string, generation int64, owner string) *resourcewatch.Object {
		object := &resourcewatch.Object{Value: owner}
		object.Namespace, object.Name, object.Generation = discoveryNamespace, name, generation
		return object
	}
	for name, tc := range map[string]struct {
		event resourcewatch.Event
		want  string
	}{
		"it was there before":     {resourcewatch.Event{New: backend("k", 1, "k-uid"), Initial: true}, ""},
		"own one created":         {resourcewatch.Event{New: backend("k", 1, "k-uid")}, "garden-shop/k "},
		"own one deleted":         {resourcewatch.Event{Old: backend("k", 1, "k-uid")}, "garden-shop/k "},
		"own one changed":         {resourcewatch.Event{Old: backend("k", 1, "k-uid"), New: backend("k", 2, "k-uid")}, "garden-shop/k "},
		"its label was changed":   {resourcewatch.Event{Old: backend("k", 1, "k-uid"), New: backend("k", 1, "")}, "garden-shop/k "},
		"its status was changed":  {resourcewatch.Event{Old: backend("k", 1, "k-uid"), New: backend("k", 1, "k-uid")}, ""},
		"another owner's deleted": {resourcewatch.Event{Old: backend("k", 1, "")}, "garden-shop/k "},
		"another one":             {resourcewatch.Event{Old: backend("z", 1, "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(f.r.concernedBy(t.Context(), tc.event)); got != tc.want {
				t.Errorf("concerned = %q, want %q", got, tc.want)
			}
		})
	}
	labelled := backendOf(klustertest.Kluster("k"))
	if kept := backendKind().Metadata(labelled); kept != "k-uid" {
		t.Errorf("kept %v", kept)
	}
}
