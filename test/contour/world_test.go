// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// discoverer is who writes the copies of a backend.
const discoverer = "groundskeeper-discoverer"

// edge is what Contour serves: a Gateway that takes every kind of route.
const edge = `
{apiVersion: v1, kind: Namespace, metadata: {name: projectcontour}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: contour}, spec: {controllerName: projectcontour.io/gateway-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: projectcontour, name: edge}
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}
  - {name: tls, protocol: TLS, port: 443, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: All}}}
  - {name: tcp, protocol: TCP, port: 9000, allowedRoutes: {namespaces: {from: All}}}
`

const configuration = `gateway: {gatewayRef: {namespace: projectcontour, name: edge}}
`

// world is a plane with Groundskeeper's controllers, and a Contour.
type world struct {
	*planetest.World
	contour *streams
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: planetest.New(t, plane.Options{
		APIServers: 1, Managers: 1, SharedEtcd: true, DiscovererImage: "registry.example/groundskeeper-discoverer:none",
	})}
	w.Kubectl("", "apply", "--server-side", "-f", "../integration/testdata/crds")
	w.Kubectl("", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	w.Kubectl(edge, "apply", "-f", "-")
	w.contour = w.startContour(w.Write("contour.yaml", configuration))
	return w
}

// until waits for something that no stream reports of.
func (w *world) until(what string, is func(context.Context) (bool, error)) {
	w.Helper()
	if err := wait.PollUntilContextTimeout(w.Context(), 200*time.Millisecond, time.Minute, true, is); err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// publish makes a backend of a name, and a Service of it in a namespace, with an endpoint, as its discoverer would.
func (w *world) publish(namespace, backend, service string, address int) {
	w.Helper()
	labels := map[string]string{gimbalv1.LabelBackend: backend, "app.kubernetes.io/managed-by": discoverer}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: service, Labels: labels}
	ports := []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: *meta.DeepCopy(), AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels[discoveryv1.LabelServiceName], slice.Labels[discoveryv1.LabelManagedBy] = service, discoverer
	for i := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &ports[i].Name, Port: &ports[i].Port, Protocol: new(corev1.ProtocolTCP)})
	}
	slice.Endpoints = []discoveryv1.Endpoint{{
		Addresses:  []string{fmt.Sprintf("10.9.%d.%d", address/200, 1+address%200)},
		Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
	}}
	for _, object := range []client.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: ports}}, slice,
	} {
		if err := w.Client.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

// declare changes the status of backends.
func (w *world) declare(status gimbalv1.ClusterStatus, backends ...*gimbalv1.DiscoveryBackend) {
	w.Helper()
	for _, backend := range backends {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"cluster":{"clusterStatus":%q}}`, status))
		if err := w.Client.Patch(w.Context(), backend.DeepCopy(), patch); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) awaitPort(port int) {
	w.Helper()
	err := wait.PollUntilContextTimeout(w.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false, nil
		}
		return true, connection.Close()
	})
	if err != nil {
		w.Fatalf("contour does not listen: %v", err)
	}
}
