// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// CacheOptions makes a cache keep of volumes and claims only what is read here. Other readers of these kinds in that cache do not
// see the rest.
func CacheOptions() (map[client.Object]cache.ByObject, error) {
	return map[client.Object]cache.ByObject{
		&corev1.PersistentVolume{}:      {Transform: trimVolume},
		&corev1.PersistentVolumeClaim{}: {Transform: trimClaim},
	}, nil
}

func trimVolume(object any) (any, error) {
	full, ok := object.(*corev1.PersistentVolume)
	if !ok {
		return object, nil
	}
	kept := &corev1.PersistentVolume{ObjectMeta: trimMeta(full)}
	kept.Spec.StorageClassName = full.Spec.StorageClassName
	switch {
	case full.Spec.Local != nil:
		kept.Spec.Local = &corev1.LocalVolumeSource{}
	case full.Spec.HostPath != nil:
		kept.Spec.HostPath = &corev1.HostPathVolumeSource{}
	case full.Spec.CSI != nil:
		kept.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: full.Spec.CSI.Driver, VolumeHandle: full.Spec.CSI.VolumeHandle}
		kept.Finalizers = full.Finalizers
	default: // only what kind of source it is
		kept.Spec.PersistentVolumeSource = full.Spec.PersistentVolumeSource
		return kept, nil
	}
	if full.DeletionTimestamp != nil {
		kept.Finalizers = full.Finalizers
	}
	kept.Spec.NodeAffinity = full.Spec.NodeAffinity
	kept.Spec.PersistentVolumeReclaimPolicy = full.Spec.PersistentVolumeReclaimPolicy
	kept.Spec.ClaimRef = full.Spec.ClaimRef
	kept.Status.Phase = full.Status.Phase
	return kept, nil
}

func trimClaim(object any) (any, error) {
	full, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return object, nil
	}
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: trimMeta(full)}
	kept.Spec.VolumeName = full.Spec.VolumeName
	return kept, nil
}

func trimMeta(object metav1.Object) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(), CreationTimestamp: object.GetCreationTimestamp(), DeletionTimestamp: object.GetDeletionTimestamp(),
	}
	if value, ok := object.GetAnnotations()[OptOutAnnotation]; ok {
		kept.Annotations = map[string]string{OptOutAnnotation: value}
	}
	return kept
}

// Source reports to a Site what its cache sees, and the queue when that requests a reconciliation. It is synced when everything
// that exists has been notified.
func (s *Site) Source() source.TypedSyncingSource[Pass] {
	kinds := []source.TypedSyncingSource[Pass]{
		watch(s, nodeMetadata(), handlers[*metav1.PartialObjectMetadata]{
			set: func(_, node *metav1.PartialObjectMetadata) bool { return s.Inventory.SetNode(node) },
			remove: func(node *metav1.PartialObjectMetadata, missed bool) bool {
				if missed {
					return s.Inventory.RemoveMissedNode(node.Name)
				}
				return s.Inventory.RemoveNode(node.Name)
			},
		}),
		watch(s, &corev1.PersistentVolume{}, handlers[*corev1.PersistentVolume]{
			set:    func(_, volume *corev1.PersistentVolume) bool { return s.Inventory.SetVolume(volume) },
			remove: func(volume *corev1.PersistentVolume, _ bool) bool { return s.Inventory.RemoveVolume(volume.Name) },
		}),
		watch(s, &corev1.PersistentVolumeClaim{}, handlers[*corev1.PersistentVolumeClaim]{
			set: func(_, claim *corev1.PersistentVolumeClaim) bool { return s.Inventory.IsStale(claim.Spec.VolumeName) },
			remove: func(claim *corev1.PersistentVolumeClaim, _ bool) bool {
				return s.Inventory.IsStale(claim.Spec.VolumeName)
			},
		}),
	}
	if s.Namespaces {
		kinds = append(kinds, watch(s, namespaceMetadata(), handlers[*metav1.PartialObjectMetadata]{
			set: func(before, now *metav1.PartialObjectMetadata) bool {
				return before != nil && optOut(before) != optOut(now)
			},
			remove: func(*metav1.PartialObjectMetadata, bool) bool { return false },
		}))
	}
	return &siteSource{site: s, kinds: kinds}
}

// handlers update the Site and report whether a reconciliation is needed. before is nil for what is new, and missed
// reports that the event of a deletion was missed.
type handlers[object client.Object] struct {
	set    func(before, now object) bool
	remove func(_ object, missed bool) bool
}

func watch[object client.Object](s *Site, kind object, h handlers[object]) source.TypedSyncingSource[Pass] {
	then := func(needed bool) {
		if needed {
			s.notify()
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[Pass]
	return source.TypedKind(s.Cache, kind, handler.TypedFuncs[object, Pass]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[object], _ queue) {
			var none object
			then(h.set(none, e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[object], _ queue) {
			// A resync reports nothing, and one of all volumes should cost nothing.
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				then(h.set(e.ObjectOld, e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[object], _ queue) {
			then(h.remove(e.Object, e.DeleteStateUnknown))
		},
	})
}

// siteSource starts the watches of a Site for the one controller that feeds it.
type siteSource struct {
	site  *Site
	kinds []source.TypedSyncingSource[Pass]
}

// Start implements source.TypedSource.
func (f *siteSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Pass]) error {
	f.site.subscribe(queue)
	for _, kind := range f.kinds {
		if err := kind.Start(ctx, queue); err != nil {
			return err
		}
	}
	go f.site.beat(ctx)
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (f *siteSource) WaitForSync(ctx context.Context) error {
	for _, kind := range f.kinds {
		if err := kind.WaitForSync(ctx); err != nil {
			return err
		}
	}
	// A source that was stopped while it waited reports nothing, and has not reported everything.
	if ctx.Err() == nil {
		f.site.Inventory.MarkSynced()
		close(f.site.synced)
		f.site.notify()
	}
	return nil
}

// String names the source in logs.
func (f *siteSource) String() string { return "local volumes, their claims and nodes" }

// Follow returns the source of a second controller of the Site. It is synced when the Source of the first one is.
func (s *Site) Follow() source.TypedSyncingSource[Pass] { return &follower{site: s} }

type follower struct{ site *Site }

// Start implements source.TypedSource.
func (f *follower) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[Pass]) error {
	f.site.subscribe(queue)
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (f *follower) WaitForSync(ctx context.Context) error {
	select {
	case <-f.site.synced:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.Canceled) {
			return errors.New("the local volumes are not loaded yet")
		}
	}
	return nil
}

// String names the source in logs.
func (f *follower) String() string { return "local volumes of the cleanup" }
