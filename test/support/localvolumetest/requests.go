// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolumetest

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recorder notes events.
type recorder struct{ w *World }

// Event implements localvolume.Recorder.
func (r recorder) Event(object client.Object, eventType, reason, message string) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.w.events = append(r.w.events, fmt.Sprintf("%s %s %s: %s", eventType, reason, object.GetName(), message))
}

// syncedCache is a cache that has what was reported to it.
type syncedCache struct {
	cache.Cache
	w *World
}

// Get implements client.Reader.
func (c syncedCache) Get(_ context.Context, k client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch into := into.(type) {
	case *corev1.PersistentVolumeClaim:
		if found, ok := c.w.cached[key("claim", k)].(*corev1.PersistentVolumeClaim); ok {
			*into = *found
			return nil
		}
	case *metav1.PartialObjectMetadata:
		if found, ok := c.w.cached[key("namespace", k)].(*metav1.PartialObjectMetadata); ok {
			*into = *found
			return nil
		}
	default:
		return fmt.Errorf("%T is not in the cache", into)
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, k.Name)
}

func (w *World) request(name string) error {
	w.mu.Lock()
	if name != Ping {
		w.requests = append(w.requests, name)
	}
	w.mu.Unlock()
	if w.Intercept != nil {
		if err := w.Intercept(name); err != nil {
			return err
		}
	}
	w.Site.ServerClock.Observe(w.Clock.Now().Add(-w.Ahead).Truncate(time.Second))
	return nil
}

func (w *World) get(ctx context.Context, store client.WithWatch, k client.ObjectKey, object client.Object, options ...client.GetOption) error {
	kind := "object"
	switch object.(type) {
	case *corev1.ConfigMap:
		kind = "configmap"
	case *corev1.PersistentVolumeClaim:
		kind = "claim"
	}
	if object.GetObjectKind().GroupVersionKind().Kind == "Lease" {
		kind = "lease"
	}
	if err := w.request("get " + kind); err != nil {
		return err
	}
	return store.Get(ctx, k, object, options...)
}

func (w *World) list(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*corev1.PodList); ok || list.GetObjectKind().GroupVersionKind().Kind == "PodList" {
		if err := w.request("list pods"); err != nil {
			return err
		}
		return w.Store.Live().List(ctx, list, options...)
	}
	request := "list nodes"
	applied := (&client.ListOptions{}).ApplyOptions(options)
	switch {
	case applied.Limit == 1:
		request = Ping
	case applied.FieldSelector != nil || applied.LabelSelector != nil:
		request = "find nodes"
	}
	if err := w.request(request); err != nil || request == Ping {
		return err
	}
	if err := w.Store.Live().List(ctx, list, options...); err != nil {
		return err
	}
	if w.Truncate {
		list.SetContinue("more")
	}
	return nil
}

func (w *World) create(ctx context.Context, store client.WithWatch, object client.Object, options ...client.CreateOption) error {
	if err := w.request("create configmap"); err != nil {
		return err
	}
	return store.Create(ctx, object, options...)
}

func (w *World) patch(ctx context.Context, store client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	request := "patch configmap"
	if object.GetObjectKind().GroupVersionKind().Kind == "PersistentVolume" {
		request = "patch volume " + object.GetName()
	}
	if err := w.request(request); err != nil {
		return err
	}
	return store.Patch(ctx, object, patch, options...)
}

func (w *World) delete(ctx context.Context, store client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	kind := map[string]string{"PersistentVolume": "volume", "PersistentVolumeClaim": "claim", "Pod": "pod"}[object.GetObjectKind().GroupVersionKind().Kind]
	if err := w.request("delete " + kind + " " + object.GetName()); err != nil {
		return err
	}
	if w.Deleting != nil {
		w.Deleting(object.GetName())
	}
	return store.Delete(ctx, object, options...)
}
