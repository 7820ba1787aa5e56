// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// DeleteExactly deletes the very object that was decided about, in the state in which it was. It returns false when the object has
// been deleted or has changed: its event leads to another decision.
func (s *Site) DeleteExactly(ctx context.Context, object client.Object) (bool, error) {
	// As metadata: of a typed object the client would decode, encode and decode again what the API server responds.
	named := metadataOf(KindOf(object))
	named.Namespace, named.Name = object.GetNamespace(), object.GetName()
	return done(s.Client.Delete(ctx, named, client.Preconditions(kit.AsRead(object))))
}

// ReleaseExactly removes the finalizers of its driver from the very CSI volume that was decided about, in the state in which it
// was. It reports false when the volume has been deleted or has changed.
func (s *Site) ReleaseExactly(ctx context.Context, volume *corev1.PersistentVolume) (bool, error) {
	removed := driverFinalizers(volume)
	kept := slices.DeleteFunc(slices.Clone(volume.Finalizers), func(finalizer string) bool { return slices.Contains(removed, finalizer) })
	metadata := map[string]any{"uid": volume.UID, "resourceVersion": volume.ResourceVersion, "finalizers": kept}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return false, err
	}
	named := metadataOf("PersistentVolume")
	named.Name = volume.Name
	return done(s.Client.Patch(ctx, named, client.RawPatch(types.MergePatchType, patch)))
}

// done reports whether a write took place: its object may have been deleted or have changed.
func done(err error) (bool, error) {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Each calls a function with 0 to n-1, as many concurrently as there are worker threads for both controllers, and returns when all calls
// have. It continues after an error, and returns the first few.
func (s *Site) Each(n int, do func(i int) error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for i := range n {
		s.slots <- struct{}{}
		group.Go(func() {
			defer func() { <-s.slots }()
			if err := do(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	group.Wait()
	const shown = 3
	if len(errs) > shown {
		errs = append(slices.Clone(errs[:shown]), fmt.Errorf("and %d more", len(errs)-shown))
	}
	return errors.Join(errs...)
}

// writeConfigMap creates a ConfigMap, or changes keys of the one that has the given version; a key without a value is deleted. It returns
// what the ConfigMap is then.
func writeConfigMap(ctx context.Context, c client.Client, key client.ObjectKey, version string, annotations map[string]string,
	changes map[string]*string) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if version == "" {
		object.Annotations, object.Data = annotations, map[string]string{}
		for key, value := range changes {
			object.Data[key] = *value
		}
		return object, c.Create(ctx, object)
	}
	metadata := map[string]any{"resourceVersion": version}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "data": changes})
	if err != nil {
		return nil, err
	}
	return object, c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// send creates an event. One that cannot be created is counted and discarded: its namespace may be on its way out.
func (s *EventSender) send(ctx context.Context, event *corev1.Event) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	s.identify(ctx, &event.InvolvedObject)
	if err := s.client.Create(ctx, event); err != nil {
		s.metrics.EventsLost.Inc()
	}
}
