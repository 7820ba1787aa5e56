// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Resources of volume snapshots.
var (
	snapshotVersion = schema.GroupVersion{Group: "snapshot.storage.k8s.io", Version: "v1"}
	snapshots       = snapshotVersion.WithResource("volumesnapshots")
	contents        = snapshotVersion.WithResource("volumesnapshotcontents")
	snapshotClasses = snapshotVersion.WithResource("volumesnapshotclasses")
)

// watch starts the informers of the cluster, and waits until they have synced.
func (s *Standin) watch(ctx context.Context) error {
	typed := informers.NewSharedInformerFactory(s.config.Kubernetes, 0)
	watched := map[cache.SharedIndexInformer]func(object any){
		typed.Core().V1().Services().Informer():               s.enqueue(Services),
		typed.Core().V1().PersistentVolumes().Informer():      s.enqueue(Volumes),
		typed.Core().V1().PersistentVolumeClaims().Informer(): s.enqueue(Claims),
	}
	stop := typed.Shutdown
	if s.config.Dynamic != nil {
		_, err := s.config.Kubernetes.Discovery().ServerResourcesForGroupVersion(snapshotVersion.String())
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("discover snapshots: %w", err)
		}
		if err == nil {
			untyped := dynamicinformer.NewDynamicSharedInformerFactory(s.config.Dynamic, 0)
			watched[untyped.ForResource(snapshots).Informer()] = s.enqueue(Snapshots)
			watched[untyped.ForResource(contents).Informer()] = s.enqueue(Contents)
			s.snapshots = untyped.ForResource(snapshots).Informer().GetStore()
			untyped.Start(ctx.Done())
			stop = func() { untyped.Shutdown(); typed.Shutdown() }
		}
	}
	s.unwatch = stop
	classes := typed.Storage().V1().StorageClasses().Informer()
	claims := typed.Core().V1().PersistentVolumeClaims().Informer().GetStore()
	watched[classes] = func(any) { // claims may wait for a StorageClass
		for _, claim := range claims.List() {
			s.enqueue(Claims)(claim)
		}
	}
	typed.Start(ctx.Done())
	for informer, changed := range watched {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
		})
		if err != nil {
			return fmt.Errorf("watch the cluster: %w", err)
		}
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("watch the cluster: %w", ctx.Err())
		}
	}
	return nil
}

// enqueue enqueues an object that changed, and the objects that wait for it.
func (s *Standin) enqueue(kind Kind) func(any) {
	return func(object any) {
		name, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			return
		}
		s.queue.Add(key{kind: kind, namespace: name.Namespace, name: name.Name})
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		switch object := object.(type) {
		case *corev1.PersistentVolumeClaim:
			s.enqueueSnapshots(object)
		case *unstructured.Unstructured:
			if kind == Contents {
				s.queue.Add(key{kind: Snapshots, namespace: text(object, "spec", "volumeSnapshotRef", "namespace"), name: text(object, "spec", "volumeSnapshotRef", "name")})
			}
		}
	}
}

// enqueueSnapshots enqueues the snapshots of a claim, which wait until it is bound.
func (s *Standin) enqueueSnapshots(claim *corev1.PersistentVolumeClaim) {
	if s.snapshots == nil {
		return
	}
	for _, object := range s.snapshots.List() {
		snapshot, ok := object.(*unstructured.Unstructured)
		if ok && snapshot.GetNamespace() == claim.Namespace && text(snapshot, "spec", "source", "persistentVolumeClaimName") == claim.Name {
			s.queue.Add(key{kind: Snapshots, namespace: claim.Namespace, name: snapshot.GetName()})
		}
	}
}

// text returns a string field of an object, or "".
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}
