// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

// observed is a service of the backend, and what is here of it.
type observed struct {
	key types.NamespacedName
	// source is the service as it is copied, nil when it is not: because it is excluded, or because it does not exist, unless that is
	// unknown.
	source            *desired.Source
	excluded, unknown bool
	// denied are its addresses that are not copied.
	denied []desired.Denial
	// want is the copy that source is to have, have the one that is there. It is this backend's.
	want *desired.Objects
	have desired.Objects
	// other is the Service that has the name of the copy and is none of this service, if there is one.
	other *corev1.Service
}

// observe returns a service as the caches have it.
func (r *Replica) observe(key types.NamespacedName) observed {
	source, excluded := r.Upstream.Source(key)
	o := observed{key: key}
	o.have, o.other = r.memory.latest(key, func() (have desired.Objects, other *corev1.Service) {
		if service, ok := r.services.Get(key.Namespace, desired.CopyName(r.Backend, key.Name)); ok {
			if owner, own := desired.ServiceSource(r.Backend, service); own && owner == key {
				have.Service = service
			} else {
				other = service
			}
		}
		have.Slices = r.slices.Indexed(key.Namespace, key.String())
		return have, other
	})
	return r.with(o, source, excluded)
}

// observeLive returns an observed service as the backend itself has it.
func (r *Replica) observeLive(ctx context.Context, o observed) (observed, error) {
	source, excluded, err := r.Upstream.Read(ctx, o.key, r.memory.now().began)
	if err != nil {
		return o, fmt.Errorf("read service %s from the backend before its copy is deleted: %w", o.key, err)
	}
	return r.with(o, source, excluded), nil
}

// with adds to what is here what the backend has, as far as it is copied.
func (r *Replica) with(o observed, source *desired.Source, excluded bool) observed {
	o.source, o.excluded, o.denied, o.want = nil, excluded, nil, nil
	switch {
	case source == nil:
		o.unknown = !excluded && r.Upstream.Unknown(o.key)
		return o
	case !r.Policy.Admits(o.key.Namespace), r.Confined != "" && o.key.Namespace != r.Confined,
		r.Selector != nil && !r.Selector.Matches(labels.Set(source.Labels)):
		o.excluded = true
		return o
	}
	if o.source, o.denied = r.Addresses.Filter(source); o.source == nil {
		o.excluded = true
		return o
	}
	o.want = r.wanted(o.source, o.have)
	return o
}

// wanted returns the copy that a source is to have. While endpoints are withheld, maintenance decides of which Services: the
// slices that are there have its mark. It has not decided yet about a Service without any, whose endpoints are withheld until
// it has.
func (r *Replica) wanted(source *desired.Source, have desired.Objects) *desired.Objects {
	labelled := *source
	var copied map[string]string
	if have.Service != nil {
		copied = have.Service.Labels
	}
	labelled.Labels = r.Labels.Of(source.Labels, copied)
	want := desired.Build(r.Backend, &labelled)
	if r.memory.now().withheld && (len(have.Slices) == 0 || desired.HasWithheld(have.Slices)) {
		want.Withhold()
	}
	return want
}

// copied returns the sources of all copies that are there, and how many copies that are.
func (r *Replica) copied() (keys sets.Set[types.NamespacedName], count int) {
	keys = sets.New[types.NamespacedName]()
	note := func(key types.NamespacedName, isCopy bool) {
		if isCopy {
			keys.Insert(key)
			count++
		}
	}
	r.services.Each(func(service *corev1.Service) { note(desired.ServiceSource(r.Backend, service)) })
	r.slices.Each(func(slice *discoveryv1.EndpointSlice) { note(desired.SliceSource(r.Backend, slice)) })
	for _, key := range r.memory.legacyKeys() {
		note(key, !keys.Has(key))
	}
	return keys, count
}

// isCached reports whether the caches have a copy.
func (r *Replica) isCached(ref desired.Ref) (found bool) {
	if ref.Kind == desired.KindService {
		_, found = r.services.Get(ref.Namespace, ref.Name)
	} else {
		_, found = r.slices.Get(ref.Namespace, ref.Name)
	}
	return found
}

// namespace reports whether a namespace exists, and whether it can be written to.
func (r *Replica) namespace(name string) (exists, usable bool) {
	if r.namespaces == nil {
		return true, true
	}
	namespace, exists := r.namespaces.Get("", name)
	return exists, exists && namespace.Status.Phase != corev1.NamespaceTerminating
}

// isWithheld checks with the API server whether endpoints are withheld.
func (r *Replica) isWithheld(ctx context.Context) (bool, error) {
	withheld, err := r.Withheld(ctx)
	if err != nil {
		return false, fmt.Errorf("check whether the endpoints of the backend are withheld: %w", err)
	}
	r.memory.note(func(s *state) { s.queried = r.Clock.Now() })
	r.SetWithheld(withheld)
	return withheld, nil
}

// listAgain lists the backend after a pause, until that succeeds, and returns the copies that its services should have: what a listing
// that failed was to correct does not count. The error is that of ctx.
func (r *Replica) listAgain(ctx context.Context) (sets.Set[desired.Ref], error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.Clock.After(ConfirmationPause):
		}
		present, err := r.Upstream.Copies(ctx)
		if err == nil {
			return present, nil
		}
		logr.FromContextOrDiscard(ctx).Error(err, "The second listing failed, nothing is deleted until one succeeds")
	}
}

// findLegacy finds Services that an original discoverer of this backend left.
func (r *Replica) findLegacy(ctx context.Context) error {
	selector := labels.SelectorFromSet(labels.Set{gimbalv1.LegacyLabelBackend: r.Backend}).String()
	err := remote.EachPage(ctx, r.Client.Services(r.Confined), metav1.ListOptions{LabelSelector: selector}, func(list *corev1.ServiceList) {
		for i := range list.Items {
			r.addLegacy(&list.Items[i])
		}
	})
	if err != nil {
		return fmt.Errorf("list services with label %s=%s: %w", gimbalv1.LegacyLabelBackend, r.Backend, err)
	}
	return nil
}

// renewLegacy reads a Service of the original again after a write to it: only when that failed, it still is one.
func (r *Replica) renewLegacy(ctx context.Context, key types.NamespacedName, service *corev1.Service, err error) {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) || !r.memory.dropLegacy(key) {
		return
	}
	if live, err := r.Client.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{}); err == nil {
		r.addLegacy(live)
	}
}

// addLegacy remembers a Service that has the labels of the original and not yet Groundskeeper's.
func (r *Replica) addLegacy(service *corev1.Service) {
	key, ok := desired.ServiceSource(r.Backend, service)
	if _, current := service.Labels[gimbalv1.LabelBackend]; ok && !current {
		r.memory.addLegacy(key, r.trimService(service))
	}
}

// identity keeps of metadata what is compared and what guards a write.
func identity(object metav1.Object, annotations ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Labels: object.GetLabels(), Annotations: desired.Annotations(object.GetAnnotations(), annotations),
	}
}

// trimService keeps of a copy what is compared.
func (r *Replica) trimService(service *corev1.Service) *corev1.Service {
	return &corev1.Service{ObjectMeta: identity(service, r.Annotations...), Spec: corev1.ServiceSpec{
		Type: service.Spec.Type, ClusterIP: service.Spec.ClusterIP, ExternalName: service.Spec.ExternalName,
		Selector: service.Spec.Selector, Ports: desired.ServicePorts(service.Spec.Ports),
	}}
}

func trimSlice(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: identity(slice, desired.AnnotationWithheld), AddressType: slice.AddressType,
		Ports: desired.EndpointPorts(slice.Ports), Endpoints: desired.Endpoints(slice.Endpoints),
	}
}

func trimNamespace(namespace *corev1.Namespace) *corev1.Namespace {
	meta := metav1.ObjectMeta{Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion}
	return &corev1.Namespace{ObjectMeta: meta, Status: corev1.NamespaceStatus{Phase: namespace.Status.Phase}}
}
