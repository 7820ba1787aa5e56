// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestChanged checks that the controller's own status updates trigger nothing, and that only a new range or router wakes siblings.
func TestChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change          func(*kubernikusv1.Kluster)
		itself, sibling bool
	}{
		"status":      {func(k *kubernikusv1.Kluster) { k.Status.Phase = kubernikusv1.KlusterRunning }, false, false},
		"a resync":    {func(k *kubernikusv1.Kluster) { k.ResourceVersion = "1" }, true, false},
		"spec":        {func(k *kubernikusv1.Kluster) { k.Generation++ }, true, false},
		"annotations": {klustertest.Annotated("groundskeeper.io/paused"), true, false},
		"deleted":     {klustertest.Going, true, false},
		"router":      {found, true, true},
		"range":       {pods("100.101.0.0/16"), false, true}, // with a generation, which is distinguished here
		"reachable": {func(k *kubernikusv1.Kluster) {
			k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionOpenStackReachable, Status: metav1.ConditionTrue}}
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := klustertest.Kluster("k"), klustertest.Kluster("k")
			before.ResourceVersion, after.ResourceVersion = "1", "2"
			c.change(after)
			update := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
			if itself, sibling := changed().Update(update), rangeChanged().Update(update); itself != c.itself || sibling != c.sibling {
				t.Errorf("wakes itself = %t, want %t; siblings = %t, want %t", itself, c.itself, sibling, c.sibling)
			}
		})
	}
}
