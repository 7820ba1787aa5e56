// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestListedKlusters checks that the lists of the checks have what a Kluster is recognized by, and not what is recorded for itself only.
func TestListedKlusters(t *testing.T) {
	k := deleted("k", func(k *kubernikusv1.Kluster) {
		k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: verify, ClusterName: "web", CSIClusterID: "csi", ClusterID: "c",
			Remaining: []kubernikusv1.DeorbitObject{{Kind: "Volume"}}, Retained: []kubernikusv1.DeorbitObject{{Kind: "Volume"}},
			Undecided: []kubernikusv1.DeorbitObject{{Kind: "Volume"}}, SeenVolumes: []kubernikusv1.SeenVolume{{ID: "1"}},
			SeenSnapshots: []kubernikusv1.SeenSnapshot{{ID: "2"}}, SeenServices: []kubernikusv1.SeenService{{UID: "3"}}}
	})
	f := newFlow(t, k)
	all, err := f.r.klusters(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v, want one Kluster", all, err)
	}
	d := all[0].Status.Deorbit
	if d == nil || d.Stage != verify || d.ClusterName != "web" || d.CSIClusterID != "csi" || d.ClusterID != "c" || !all[0].HasDeorbiter() {
		t.Errorf("got %+v, want its stage and its names", d)
	}
	if n := len(d.Remaining) + len(d.Retained) + len(d.Undecided) + len(d.SeenVolumes) + len(d.SeenSnapshots) + len(d.SeenServices); n > 0 {
		t.Errorf("got %+v, want no records", d)
	}
	if f.store.Find(k); len(k.Status.Deorbit.Remaining) != 1 {
		t.Errorf("the stored Kluster has %+v, want its records", k.Status.Deorbit)
	}
}
