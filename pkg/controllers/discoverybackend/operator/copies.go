// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

const (
	// maxDeletions bounds the deletions of one reconciliation, so that no worker is busy with one backend for long.
	maxDeletions = 500
	// parallelDeletions is how many are under way concurrently.
	parallelDeletions = 16
)

// copyKinds returns the kinds that a discoverer writes, in the order of their deletion: the Service is deleted before its slices.
func copyKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	}
}

// backendOf returns the backend that an object reports it comes from, by a label of either prefix.
func backendOf(object client.Object) string {
	if name := object.GetLabels()[gimbalv1.LabelBackend]; name != "" {
		return name
	}
	return object.GetLabels()[gimbalv1.LegacyLabelBackend]
}

// isMarked reports whether a discoverer of Groundskeeper wrote an object. A slice may report so in Kubernetes' own words.
func isMarked(object client.Object) bool {
	labels := object.GetLabels()
	if labels[labelManagedBy] == discovererName {
		return true
	}
	return object.GetObjectKind().GroupVersionKind().Kind == "EndpointSlice" && labels[discoveryv1.LabelManagedBy] == discovererName
}

// deletionPlan returns the copies of a backend among some objects: those that name it and carry Groundskeeper's mark, and are not
// going already. An object that names two backends is that of the newer label.
func deletionPlan(backend string, objects []metav1.PartialObjectMetadata) []*metav1.PartialObjectMetadata {
	var plan []*metav1.PartialObjectMetadata
	for i := range objects {
		object := &objects[i]
		if backendOf(object) == backend && isMarked(object) && object.DeletionTimestamp.IsZero() {
			plan = append(plan, object)
		}
	}
	return plan
}

// listCopies lists what names a backend, or any backend when the name is empty, from the API server: by the labels of
// both prefixes, each object once. Either the list is complete, or there is an error and no list.
func listCopies(ctx context.Context, live client.Reader, kind schema.GroupVersionKind, backend, namespace string) ([]metav1.PartialObjectMetadata, error) {
	var objects []metav1.PartialObjectMetadata
	seen := map[client.ObjectKey]bool{}
	for _, label := range []string{gimbalv1.LabelBackend, gimbalv1.LegacyLabelBackend} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		options := []client.ListOption{client.InNamespace(namespace), client.HasLabels{label}}
		if backend != "" {
			options[1] = client.MatchingLabels{label: backend}
		}
		if err := lists.Complete(live).List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("list the %ss of backend %q by label %s: %w", kind.Kind, backend, label, err)
		}
		for _, object := range list.Items {
			if key := client.ObjectKeyFromObject(&object); !seen[key] {
				seen[key] = true
				object.SetGroupVersionKind(kind)
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// deleteCopies deletes objects in the version that was read, and returns the number of deleted ones.
func (r *reconciler) deleteCopies(ctx context.Context, plan []*metav1.PartialObjectMetadata) (int, error) {
	errs := make([]error, len(plan))
	slots := make(chan struct{}, parallelDeletions)
	var group sync.WaitGroup
	for i, object := range plan {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.remove(ctx, object)
		})
	}
	group.Wait()
	deleted := 0
	for _, err := range errs {
		if err == nil {
			deleted++
		}
	}
	return deleted, errors.Join(errs...)
}
