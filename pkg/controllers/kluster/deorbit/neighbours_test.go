// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// Of two clusters that are torn down at the same time, the annotation self-destruct ends one, and the other one continues.
func TestSelfDestructOfOneOfTwo(t *testing.T) {
	east, west := deleted("east"), deleted("west")
	f := newFlow(t, east, west, secretOf("east-secret"), secretOf("west-secret"))
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	for _, k := range []*kubernikusv1.Kluster{east, west} {
		f.turn(k)
		f.is(k, claims, "False/Claims")
	}
	f.change(east, func() { klustertest.Annotated(kubernikusv1.SelfDestructAnnotation)(east) })
	f.turn(east)
	f.is(east, claims, "False/Claims") // only the value now counts
	f.change(east, func() { east.Annotations[kubernikusv1.SelfDestructAnnotation] = kubernikusv1.SelfDestructNow })
	f.turn(east)
	if f.get(east) {
		t.Errorf("east is not released: %+v", east.Status.Deorbit)
	}
	f.after(time.Minute, west)
	f.is(west, claims, "False/Claims")
	if !west.HasDeorbiter() || len(west.Status.Deorbit.Remaining) != 1 {
		t.Errorf("west has finalizers %v, and %+v remains", west.Finalizers, west.Status.Deorbit.Remaining)
	}
	f.remains(claims)
	f.after(time.Minute, west)
	if f.get(west) {
		t.Errorf("west is not released: %+v", west.Status.Deorbit)
	}
}
