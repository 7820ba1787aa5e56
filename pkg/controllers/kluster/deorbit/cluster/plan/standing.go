// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Finalizers of Kubernetes and of the OpenStack provider. They retain an object until a controller has cleaned up. If that controller does
// not run, Deorbit cleans up in OpenStack instead. With any other finalizer, the object is retained.
var (
	claimFinalizers  = []string{"kubernetes.io/pvc-protection", "snapshot.storage.kubernetes.io/pvc-as-source-protection"}
	volumeFinalizers = []string{
		"kubernetes.io/pv-protection", "kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer",
		"external-attacher/cinder-csi-openstack-org",
	}
	snapshotFinalizers = []string{
		"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection", "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
		"snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection",
	}
	serviceFinalizers = []string{inventory.LoadBalancerFinalizer}
)

// standing completes what was seen by what blocks a deletion in OpenStack, and adds what was recorded and no longer exists.
func standing(w *inventory.World, recorded stage.Seen, s *stage.Seen) {
	if w.Listed.Volumes {
		volumesStand(w, recorded, s)
	}
	if w.Listed.Snapshots {
		snapshotsStand(w, recorded, s)
	}
	if w.Listed.Services {
		servicesStand(w, recorded, s)
	}
}

// present keeps that the cluster rejected a deletion while the object is still not being deleted: not each check tries again.
func present(before kubernikusv1.Standing) kubernikusv1.Standing {
	if before == kubernikusv1.StandingRefused {
		return before
	}
	return kubernikusv1.StandingPresent
}

// of is why an object blocks the deletion; "" when it is being deleted and no stranger holds it.
func of(object inventory.Meta, before kubernikusv1.Standing, known []string) kubernikusv1.Standing {
	switch {
	case !object.Deleting():
		return present(before)
	case object.HeldBy(known...):
		return kubernikusv1.StandingFinalizer
	default:
		return ""
	}
}

func volumesStand(w *inventory.World, recorded stage.Seen, s *stage.Seen) {
	before := byKey(recorded.Volumes, volumeID)
	claims := byKey(w.Claims, func(c inventory.Claim) types.UID { return c.UID })
	stand := map[string]kubernikusv1.Standing{}
	for _, v := range w.Volumes {
		if why := volumeStands(w, v, claims, before[v.ID].Standing); why != "" && v.ID != "" {
			stand[v.ID] = why
		}
	}
	for i := range s.Volumes {
		v := &s.Volumes[i]
		v.Standing = stand[v.ID]
		delete(before, v.ID)
	}
	for _, v := range recorded.Volumes {
		// One without a PersistentVolume may still have the claim that had it.
		_, deleted := before[v.ID]
		hasClaim := slices.ContainsFunc(w.Claims, func(c inventory.Claim) bool { return c.Volume == v.Name && v.Name != "" })
		if deleted && !hasClaim && (w.Listed.Claims || v.Standing == "") {
			v.Standing, v.Gone = "", w.Listed.Claims
			s.Volumes = append(s.Volumes, v)
		}
	}
}

// volumeStands returns why a volume must not be deleted in OpenStack: its claim exists, whether or not it is being deleted, or the
// PersistentVolume is still bound or has a finalizer of another owner.
func volumeStands(
	w *inventory.World, v inventory.Volume, claims map[types.UID]inventory.Claim, before kubernikusv1.Standing,
) kubernikusv1.Standing {
	claim, there := claims[v.Claim.UID]
	switch {
	case v.Claimed() && there && claim.Deleting() && claim.HeldBy(claimFinalizers...):
		return kubernikusv1.StandingFinalizer
	case v.Claimed() && there && claim.Deleting():
		return kubernikusv1.StandingPresent
	case v.Claimed() && there, v.Phase == corev1.VolumeBound && !w.Listed.Claims:
		return present(before)
	case v.Phase == corev1.VolumeBound:
		return kubernikusv1.StandingPresent
	case v.HeldBy(volumeFinalizers...):
		return kubernikusv1.StandingFinalizer
	default:
		return ""
	}
}

func snapshotsStand(w *inventory.World, recorded stage.Seen, s *stage.Seen) {
	before := byKey(recorded.Snapshots, snapshotID)
	stand := map[string]kubernikusv1.Standing{}
	note := func(handle string, why kubernikusv1.Standing) {
		if handle != "" && why != "" {
			stand[handle] = why
		}
	}
	of := func(object inventory.Meta, handle string) kubernikusv1.Standing {
		return of(object, before[handle].Standing, snapshotFinalizers)
	}
	held := map[string]bool{}
	for _, taken := range w.OwnSnapshots() {
		if taken.Of != nil {
			held[taken.Of.Name] = true
			note(taken.Of.Handle, of(taken.Meta, taken.Of.Handle))
		}
	}
	for _, content := range w.OwnContents() {
		// A content that has a VolumeSnapshot is deleted with it, and is not deleted by Groundskeeper.
		if content.Deleting() || !held[content.Name] {
			note(content.Handle, of(content.Meta, content.Handle))
		}
	}
	for i := range s.Snapshots {
		snapshot := &s.Snapshots[i]
		snapshot.Standing = stand[snapshot.ID]
		delete(before, snapshot.ID)
	}
	for _, snapshot := range recorded.Snapshots {
		if _, deleted := before[snapshot.ID]; deleted {
			snapshot.Standing, snapshot.Gone = "", w.SnapshotsServed
			s.Snapshots = append(s.Snapshots, snapshot)
		}
	}
}

func servicesStand(w *inventory.World, recorded stage.Seen, s *stage.Seen) {
	before := byKey(recorded.Services, serviceUID)
	objects := byKey(w.Services, func(s inventory.Service) string { return string(s.UID) })
	for i := range s.Services {
		service := &s.Services[i]
		last := before[service.UID]
		// The finalizer of the cloud controller proves that it created a load balancer, even if a user removed the finalizer later.
		service.Finalized = service.Finalized || last.Finalized
		service.LoadBalancerID = cmp.Or(service.LoadBalancerID, last.LoadBalancerID)
		service.Address = cmp.Or(service.Address, last.Address)
		// One that is of another type by now needs no load balancer, even if its controller is late to delete it.
		service.Standing = ""
		if object := objects[service.UID]; object.LoadBalancer {
			service.Standing = of(object.Meta, last.Standing, serviceFinalizers)
		}
		delete(before, service.UID)
	}
	for _, service := range recorded.Services {
		if _, deleted := before[service.UID]; deleted {
			service.Standing, service.Gone = "", true
			s.Services = append(s.Services, service)
		}
	}
}

// Reject records that the cluster rejected the deletion of an object.
func Reject(s *stage.Seen, step Step) {
	ofSnapshot, ofService := step.Kind == KindSnapshot || step.Kind == KindContent, step.Kind == KindService || step.Kind == KindIngress
	for i := range s.Volumes {
		if v := &s.Volumes[i]; step.Kind == KindClaim && step.ID != "" && v.ID == step.ID {
			v.Standing = kubernikusv1.StandingRefused
		}
	}
	for i := range s.Snapshots {
		if snapshot := &s.Snapshots[i]; ofSnapshot && step.ID != "" && snapshot.ID == step.ID {
			snapshot.Standing = kubernikusv1.StandingRefused
		}
	}
	for i := range s.Services {
		if service := &s.Services[i]; ofService && service.UID == string(step.Object.UID) {
			service.Standing = kubernikusv1.StandingRefused
		}
	}
}
