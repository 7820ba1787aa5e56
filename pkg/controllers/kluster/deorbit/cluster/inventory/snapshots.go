// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot is a VolumeSnapshot.
type Snapshot struct {
	Meta
	// Content is the name of its VolumeSnapshotContent, bound or requested.
	Content string
	Class   string
}

// SnapshotOf returns what is kept of a VolumeSnapshot of any version.
func SnapshotOf(u *unstructured.Unstructured) Snapshot {
	return Snapshot{
		Meta:    MetaOf(u),
		Content: cmp.Or(text(u, "status", "boundVolumeSnapshotContentName"), text(u, "spec", "source", "volumeSnapshotContentName")),
		Class:   text(u, "spec", "volumeSnapshotClassName"),
	}
}

// Content is a VolumeSnapshotContent.
type Content struct {
	Meta
	Driver string
	// Handle is the snapshot in the driver's own terms: of Cinder its id. It is empty until the snapshot was taken.
	Handle string
	// Volume is the volume that the snapshot was taken of, in the driver's own terms. It is empty when unknown.
	Volume string
	// Delete reports that the deletion policy deletes the snapshot.
	Delete   bool
	Snapshot Reference
}

// ContentOf returns what is kept of a VolumeSnapshotContent of any version.
func ContentOf(u *unstructured.Unstructured) Content {
	return Content{
		Meta: MetaOf(u), Driver: text(u, "spec", "driver"), Delete: text(u, "spec", "deletionPolicy") == "Delete",
		Handle: cmp.Or(text(u, "status", "snapshotHandle"), text(u, "spec", "source", "snapshotHandle")),
		Volume: text(u, "spec", "source", "volumeHandle"),
		Snapshot: Reference{
			types.NamespacedName{Namespace: text(u, "spec", "volumeSnapshotRef", "namespace"), Name: text(u, "spec", "volumeSnapshotRef", "name")},
			types.UID(text(u, "spec", "volumeSnapshotRef", "uid")),
		},
	}
}

// Policy returns what becomes of the snapshot in Cinder: Delete or Retain.
func (c Content) Policy() string {
	if c.Delete {
		return "Delete"
	}
	return "Retain"
}

// SnapshotClass is a VolumeSnapshotClass.
type SnapshotClass struct{ Name, Driver string }

// SnapshotClassOf returns what is kept of a VolumeSnapshotClass of any version.
func SnapshotClassOf(u *unstructured.Unstructured) SnapshotClass {
	return SnapshotClass{Name: u.GetName(), Driver: text(u, "driver")}
}

func text(u *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(u.Object, path...) // a value that is not a string is treated as missing
	return value
}

// OwnContents returns the contents of drivers whose snapshots are deleted.
func (w *World) OwnContents() []Content {
	return slices.DeleteFunc(slices.Clone(w.Contents), func(c Content) bool { return !w.Deletes(c.Driver) })
}

// Taken is a VolumeSnapshot with its content; nil is none.
type Taken struct {
	Snapshot
	Of *Content
}

// OwnSnapshots returns the snapshots that drivers took, or will take, whose snapshots are deleted.
func (w *World) OwnSnapshots() []Taken {
	byUID, byName := map[types.UID]*Content{}, map[string]*Content{}
	for i := range w.Contents {
		c := &w.Contents[i]
		byName[c.Name] = c
		if c.Snapshot.UID != "" {
			byUID[c.Snapshot.UID] = c
		}
	}
	var snapshots []Taken
	for _, s := range w.Snapshots {
		content, driver := cmp.Or(byUID[s.UID], byName[s.Content]), w.SnapshotDrivers[s.Class]
		if content != nil {
			driver = content.Driver
		}
		if w.Deletes(driver) {
			snapshots = append(snapshots, Taken{s, content})
		}
	}
	return snapshots
}
