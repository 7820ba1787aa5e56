// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes discovers the services of a Kubernetes cluster.
package kubernetes

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// Options are what an Upstream needs.
type Options struct {
	// Backend is the name of the backend.
	Backend string
	// Client queries the backend, and has a timeout. Watching watches it, and has none.
	Client, Watching client.Interface
	// Namespaces are those that are requested, all when there are none.
	Namespaces []string
	// Exports restricts what is copied to the Services with a ServiceExport. nil: all are.
	Exports *Exports
	// Annotations are the keys of the annotations that are copied.
	Annotations []string
	// ExternalNames reports that Services of type ExternalName are copied.
	ExternalNames bool
	// OmitZones reports that the zones of endpoints and their hints are not copied.
	OmitZones bool
	// Recognize returns an error if the cluster with this identity must not be copied. It may be nil: every cluster is copied.
	Recognize func(ctx context.Context, observed []gimbalv1.ClusterIdentity) error
	// Contact is called after each probe with whether the backend has responded.
	Contact func(report.Response)
	Meters  *telemetry.Meters
	Clock   clock.Clock
}

// Upstream is a Kubernetes cluster as a backend.
type Upstream struct {
	Options
	services *remote.Informers[*corev1.Service]
	slices   *remote.Informers[*discoveryv1.EndpointSlice]
	// exports are the ServiceExports, nil when all Services are copied.
	exports   *remote.Informers[*metav1.PartialObjectMetadata]
	withdrawn *withdrawn
	limits    limits
	listener  replica.Listener
}

// New returns an Upstream whose caches are empty.
func New(options Options) *Upstream {
	u := &Upstream{Options: options}
	services := func(namespace string) verified[*corev1.ServiceList] {
		return verified[*corev1.ServiceList]{u.Watching.Services(namespace), u.verify, u.limits.of("services", namespace)}
	}
	u.services = remote.NewInformers(u.Namespaces, remote.From(u.Watching, metav1.ListOptions{}, services), remote.Kind[*corev1.Service]{
		Example: &corev1.Service{}, Trim: u.trimService,
		Set: func(service *corev1.Service) {
			key := keyOf(service)
			u.Meters.ServiceEvent(key, u.Clock.Now())
			u.listener.Touch(key)
		},
		Deleted: func(service *corev1.Service, watched bool) {
			key := keyOf(service)
			u.deleted(key, desired.Ref{Kind: desired.KindService, NamespacedName: u.copyOf(key)}, watched)
		},
	})
	slices := func(namespace string) verified[*discoveryv1.EndpointSliceList] {
		return verified[*discoveryv1.EndpointSliceList]{u.Watching.EndpointSlices(namespace), u.verify, u.limits.of("endpointslices", namespace)}
	}
	ofServices := remote.From(u.Watching, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName}, slices)
	u.slices = remote.NewInformers(u.Namespaces, ofServices, remote.Kind[*discoveryv1.EndpointSlice]{
		Example: &discoveryv1.EndpointSlice{}, Trim: u.trimSlice, Shorten: desired.ShortenZones, Expand: desired.ExpandZones,
		Index: func(slice *discoveryv1.EndpointSlice) string { return serviceOf(slice).String() },
		Changed: func(before, now *discoveryv1.EndpointSlice) {
			if key := serviceOf(before); key != serviceOf(now) { // it is another Service's now
				u.listener.Deleted(key, u.sliceRef(key, before.Name))
			}
		},
		Set: func(slice *discoveryv1.EndpointSlice) {
			key := serviceOf(slice)
			u.Meters.EndpointsEvent(key, u.Clock.Now())
			u.listener.Touch(key)
		},
		Deleted: func(slice *discoveryv1.EndpointSlice, watched bool) {
			key := serviceOf(slice)
			u.deleted(key, u.sliceRef(key, slice.Name), watched)
		},
	})
	if u.Exports != nil {
		u.newExports()
	}
	return u
}

// Listen implements replica.Upstream.
func (u *Upstream) Listen(to replica.Listener) { u.listener = to }

// deleted notifies of a Service that lost a part: only a deletion that the backend itself reported is certain.
func (u *Upstream) deleted(key types.NamespacedName, ref desired.Ref, watched bool) {
	if watched {
		u.listener.Deleted(key, ref)
		return
	}
	u.listener.Touch(key)
}

// Watch fills the caches of the backend and keeps them up to date until ctx is done.
func (u *Upstream) Watch(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { u.services.Run(ctx) })
	group.Go(func() { u.slices.Run(ctx) })
	if u.exports != nil {
		group.Go(func() { u.exports.Run(ctx) })
		group.Go(func() { u.confirmWithdrawn(ctx) })
	}
	group.Wait()
}

// Synced reports whether everything was listed once.
func (u *Upstream) Synced() bool {
	return u.services.Synced() && u.slices.Synced() && (u.exports == nil || u.exports.Synced())
}

// Keys returns the namespaces and names of all Services.
func (u *Upstream) Keys() []types.NamespacedName {
	return u.services.Keys()
}

// Unknown reports that it is known of every Service whether it exists: one that is missing in a watch does not.
func (u *Upstream) Unknown(types.NamespacedName) bool { return false }

// Source returns a Service with its endpoints.
func (u *Upstream) Source(key types.NamespacedName) (source *desired.Source, excluded bool) {
	service, ok := u.services.Get(key.Namespace, key.Name)
	if !ok || !u.isExported(key) {
		return nil, false
	}
	return u.sourceOf(service, u.slices.Indexed(key.Namespace, key.String()))
}

// sourceOf returns a Service that exists with its EndpointSlices; excluded reports that it is not to be copied.
func (u *Upstream) sourceOf(service *corev1.Service, slices []*discoveryv1.EndpointSlice) (source *desired.Source, excluded bool) {
	if u.skips(service) {
		return nil, true
	}
	source = &desired.Source{
		Namespace: service.Namespace, Name: service.Name, Labels: service.Labels, Annotations: service.Annotations, Ports: service.Spec.Ports,
		Exported: u.exports != nil,
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		source.ExternalName = service.Spec.ExternalName
		return source, false
	}
	for _, slice := range slices {
		source.Slices = append(source.Slices, desired.Slice{
			ID: slice.Name, AddressType: slice.AddressType, Ports: slice.Ports, Endpoints: slice.Endpoints,
		})
	}
	return source, false
}

func keyOf(service *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
}

func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// skips reports whether a Service is not to be copied: those of Kubernetes itself, and copies, or two clusters that discover each
// other would fill themselves up.
func (u *Upstream) skips(service *corev1.Service) bool {
	switch {
	case service.Namespace == metav1.NamespaceSystem,
		service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes",
		desired.HasBackend(service.Labels):
		return true
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return !u.ExternalNames
	default:
		return false
	}
}

// trimService keeps of a Service what is copied.
func (u *Upstream) trimService(service *corev1.Service) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name, ResourceVersion: service.ResourceVersion, Labels: service.Labels,
			Annotations: desired.Annotations(service.Annotations, u.Annotations),
		},
		Spec: corev1.ServiceSpec{
			Type: service.Spec.Type, ExternalName: service.Spec.ExternalName, Ports: desired.ServicePorts(service.Spec.Ports),
		},
	}
}

// trimSlice keeps of an EndpointSlice what is copied.
func (u *Upstream) trimSlice(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	endpoints := desired.Endpoints(slice.Endpoints)
	if u.OmitZones {
		endpoints = desired.WithoutZones(endpoints)
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: slice.Namespace, Name: slice.Name, ResourceVersion: slice.ResourceVersion,
			Labels: map[string]string{discoveryv1.LabelServiceName: slice.Labels[discoveryv1.LabelServiceName]},
		},
		AddressType: slice.AddressType, Ports: desired.EndpointPorts(slice.Ports), Endpoints: endpoints,
	}
}
