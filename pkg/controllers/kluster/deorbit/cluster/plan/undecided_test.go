// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// TestUndecide checks that volumes that neither Deorbit deletes nor anybody requested to keep are reported, with their ids.
func TestUndecide(t *testing.T) {
	const other = "nfs.csi.k8s.io"
	share := inventory.Volume{Meta: inventory.Meta{Name: "pv"}, Driver: other, Handle: "share-1", Delete: true}
	left := kubernikusv1.DeorbitObject{Kind: KindVolume, Name: "pv", ID: "share-1", Reason: "CSI driver " + other + " provides it: not checked"}
	for name, c := range map[string]struct {
		volume   inventory.Volume
		unlisted bool
		policy   kubernikusv1.DeletionPolicy
		want     []kubernikusv1.DeorbitObject
	}{
		"a share":                   {volume: share, want: []kubernikusv1.DeorbitObject{left}},
		"its reclaim policy":        {volume: inventory.Volume{Driver: other, Handle: "share-1"}},
		"spec.deorbit":              {volume: share, policy: kubernikusv1.DeletionPolicyRetain},
		"volumes were not listed":   {volume: share, unlisted: true},
		"of no CSI driver":          {volume: inventory.Volume{Delete: true}},
		"of Manila":                 {volume: inventory.Volume{ID: "s", Share: true, Delete: true, Claim: inventory.Reference{UID: types.UID("u")}}},
		"of Cinder":                 {volume: inventory.Volume{ID: "v", Delete: true, Claim: inventory.Reference{UID: types.UID("u")}}},
		"of Cinder, never claimed":  {volume: inventory.Volume{ID: "v", Delete: true}, want: []kubernikusv1.DeorbitObject{{Kind: KindVolume, ID: "v", Reason: "no claim ever had it"}}},
		"of Cinder, Retain, static": {volume: inventory.Volume{ID: "v"}},
	} {
		t.Run(name, func(t *testing.T) {
			policy := c.policy
			if policy == "" {
				policy = kubernikusv1.DeletionPolicyDelete
			}
			p := Plan{}
			p.Undecide(&inventory.World{Volumes: []inventory.Volume{c.volume}, Listed: inventory.Listed{Volumes: !c.unlisted}}, stage.Policies{PersistentVolumes: policy})
			if !slices.Equal(p.Undecided, c.want) {
				t.Errorf("undecided: got %+v, want %+v", p.Undecided, c.want)
			}
		})
	}
}

// TestUndecideSnapshots checks the same of snapshots that another driver provides.
func TestUndecideSnapshots(t *testing.T) {
	const other = "nfs.csi.k8s.io"
	all := stage.Policies{PersistentVolumes: kubernikusv1.DeletionPolicyDelete, Snapshots: kubernikusv1.DeletionPolicyDelete}
	content := inventory.Content{Meta: inventory.Meta{Name: "c"}, Driver: other, Handle: "snapshot-1", Delete: true}
	left := kubernikusv1.DeorbitObject{Kind: KindContent, Name: "c", ID: "snapshot-1", Reason: "CSI driver " + other + " provides it: not checked"}
	for name, c := range map[string]struct {
		content  inventory.Content
		unlisted bool
		policies stage.Policies
		want     []kubernikusv1.DeorbitObject
	}{
		"of a share":                     {content: content, policies: all, want: []kubernikusv1.DeorbitObject{left}},
		"its deletion policy":            {content: inventory.Content{Driver: other, Handle: "snapshot-1"}, policies: all},
		"spec.deorbit.snapshots":         {content: content, policies: stage.Policies{PersistentVolumes: kubernikusv1.DeletionPolicyDelete}},
		"spec.deorbit.persistentVolumes": {content: content, policies: stage.Policies{Snapshots: kubernikusv1.DeletionPolicyDelete}},
		"snapshots were not listed":      {content: content, policies: all, unlisted: true},
		"of Manila":                      {content: inventory.Content{Driver: "nfs.manila.csi.openstack.org", Handle: "s", Delete: true}, policies: all},
		"of Cinder":                      {content: inventory.Content{Driver: inventory.DriverCinder, Handle: "s", Delete: true}, policies: all},
	} {
		t.Run(name, func(t *testing.T) {
			p := Plan{}
			p.Undecide(&inventory.World{Contents: []inventory.Content{c.content}, Listed: inventory.Listed{Snapshots: !c.unlisted}}, c.policies)
			if !slices.Equal(p.Undecided, c.want) {
				t.Errorf("undecided: got %+v, want %+v", p.Undecided, c.want)
			}
		})
	}
}
