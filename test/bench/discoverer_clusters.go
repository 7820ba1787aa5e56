// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"

	"groundskeeper.io/groundskeeper/test/bench/probe"
)

const (
	// discoveredBackend is the name of the backend.
	discoveredBackend = "bench"
	// discoveredNamespaces is over how many namespaces the services are spread, addresses how many each of them has.
	discoveredNamespaces, discoveredAddresses = 20, 5

	// discovererThreads is how many services a discoverer works on concurrently, by default.
	discovererThreads = 8

	discoveryNamespace = "gimbal-discovery"
	discovererAccount  = discoveredBackend + "-discoverer"
)

// prepare makes the namespaces on both sides, the services of the backend, and the DiscoveryBackend with its permissions.
func (d *discovery) prepare(ctx context.Context) error {
	for _, client := range []kubernetes.Interface{d.client, d.backendClient} {
		err := each(discoveredNamespaces, func(i int) error {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: discoveredNamespace(i)}}
			_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	err := each(d.services, func(i int) error {
		service, slice := discoveredService(i)
		if _, err := d.backendClient.CoreV1().Services(service.Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := d.backendClient.DiscoveryV1().EndpointSlices(slice.Namespace).Create(ctx, slice, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return d.authorize(ctx)
}

// authorize gives the discoverer the permissions that the operator would give it, and a token, as a pod has one.
func (d *discovery) authorize(ctx context.Context) error {
	apply := exec.CommandContext(ctx, d.here.Kubectl(), "--kubeconfig", d.here.AdminKubeconfig(), "apply", "-f", "artifacts/discovery/discoverer.yaml")
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w: %s", err, out)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: discovererAccount}}
	if _, err := d.client.CoreV1().ServiceAccounts(discoveryNamespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: discoveryNamespace, Name: discovererAccount}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	meta := metav1.ObjectMeta{Name: discovererAccount}
	everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role("groundskeeper-discoverer-services"), Subjects: subjects}
	if _, err := d.client.RbacV1().ClusterRoleBindings().Create(ctx, everywhere, metav1.CreateOptions{}); err != nil {
		return err
	}
	own := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role("groundskeeper-discoverer-backend"), Subjects: subjects}
	if _, err := d.client.RbacV1().RoleBindings(discoveryNamespace).Create(ctx, own, metav1.CreateOptions{}); err != nil {
		return err
	}
	groundskeeper, err := versioned.NewForConfig(d.here.Config())
	if err != nil {
		return err
	}
	backend := &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{Name: discoveredBackend},
		Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Credentials: "none"},
	}
	if _, err := groundskeeper.GimbalV1().DiscoveryBackends(discoveryNamespace).Create(ctx, backend, metav1.CreateOptions{}); err != nil {
		return err
	}
	d.kubeconfig = filepath.Join(d.dir, "kubeconfig")
	return tokenKubeconfig(ctx, d.here, discoveryNamespace, discovererAccount, d.kubeconfig)
}

func discoveredNamespace(i int) string { return "bench-" + strconv.Itoa(i%discoveredNamespaces) }

// discoveredService returns a service as users make them, and the slice that its pods give it.
func discoveredService(i int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	name := "service-" + strconv.Itoa(i)
	labels := map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: discoveredNamespace(i), Name: name, Labels: labels},
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "metrics", Port: 9090, Protocol: corev1.ProtocolTCP},
		}},
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: name + "-abcde",
			Labels: map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)},
			{Name: new("metrics"), Port: new(int32(9090)), Protocol: new(corev1.ProtocolTCP)},
		},
	}
	for j := range discoveredAddresses {
		pod := fmt.Sprintf("%s-%d", name, j)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", i/250, i%250, j+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			NodeName:   new("node-" + strconv.Itoa(j)), Zone: new("zone-a"),
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: service.Namespace, Name: pod},
		})
	}
	return service, slice
}

// changeEndpoint makes the first endpoint of a service not ready, as a pod does that fails its probe: it serves nothing.
func (d *discovery) changeEndpoint(ctx context.Context, i int) error {
	_, slice := discoveredService(i)
	patch := []byte(`[{"op":"replace","path":"/endpoints/0/conditions/ready","value":false},{"op":"replace","path":"/endpoints/0/conditions/serving","value":false}]`)
	_, err := d.backendClient.DiscoveryV1().EndpointSlices(slice.Namespace).Patch(ctx, slice.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// floor is how long a client takes that creates as many copies, of another backend, with as many concurrent requests.
func (d *discovery) floor(ctx context.Context) (time.Duration, error) {
	objects := make([]*desired.Objects, d.services)
	for i := range objects {
		service, slice := discoveredService(i)
		objects[i] = desired.Build("floor", &desired.Source{
			Namespace: service.Namespace, Name: service.Name, Labels: service.Labels, Ports: service.Spec.Ports,
			Slices: []desired.Slice{{ID: slice.Name, AddressType: slice.AddressType, Ports: slice.Ports, Endpoints: slice.Endpoints}},
		})
	}
	start := time.Now()
	err := each(discovererThreads, func(thread int) error {
		for i := thread; i < len(objects); i += discovererThreads {
			service, slice := objects[i].Service, objects[i].Slices[0]
			if _, err := d.client.CoreV1().Services(service.Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
				return err
			}
			if _, err := d.client.DiscoveryV1().EndpointSlices(slice.Namespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(start), err
}

// discoveryReading is what the kube-apiserver that copies are written to has done so far.
type discoveryReading struct {
	writes float64 // of Services and EndpointSlices
	cpu    time.Duration
}

func (d *discovery) measure(ctx context.Context) (discoveryReading, error) {
	var r discoveryReading
	client, err := rest.HTTPClientFor(d.here.Config())
	if err != nil {
		return r, err
	}
	defer client.CloseIdleConnections()
	samples, err := probe.Scrape(ctx, client, d.here.Config().Host+"/metrics", "apiserver_request_total")
	if err != nil {
		return r, err
	}
	for _, s := range samples {
		reads := slices.Contains([]string{http.MethodGet, "LIST", "WATCH"}, s.Labels["verb"])
		if !reads && slices.Contains([]string{"services", "endpointslices"}, s.Labels["resource"]) {
			r.writes += s.Value
		}
	}
	used, err := probe.UsageOf(d.here.KubeAPIServer.PID())
	r.cpu = used.CPU
	return r, err
}
