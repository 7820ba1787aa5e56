// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

const (
	backendNamespace = "gimbal-discovery"
	drainedBackend   = "us"
	otherBackend     = "eu"
	routeNamespace   = "shop"
	// servicesPerBackend is how many Services the routes refer to.
	servicesPerBackend = 200
)

// clients create the load of maintenance.
type clients struct {
	core   kubernetes.Interface
	own    versioned.Interface
	routes dynamic.Interface
}

// prepare makes the definitions, the namespace and the backends.
func (m *maintained) prepare(ctx context.Context) (*clients, error) {
	config := rest.CopyConfig(m.Config())
	config.QPS = -1
	for _, file := range []string{"contour.yaml", "gateway.networking.k8s.io_httproutes.yaml"} {
		apply := exec.CommandContext(ctx, m.Kubectl(), "--kubeconfig", m.AdminKubeconfig(), "apply", "--server-side", "-f", filepath.Join("test/integration/testdata/crds", file))
		if out, err := apply.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("apply %s: %w: %s", file, err, out)
		}
	}
	wait := exec.CommandContext(ctx, m.Kubectl(), "--kubeconfig", m.AdminKubeconfig(), "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	if out, err := wait.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("wait for the definitions: %w: %s", err, out)
	}
	c := &clients{}
	var err error
	if c.core, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.own, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.routes, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: routeNamespace}}
	if _, err := c.core.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	for _, name := range []string{drainedBackend, otherBackend} {
		backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Name: name}, Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}}
		if _, err := c.own.GimbalV1().DiscoveryBackends(backendNamespace).Create(ctx, backend, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// service makes a Service of a backend with an endpoint, as a discoverer does.
func (c *clients) service(ctx context.Context, backend, name string) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{gimbalv1.LabelBackend: backend}},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := c.core.CoreV1().Services(routeNamespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := c.core.DiscoveryV1().EndpointSlices(routeNamespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			gimbalv1.LabelBackend: backend, discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: desired.Manager,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.1.2.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		}},
	}, metav1.CreateOptions{})
	return err
}

var (
	proxyResource   = schema.GroupVersionResource{Group: "projectcontour.io", Version: "v1", Resource: "httpproxies"}
	routeResource   = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
	ingressResource = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
)

// route applies a route as a user.
func (c *clients) route(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	_, err := c.routes.Resource(resource).Namespace(routeNamespace).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "user"})
	return err
}

// loadRoutes makes Services of both backends, and routes in which each has the other as an alternative.
func (m *maintained) loadRoutes(ctx context.Context, workers int) error {
	c, err := m.prepare(ctx)
	if err != nil {
		return err
	}
	for _, backend := range []string{drainedBackend, otherBackend} {
		err := parallel(workers, servicesPerBackend, func(i int) error { return c.service(ctx, backend, serviceName(backend, i)) })
		if err != nil {
			return err
		}
	}
	return parallel(workers, proxiesOfMaintenance+routesOfMaintenance, func(i int) error {
		if i < proxiesOfMaintenance {
			return c.route(ctx, proxyResource, newHTTPProxy(i))
		}
		return c.route(ctx, routeResource, newHTTPRoute(i))
	})
}

func serviceName(backend string, i int) string {
	return fmt.Sprintf("%s-web-%d", backend, i%servicesPerBackend)
}

// references returns the two Services of a rule: every other one has weights.
func references(i int) []any {
	var all []any
	for at, backend := range []string{drainedBackend, otherBackend} {
		reference := map[string]any{"name": serviceName(backend, i), "port": int64(80)}
		if i%2 == 0 {
			reference["weight"] = int64(70 - 40*at)
		}
		all = append(all, reference)
	}
	return all
}

func newHTTPProxy(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": map[string]any{"name": fmt.Sprintf("proxy-%d", i)},
		"spec": map[string]any{
			"virtualhost": map[string]any{"fqdn": fmt.Sprintf("proxy-%d.example.com", i)},
			"routes": []any{
				map[string]any{"conditions": []any{map[string]any{"prefix": "/"}}, "services": references(i)},
				map[string]any{"conditions": []any{map[string]any{"prefix": "/api"}}, "services": references(i + 1)},
			},
		},
	}}
}

func newHTTPRoute(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": fmt.Sprintf("route-%d", i)},
		"spec": map[string]any{
			"parentRefs": []any{map[string]any{"name": "gateway"}},
			"rules":      []any{map[string]any{"backendRefs": references(i)}, map[string]any{"backendRefs": references(i + 1)}},
		},
	}}
}

// parallel calls a function with 0, 1, … count-1 by several workers, and returns the first error.
func parallel(workers, count int, do func(i int) error) error {
	next, errs := make(chan int), make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range next {
				if errs[worker] == nil {
					errs[worker] = do(i)
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
