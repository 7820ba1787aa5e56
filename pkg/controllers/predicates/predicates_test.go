// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func node(uid, version, provider string) client.Object {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}, Spec: corev1.NodeSpec{ProviderID: provider}}
}

func TestChanged(t *testing.T) {
	changed := Changed(func(before, after *corev1.Node) bool { return before.Spec.ProviderID != after.Spec.ProviderID })
	for name, tc := range map[string]struct {
		before, after client.Object
		want          bool
	}{
		"relevant":     {node("a", "1", "x"), node("a", "2", "y"), true},
		"irrelevant":   {node("a", "1", "x"), node("a", "2", "x"), false},
		"resync":       {node("a", "1", "x"), node("a", "1", "x"), true},
		"recreated":    {node("a", "1", "x"), node("b", "2", "x"), true},
		"another type": {&corev1.Pod{}, &corev1.Pod{}, false},
	} {
		if got := changed.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: admitted = %v, want %v", name, got, tc.want)
		}
	}
	if !changed.Create(event.CreateEvent{}) || !changed.Delete(event.DeleteEvent{}) {
		t.Error("creations and deletions are dropped")
	}
}
