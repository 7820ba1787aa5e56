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

// load makes the definitions, the backends, their Services and the routes.
func (m *maintained) load(ctx context.Context, workers int) error {
	config := rest.CopyConfig(m.Config())
	config.QPS = -1
	for _, file := range []string{"contour.yaml", "gateway.networking.k8s.io_httproutes.yaml"} {
		apply := exec.CommandContext(ctx, m.Kubectl(), "--kubeconfig", m.AdminKubeconfig(), "apply", "--server-side", "-f", filepath.Join("test/integration/testdata/crds", file))
		if out, err := apply.CombinedOutput(); err != nil {
			return fmt.Errorf("apply %s: %w: %s", file, err, out)
		}
	}
	wait := exec.CommandContext(ctx, m.Kubectl(), "--kubeconfig", m.AdminKubeconfig(), "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	if out, err := wait.CombinedOutput(); err != nil {
		return fmt.Errorf("wait for the definitions: %w: %s", err, out)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	own, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	routes, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: routeNamespace}}
	if _, err := core.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{drainedBackend, otherBackend} {
		backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Name: name}, Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}}
		if _, err := own.GimbalV1().DiscoveryBackends(backendNamespace).Create(ctx, backend, metav1.CreateOptions{}); err != nil {
			return err
		}
		err := parallel(workers, servicesPerBackend, func(i int) error {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: serviceName(name, i), Labels: map[string]string{gimbalv1.LabelBackend: name}},
				Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
			}
			if _, err := core.CoreV1().Services(routeNamespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
				return err
			}
			_, err := core.DiscoveryV1().EndpointSlices(routeNamespace).Create(ctx, &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Name: service.Name, Labels: map[string]string{
					gimbalv1.LabelBackend: name, discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: desired.Manager,
				}},
				AddressType: discoveryv1.AddressTypeIPv4,
				Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
				Endpoints: []discoveryv1.Endpoint{{
					Addresses: []string{"10.1.2.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
				}},
			}, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return parallel(workers, proxiesOfMaintenance+routesOfMaintenance, func(i int) error {
		object, resource := newHTTPProxy(i), schema.GroupVersionResource{Group: "projectcontour.io", Version: "v1", Resource: "httpproxies"}
		if i >= proxiesOfMaintenance {
			object, resource = newHTTPRoute(i), schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
		}
		_, err := routes.Resource(resource).Namespace(routeNamespace).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "user"})
		return err
	})
}

func serviceName(backend string, i int) string {
	return fmt.Sprintf("%s-web-%d", backend, i%servicesPerBackend)
}

// references are the two Services of a rule: every other one has weights.
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
