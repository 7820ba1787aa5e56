// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// snapshot returns one with a content of the same name.
func snapshot(name string, change ...func(*inventory.Meta)) inventory.Snapshot {
	return inventory.Snapshot{Meta: meta(name, change...), Content: name}
}

func content(name string, change ...func(*inventory.Content)) inventory.Content {
	c := inventory.Content{Meta: meta(name), Driver: inventory.DriverCinder, Handle: "id-" + name, Delete: true,
		Snapshot: inventory.Reference{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, UID: types.UID(name)}}
	c.Namespace = ""
	for _, f := range change {
		f(&c)
	}
	return c
}

func TestSnapshots(t *testing.T) {
	kept := func(c *inventory.Content) { c.Delete = false }
	others := func(c *inventory.Content) { c.Driver = "other" }
	for name, c := range map[string]struct {
		snapshots []inventory.Snapshot
		contents  []inventory.Content
		change    func(*stage.Work)
		want      []string
	}{
		"none": {},
		"bound": {[]inventory.Snapshot{snapshot("a")}, []inventory.Content{content("a")}, nil,
			[]string{"delete VolumeSnapshot a", "remains VolumeSnapshotContent a: it is deleted with its VolumeSnapshot"}},
		"not recorded": {[]inventory.Snapshot{snapshot("a")}, []inventory.Content{content("a"), content("b")}, unrecorded,
			[]string{"remains VolumeSnapshot a: it is recorded in the status first", "remains VolumeSnapshotContent a: it is deleted with its VolumeSnapshot",
				"remains VolumeSnapshotContent b: it is recorded in the status first"}},
		"going": {[]inventory.Snapshot{snapshot("a", deleting)}, []inventory.Content{content("a", func(c *inventory.Content) { deleting(&c.Meta) })}, nil,
			[]string{"remains VolumeSnapshot a: it is being deleted…", "remains VolumeSnapshotContent a: it is being deleted…"}},
		"content alone": {nil, []inventory.Content{content("a")}, nil, []string{"delete VolumeSnapshotContent a"}},
		"content not taken yet": {[]inventory.Snapshot{snapshot("a")}, []inventory.Content{content("a", func(c *inventory.Content) { c.Handle = "" })}, nil,
			[]string{"delete VolumeSnapshot a", "remains VolumeSnapshotContent a: it is deleted with its VolumeSnapshot"}},
		"kept content": {[]inventory.Snapshot{snapshot("a")}, []inventory.Content{content("a", kept), content("b", kept)}, nil,
			[]string{"delete VolumeSnapshot a", "retained VolumeSnapshotContent a: its deletion policy is not Delete", "retained VolumeSnapshotContent b: its deletion policy is not Delete"}},
		"another driver's":                         {[]inventory.Snapshot{snapshot("a"), {Meta: meta("b"), Class: "others"}}, []inventory.Content{content("a", others), content("c", others)}, nil, nil},
		"another driver's, in a class of Cinder's": {[]inventory.Snapshot{{Meta: meta("a"), Content: "a", Class: "cinder"}}, []inventory.Content{content("a", others)}, nil, nil},
		"by its class":                             {[]inventory.Snapshot{{Meta: meta("a"), Class: "cinder"}}, nil, nil, []string{"delete VolumeSnapshot a"}},
		"without any class":                        {[]inventory.Snapshot{{Meta: meta("a")}}, nil, nil, nil},
		"bound on one side only": {[]inventory.Snapshot{{Meta: meta("a"), Class: "others"}}, []inventory.Content{content("a")}, unrecorded,
			[]string{"remains VolumeSnapshot a: it is recorded in the status first", "remains VolumeSnapshotContent a: it is deleted with its VolumeSnapshot"}},
		"retained": {[]inventory.Snapshot{snapshot("a")}, []inventory.Content{content("a"), content("b", others)},
			func(s *stage.Work) { s.Policies.Snapshots = kubernikusv1.DeletionPolicyRetain },
			[]string{"retained VolumeSnapshot a: spec.deorbit.snapshots is Retain", "retained VolumeSnapshotContent a: spec.deorbit.snapshots is Retain"}},
		"retained with the volumes": {[]inventory.Snapshot{snapshot("a")}, []inventory.Content{content("a")}, retainVolumes,
			[]string{"retained VolumeSnapshot a: spec.deorbit.persistentVolumes is Retain", "retained VolumeSnapshotContent a: spec.deorbit.persistentVolumes is Retain"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := inventory.World{SnapshotVersion: "v1beta1", SnapshotDrivers: map[string]string{"cinder": inventory.DriverCinder, "others": "other"}, Snapshots: c.snapshots, Contents: c.contents}
			s := work(&w)
			if c.change != nil {
				c.change(&s)
			}
			p := Snapshots(&w, s)
			check(t, p, c.want...)
			for _, step := range p.Steps {
				if step.Resource.Version != "v1beta1" || step.Resource.Group != SnapshotGroup || !step.Exact {
					t.Errorf("%+v", step)
				}
			}
		})
	}
}

// TestRecord checks that everything with resources in OpenStack is recorded once, and that what a user retains is retained.
func TestRecord(t *testing.T) {
	w := inventory.World{
		Volumes: []inventory.Volume{
			volume("a"), volume("b", keeps), volume("c", unclaimed), volume("d", foreign), volume("failed", func(v *inventory.Volume) { v.Phase = corev1.VolumeFailed }),
			volume("twice"), volume("keeper", keeps, func(v *inventory.Volume) { v.ID = "id-twice" }), volume("thrice", func(v *inventory.Volume) { v.ID = "id-twice" }),
			volume("reserved", func(v *inventory.Volume) { v.Claim.UID = "" }),
		},
		Contents: []inventory.Content{
			content("a"), content("b", func(c *inventory.Content) { c.Delete = false }), content("c", func(c *inventory.Content) { c.Handle = "" }),
			content("d", func(c *inventory.Content) { c.Driver = "other" }), content("twice"),
			content("keeper", func(c *inventory.Content) { c.Delete, c.Handle = false, "id-twice" }),
		},
		Services: []inventory.Service{service("a"), service("b", func(s *inventory.Service) { s.Keep = true }), service("c", func(s *inventory.Service) { s.Class = "other" }),
			service("d", func(s *inventory.Service) { s.LoadBalancer = false })},
	}
	want := stage.Seen{
		Volumes: []kubernikusv1.SeenVolume{{ID: "id-a", Name: "a", ReclaimPolicy: "Delete"}, {ID: "id-b", Name: "b", ReclaimPolicy: "Retain"},
			{ID: "id-c", Name: "c"}, {ID: "id-failed", Name: "failed", ReclaimPolicy: "Delete"},
			{ID: "id-twice", Name: "keeper", ReclaimPolicy: "Retain"}, {ID: "id-reserved", Name: "reserved"}},
		Snapshots: []kubernikusv1.SeenSnapshot{{ID: "id-a", Name: "a", DeletionPolicy: "Delete"}, {ID: "id-b", Name: "b", DeletionPolicy: "Retain"},
			{ID: "id-twice", Name: "keeper", DeletionPolicy: "Retain"}},
		Services: []kubernikusv1.SeenService{{UID: "a", Namespace: "shop", Name: "a"}, {UID: "b", Namespace: "shop", Name: "b", KeepFloatingIP: true}, {UID: "d", Namespace: "shop", Name: "d"}},
	}
	for name, p := range map[string]Plan{
		"record": Record(&w, stage.Seen{}), "retained": Claims(&w, work(&w, retainVolumes)), "pods": Pods(&w, work(&w)), "snapshots": Snapshots(&w, work(&w, unrecorded)),
		"services": Services(&w, work(&w)), "wait": Wait(&w, work(&w)),
	} {
		if diff := cmp.Diff(want, p.Seen); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if p := Record(&w, stage.Seen{}); len(descriptions(p)) > 0 {
		t.Errorf("it does more than recording: %v", descriptions(p))
	}
}
