// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestDetachWaitsForManagementCluster checks that a Kluster is not released with a frozen cluster because the management cluster does not
// respond, or another process may write: neither reports anything of the workload cluster.
func TestDetachWaitsForManagementCluster(t *testing.T) {
	fails := func(read func(object runtime.Object) bool) func(*flow) {
		return func(f *flow) {
			f.store.Read = func(_ string, object runtime.Object) error {
				if read(object) {
					return errDown
				}
				return nil
			}
		}
	}
	get := func(object runtime.Object) bool { _, is := object.(*kubernikusv1.Kluster); return is }
	list := func(object runtime.Object) bool { _, is := object.(*kubernikusv1.KlusterList); return is }
	for name, tc := range map[string]struct {
		breaks func(f *flow)
		// want is a part of the error.
		want string
	}{
		"the Kluster cannot be read":  {fails(get), "get kluster garden-shop/k"},
		"the Klusters cannot be read": {fails(list), "list klusters"},
		"another process may write it": {func(f *flow) {
			f.id = func(context.Context) (types.UID, error) {
				f.lost, f.thawErr = errDown, errDown
				return otherUID, nil
			}
		}, errDown.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			f.remains(claims, thing("PersistentVolumeClaim", "a"))
			f.turn(k)
			f.annotate(k, kubernikusv1.DetachAnnotation)
			f.reported()
			tc.breaks(f)
			if err := f.work(t.Context(), k); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
			if text := f.reported(); !f.store.Find(k) || f.thaws != 0 || text != "" {
				t.Fatalf("released = %t, thaws = %d, events: %s; want none while nothing is known", !f.store.Find(k), f.thaws, text)
			}
			f.store.Read, f.id, f.lost, f.thawErr = nil, nil, nil, nil
			if f.turn(k); f.store.Find(k) || f.thaws != 1 {
				t.Errorf("released = %t, thaws = %d, want 1", !f.store.Find(k), f.thaws)
			}
			if text := f.reported(); !strings.Contains(text, "Normal Thawed") {
				t.Errorf("events: %s, want that the freeze was lifted", text)
			}
		})
	}
}

// TestDetachNamesTheCause checks that what keeps a freeze from being lifted is not blamed on the API server of the cluster.
func TestDetachNamesTheCause(t *testing.T) {
	k, secret := deleted("k"), secretOf("k-secret")
	f := newFlow(t, k, secret)
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.turn(k)
	f.id = func(context.Context) (types.UID, error) { return "wrong", nil }
	f.annotate(k, kubernikusv1.DetachAnnotation)
	f.reported()
	f.turn(k)
	if text := f.reported(); !strings.Contains(text, "Warning Thawed") || !strings.Contains(text, "leads to another cluster") ||
		strings.Contains(text, "cannot be used") {
		t.Errorf("events: %s, want that the Secret leads to another cluster", text)
	}
}
