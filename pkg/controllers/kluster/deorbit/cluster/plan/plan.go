// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a stage of Deorbit does in a workload cluster. It has no clock and queries no server: observations are
// its input, actions and reports its output.
//
// One rule is in all of it: nothing is deleted before the status has the record of what it leaves in OpenStack.
package plan

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Kinds of objects in reports.
const (
	KindClaim    = "PersistentVolumeClaim"
	KindVolume   = "PersistentVolume"
	KindPod      = "Pod"
	KindSnapshot = "VolumeSnapshot"
	KindContent  = "VolumeSnapshotContent"
	KindService  = "Service"
	KindIngress  = "Ingress"
)

// SnapshotGroup is the API group of snapshots, which a cluster may not have.
const SnapshotGroup = "snapshot.storage.k8s.io"

// Plan is what to do, and what to report besides.
type Plan struct {
	// Report has all except what becomes of the steps: an object of a step remains, until a check finds it absent.
	stage.Report
	Steps []Step
}

// Action is what a step does.
type Action int

const (
	// Delete deletes the object.
	Delete Action = iota
	// Kill deletes a pod without waiting for its kubelet.
	Kill
	// KeepFloatingIP writes inventory.KeepFloatingIPAnnotation.
	KeepFloatingIP
)

// Step is one write.
type Step struct {
	Action   Action
	Resource schema.GroupVersionResource
	Kind     string
	// Object is what the decision was made by. The write is rejected when it is another one by now.
	Object inventory.Meta
	// Exact reports that the write is rejected as well when the object has changed.
	Exact bool
	// ID is the object in OpenStack.
	ID string
	// Reason is why the object remains after the step was accepted.
	Reason string
}

// Resources by their kinds.
var (
	claims    = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	pods      = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	ingresses = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	services  = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	snapshots = schema.GroupResource{Group: SnapshotGroup, Resource: "volumesnapshots"}
	contents  = schema.GroupResource{Group: SnapshotGroup, Resource: "volumesnapshotcontents"}
)

// Reasons why objects remain.
const (
	reasonRequested = "its deletion was requested"
	reasonToRecord  = "it is recorded in the status first"
	// reasonNotDeleted: an earlier stage could not delete it.
	reasonNotDeleted = "it was not deleted"
)

// Reported returns an object in a report.
func Reported(kind string, object inventory.Meta, id, reason string) kubernikusv1.DeorbitObject {
	return kubernikusv1.DeorbitObject{Kind: kind, Namespace: object.Namespace, Name: object.Name, ID: id, Reason: reason}
}

func (p *Plan) remains(kind string, object inventory.Meta, id, reason string) {
	p.Remaining = append(p.Remaining, Reported(kind, object, id, reason))
}

func (p *Plan) retains(kind string, object inventory.Meta, id, reason string) {
	p.Retained = append(p.Retained, Reported(kind, object, id, reason))
}

// deletes plans the deletion of an object that is as it was read.
func (p *Plan) deletes(resource schema.GroupVersionResource, kind string, object inventory.Meta, id string) {
	p.Steps = append(p.Steps, Step{Resource: resource, Kind: kind, Object: object, Exact: true, ID: id, Reason: reasonRequested})
}

// Undecide lists the volumes and snapshots that no policy retains and Deorbit does not delete: those of other drivers, and volumes that no
// claim ever had.
func (p *Plan) Undecide(w *inventory.World, policies stage.Policies) {
	if !deletes(policies.PersistentVolumes) {
		return
	}
	if w.Listed.Volumes {
		for _, v := range w.Volumes {
			switch {
			case !v.Delete:
			case v.ID != "" && !v.Claimed():
				p.undecides(KindVolume, v.Meta, v.ID, "no claim ever had it")
			case v.Driver != "":
				p.undecides(KindVolume, v.Meta, v.Handle, "CSI driver "+v.Driver+" provides it: not checked")
			}
		}
	}
	if w.Listed.Snapshots && deletes(policies.Snapshots) {
		for _, c := range w.Contents {
			if c.Delete && !w.Deletes(c.Driver) {
				p.undecides(KindContent, c.Meta, c.Handle, "CSI driver "+c.Driver+" provides it: not checked")
			}
		}
	}
}

func (p *Plan) undecides(kind string, object inventory.Meta, id, reason string) {
	p.Undecided = append(p.Undecided, Reported(kind, object, id, reason))
}

// deletes reports whether a policy deletes objects. Unknown values retain them.
func deletes(policy kubernikusv1.DeletionPolicy) bool {
	return policy == kubernikusv1.DeletionPolicyDelete
}

// waiting is why an object that is being deleted is still there.
func waiting(object inventory.Meta) string {
	reason := "it is being deleted since " + object.Deleted.UTC().Format(time.RFC3339)
	if len(object.Finalizers) > 0 {
		reason += "; finalizers: " + strings.Join(object.Finalizers, ", ")
	}
	return reason
}

// Record returns what has to be recorded, and does nothing else.
func Record(w *inventory.World, recorded stage.Seen) Plan {
	return Plan{Report: stage.Report{Seen: seen(w, recorded)}}
}
