// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package client reads and writes the few kinds that a discoverer needs. The clientsets bring all kinds of Kubernetes,
// their schemas and the parser of those, which would take more memory than all that a discoverer remembers.
package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Typed reads and writes the objects of one kind, of one namespace or of all. The clients of the clientsets do as well.
type Typed[T, L runtime.Object] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// The clients of the kinds that a discoverer needs.
type (
	// Services reads and writes Services.
	Services = Typed[*corev1.Service, *corev1.ServiceList]
	// Namespaces reads and writes Namespaces.
	Namespaces = Typed[*corev1.Namespace, *corev1.NamespaceList]
	// EndpointSlices reads and writes EndpointSlices.
	EndpointSlices = Typed[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
	// Leases reads and writes Leases.
	Leases = Typed[*coordinationv1.Lease, *coordinationv1.LeaseList]
	// DiscoveryBackends reads and writes DiscoveryBackends.
	DiscoveryBackends = Typed[*gimbalv1.DiscoveryBackend, *gimbalv1.DiscoveryBackendList]
)

// Interface is what services are copied from and to. The namespace may be "", which is all.
type Interface interface {
	Services(namespace string) Services
	EndpointSlices(namespace string) EndpointSlices
	Namespaces() Namespaces
}

// Client is a client of one cluster. All requests share its limits.
type Client struct {
	core, discovery, coordination, gimbal rest.Interface
	// exports are the clients of the versions of ServiceExports.
	exports []rest.Interface
}

// New returns a client that connects according to a config.
func New(config *rest.Config) (*Client, error) {
	shared := rest.CopyConfig(config)
	if shared.RateLimiter == nil && shared.QPS > 0 {
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	httpClient, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	if httpClient == http.DefaultClient { // without any transport option; it is not changed for others
		httpClient = &http.Client{}
	}
	httpClient.CheckRedirect = rejectRedirect
	httpClient.Transport = impatient{cmp.Or(httpClient.Transport, http.DefaultTransport)}
	c := &Client{}
	for group, client := range map[schema.GroupVersion]*rest.Interface{
		corev1.SchemeGroupVersion: &c.core, discoveryv1.SchemeGroupVersion: &c.discovery,
		coordinationv1.SchemeGroupVersion: &c.coordination, gimbalv1.SchemeGroupVersion: &c.gimbal,
	} {
		if *client, err = newGroup(shared, httpClient, group); err != nil {
			return nil, fmt.Errorf("API server %s: %w", config.Host, err)
		}
	}
	for _, version := range exportsVersions {
		client, err := newGroup(asJSON(shared), httpClient, schema.GroupVersion{Group: ExportsGroup, Version: version})
		if err != nil {
			return nil, fmt.Errorf("API server %s: %w", config.Host, err)
		}
		c.exports = append(c.exports, client)
	}
	return c, nil
}

func newGroup(config *rest.Config, httpClient *http.Client, group schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &group, "/apis"
	if group.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, httpClient)
}

// Services returns the client of the Services of a namespace.
func (c *Client) Services(namespace string) Services {
	return typed[corev1.Service, corev1.ServiceList](c.core, "services", namespace)
}

// Namespaces returns the client of the Namespaces.
func (c *Client) Namespaces() Namespaces {
	return typed[corev1.Namespace, corev1.NamespaceList](c.core, "namespaces", metav1.NamespaceNone)
}

// EndpointSlices returns the client of the EndpointSlices of a namespace.
func (c *Client) EndpointSlices(namespace string) EndpointSlices {
	return typed[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](c.discovery, "endpointslices", namespace)
}

// Leases returns the client of the Leases of a namespace.
func (c *Client) Leases(namespace string) Leases {
	return typed[coordinationv1.Lease, coordinationv1.LeaseList](c.coordination, "leases", namespace)
}

// DiscoveryBackends returns the client of the DiscoveryBackends of a namespace.
func (c *Client) DiscoveryBackends(namespace string) DiscoveryBackends {
	return typed[gimbalv1.DiscoveryBackend, gimbalv1.DiscoveryBackendList](c.gimbal, "discoverybackends", namespace)
}

// These do not change after startup.
var (
	scheme     = newScheme()
	codecs     = serializer.NewCodecFactory(scheme)
	parameters = runtime.NewParameterCodec(scheme)
)

// newScheme returns a scheme with the kinds of this package and no other.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Namespace{}, &corev1.NamespaceList{})
	scheme.AddKnownTypes(discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{})
	scheme.AddKnownTypes(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{}, &coordinationv1.LeaseList{})
	scheme.AddKnownTypes(gimbalv1.SchemeGroupVersion, &gimbalv1.DiscoveryBackend{}, &gimbalv1.DiscoveryBackendList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, discoveryv1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, coordinationv1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, gimbalv1.SchemeGroupVersion)
	addExports(scheme)
	return scheme
}
