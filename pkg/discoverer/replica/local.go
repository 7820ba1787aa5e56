// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// local are the copies that are there, and the namespaces for them.
type local struct {
	services   *remote.Informers[*corev1.Service]
	slices     *remote.Informers[*discoveryv1.EndpointSlice]
	namespaces *remote.Informers[*corev1.Namespace] // nil: the only namespace is there
	handled    []func() bool
}

func newLocal(r *Replica) (*local, error) {
	own := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{gimbalv1.LabelBackend: r.Backend}).String()}
	var scope []string
	if r.Confined != "" {
		scope = []string{r.Confined}
	}
	l := &local{}
	var err error
	l.services, err = remote.NewInformers(scope, remote.From(r.Watching, own, r.Watching.Services), &corev1.Service{}, r.trimService, nil)
	if err != nil {
		return nil, err
	}
	l.slices, err = remote.NewInformers(scope, remote.From(r.Watching, own, r.Watching.EndpointSlices), &discoveryv1.EndpointSlice{}, trimSlice, func(slice *discoveryv1.EndpointSlice) string {
		if key, ok := desired.SliceSource(r.Backend, slice); ok {
			return key.String()
		}
		return ""
	})
	if err != nil {
		return nil, err
	}
	services, slices := handlers[*corev1.Service](r, desired.ServiceSource), handlers[*discoveryv1.EndpointSlice](r, desired.SliceSource)
	if err := l.handle(l.services.Handle(services)); err != nil {
		return nil, err
	}
	if err := l.handle(l.slices.Handle(slices)); err != nil {
		return nil, err
	}
	if r.Confined != "" {
		return l, nil
	}
	all := remote.From(r.Watching, metav1.ListOptions{}, func(string) client.Namespaces { return r.Watching.Namespaces() })
	l.namespaces, err = remote.NewInformers(nil, all, &corev1.Namespace{}, trimNamespace, nil)
	if err != nil {
		return nil, err
	}
	return l, l.handle(l.namespaces.Handle(remote.Handlers[*corev1.Namespace]{
		Set:     func(namespace *corev1.Namespace) { r.namespaceChanged(namespace.Name) },
		Deleted: func(namespace *corev1.Namespace, _ bool) { r.namespaceChanged(namespace.Name) },
	}))
}

// handlers have the sources of copies checked that change.
func handlers[T remote.Object](r *Replica, sourceOf func(backend string, object metav1.Object) (types.NamespacedName, bool)) remote.Handlers[T] {
	return remote.Handlers[T]{
		Changed: func(before, now T) {
			key, own := sourceOf(r.Backend, before)
			if after, still := sourceOf(r.Backend, now); own && (!still || after != key) { // a user changed its labels
				r.Touch(key)
			}
		},
		Set: func(object T) {
			// The echo of an own write needs no check.
			if key, ok := sourceOf(r.Backend, object); ok && !r.caughtUp(key, object) {
				r.Touch(key)
			}
		},
		Deleted: func(object T, _ bool) {
			if key, ok := sourceOf(r.Backend, object); ok {
				r.isDeleted(key, object)
				r.Touch(key)
			}
		},
	}
}

func (l *local) handle(synced func() bool, err error) error {
	l.handled = append(l.handled, synced)
	return err
}

func (l *local) run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { l.services.Run(ctx) })
	group.Go(func() { l.slices.Run(ctx) })
	if l.namespaces != nil {
		group.Go(func() { l.namespaces.Run(ctx) })
	}
	group.Wait()
}

func (l *local) synced() bool {
	return !slices.ContainsFunc(l.handled, func(synced func() bool) bool { return !synced() })
}

// copies returns the sources of all copies that are there, and how many copies that are.
func (r *Replica) copies() (keys map[types.NamespacedName]bool, count int) {
	keys = map[types.NamespacedName]bool{}
	r.local.services.Each(func(service *corev1.Service) {
		if key, ok := desired.ServiceSource(r.Backend, service); ok {
			keys[key] = true
			count++
		}
	})
	r.local.slices.Each(func(slice *discoveryv1.EndpointSlice) {
		if key, ok := desired.SliceSource(r.Backend, slice); ok {
			keys[key] = true
			count++
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.legacy {
		if !keys[key] {
			keys[key] = true
			count++
		}
	}
	return keys, count
}

// identity keeps of metadata what is compared and what guards a write.
func identity(object metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Labels: object.GetLabels(),
	}
}

// trimService keeps of a copy what is compared.
func (r *Replica) trimService(service *corev1.Service) *corev1.Service {
	trimmed := &corev1.Service{ObjectMeta: identity(service), Spec: corev1.ServiceSpec{
		Type: service.Spec.Type, ClusterIP: service.Spec.ClusterIP, ExternalName: service.Spec.ExternalName,
		Selector: service.Spec.Selector, Ports: desired.ServicePorts(service.Spec.Ports),
	}}
	for _, key := range r.Annotations {
		if value, ok := service.Annotations[key]; ok {
			if trimmed.Annotations == nil {
				trimmed.Annotations = map[string]string{}
			}
			trimmed.Annotations[key] = value
		}
	}
	return trimmed
}

func trimSlice(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	trimmed := &discoveryv1.EndpointSlice{
		ObjectMeta: identity(slice), AddressType: slice.AddressType,
		Ports: desired.EndpointPorts(slice.Ports), Endpoints: desired.Endpoints(slice.Endpoints),
	}
	if withheld, ok := slice.Annotations[desired.AnnotationWithheld]; ok {
		trimmed.Annotations = map[string]string{desired.AnnotationWithheld: withheld}
	}
	return trimmed
}

func trimNamespace(namespace *corev1.Namespace) *corev1.Namespace {
	meta := metav1.ObjectMeta{Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion}
	return &corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: namespace.Status.Phase}}
}
