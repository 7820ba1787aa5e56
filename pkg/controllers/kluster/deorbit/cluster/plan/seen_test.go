// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// TestTwoVolumesOfOne checks that of two PersistentVolumes with one volume the one is recorded that keeps it most, in whatever order they
// are listed.
func TestTwoVolumesOfOne(t *testing.T) {
	of := func(name string, change func(*inventory.Volume)) inventory.Volume {
		return volume(name, func(v *inventory.Volume) {
			v.ID = "shared"
			change(v)
		})
	}
	deleted := of("deleted", func(*inventory.Volume) {})
	unclaimed := of("unclaimed", func(v *inventory.Volume) { v.Claim = inventory.Reference{} })
	kept := of("kept", func(v *inventory.Volume) { v.Delete = false })
	for name, c := range map[string]struct {
		volumes      []inventory.Volume
		want, policy string
	}{
		"kept, deleted":      {[]inventory.Volume{kept, deleted}, "kept", keep},
		"deleted, kept":      {[]inventory.Volume{deleted, kept}, "kept", keep},
		"unclaimed, deleted": {[]inventory.Volume{unclaimed, deleted}, "unclaimed", ""},
		"deleted, unclaimed": {[]inventory.Volume{deleted, unclaimed}, "unclaimed", ""},
		"kept, unclaimed":    {[]inventory.Volume{kept, unclaimed}, "kept", keep},
		"unclaimed, kept":    {[]inventory.Volume{unclaimed, kept}, "kept", keep},
	} {
		t.Run(name, func(t *testing.T) {
			got := seen(&inventory.World{Volumes: c.volumes, Listed: inventory.Listed{Volumes: true}}, stage.Seen{}).Volumes
			if len(got) != 1 {
				t.Fatalf("recorded %d volumes, want 1", len(got))
			}
			want := kubernikusv1.SeenVolume{ID: "shared", Name: c.want, ReclaimPolicy: c.policy}
			if got[0].ID != want.ID || got[0].Name != want.Name || got[0].ReclaimPolicy != want.ReclaimPolicy {
				t.Errorf("recorded %s of %s with policy %q, want %s of %s with policy %q",
					got[0].Name, got[0].ID, got[0].ReclaimPolicy, want.Name, want.ID, want.ReclaimPolicy)
			}
		})
	}
}
