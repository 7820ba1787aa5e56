// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// example is a route in a dedicated namespace, with a dedicated backend, whose Service is us-web. Service eu-web is of a backend
// that is always Enabled.
type example struct {
	name string
	// manifest is of the route; HOST stands for a host name that no other has.
	manifest string
	// enabled and drained are the Services that get requests.
	enabled, drained string
	// withheld reports that weights cannot do it, so that the endpoints have to.
	withheld bool
	// removed are those that get requests when the backend has been deleted.
	removed string
	// nothing reports whether nothing is left of the HTTPProxy then: Contour calls that invalid.
	nothing bool
	// unresolved reports that Contour calls the HTTPProxy invalid for a reference of it, but serves the rest.
	unresolved bool
}

const (
	proxy   = "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: route}\nspec:\n  "
	host    = "virtualhost: {fqdn: HOST}\n  "
	through = "virtualhost: {fqdn: HOST, tls: {passthrough: true}}\n  "
)

// udpService is a Service with a ready endpoint that no route of Contour can send to.
const udpService = `apiVersion: v1
kind: Service
metadata: {name: eu-udp}
spec: {clusterIP: None, ports: [{name: http, port: 80, protocol: UDP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: eu-udp, labels: {kubernetes.io/service-name: eu-udp}}
addressType: IPv4
ports: [{name: http, port: 80, protocol: UDP}]
endpoints: [{addresses: [10.9.250.1], conditions: {ready: true}}]
`

// onGateway returns a route of the Gateway API.
func onGateway(kind, version, section, rule string) string {
	hostnames := "hostnames: [HOST], "
	if kind == "TCPRoute" {
		hostnames = ""
	}
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/%s\nkind: %s\nmetadata: {name: route}\nspec: {%sparentRefs: [{namespace: projectcontour, name: edge, sectionName: %s}], rules: [%s]}\n",
		version, kind, hostnames, section, rule)
}

func examples() []example {
	return []example{
		{name: "unset", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "weights", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80, weight: 30}, {name: eu-web, port: 80, weight: 70}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "sole", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80}]}]", enabled: "us-web", withheld: true},
		{name: "blue-green", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80, weight: 100}, {name: eu-web, port: 80, weight: 0}]}]",
			enabled: "us-web", withheld: true, removed: "eu-web"},
		{name: "green-blue", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80, weight: 0}, {name: eu-web, port: 80, weight: 100}]}]",
			enabled: "eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "twice", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: us-web, port: 80}, {name: eu-web, port: 80}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "ports", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: us-web, port: 81}, {name: eu-web, port: 81}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "mirror", manifest: proxy + host + "routes: [{services: [{name: eu-web, port: 80}, {name: us-web, port: 80, mirror: true}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "tcp", manifest: proxy + through + "tcpproxy: {services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "tcp-sole", manifest: proxy + through + "tcpproxy: {services: [{name: us-web, port: 80}]}", enabled: "us-web", withheld: true, nothing: true},
		{name: "include", manifest: proxy + host + "includes: [{name: child, conditions: [{prefix: /child}]}]\n---\n" +
			strings.Replace(proxy, "route", "child", 1) + "routes: [{services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "ingress", manifest: "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: route}\nspec: {rules: [{host: HOST, http: {paths: [" +
			"{path: /a, pathType: Prefix, backend: {service: {name: us-web, port: {number: 80}}}}, {path: /b, pathType: Prefix, backend: {service: {name: eu-web, port: {number: 80}}}}]}}]}",
			enabled: "us-web eu-web", drained: "eu-web", withheld: true, removed: "eu-web"},
		{name: "http-route", manifest: onGateway("HTTPRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}"),
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		// Contour leaves out what does not exist, or has no such port, and Services of type ExternalName.
		{name: "missing", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: eu-gone, port: 80}]}]", enabled: "us-web", withheld: true, unresolved: true},
		{name: "no-port", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80, weight: 10}, {name: eu-web, port: 99, weight: 90}]}]",
			enabled: "us-web", withheld: true, unresolved: true},
		{name: "missing-third", manifest: proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: eu-gone, port: 80}, {name: eu-web, port: 80}]}]",
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web", unresolved: true},
		{name: "external", manifest: "apiVersion: v1\nkind: Service\nmetadata: {name: ext}\nspec: {type: ExternalName, externalName: eu.example.org, ports: [{port: 80}]}\n---\n" +
			proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: ext, port: 80}]}]", enabled: "us-web", withheld: true, unresolved: true},
		// What cannot receive is no alternative: a Service of another protocol, one in a namespace that does not permit it, another kind.
		{name: "udp", manifest: udpService + "---\n" + proxy + host + "routes: [{services: [{name: us-web, port: 80}, {name: eu-udp, port: 80}]}]",
			enabled: "us-web", withheld: true, unresolved: true},
		{name: "http-route-udp", manifest: udpService + "---\n" + onGateway("HTTPRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80}, {name: eu-udp, port: 80}]}"),
			enabled: "us-web", withheld: true},
		{name: "http-route-ungranted", manifest: onGateway("HTTPRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80}, {namespace: unset, name: eu-web, port: 80}]}"),
			enabled: "us-web", withheld: true},
		{name: "http-route-kind", manifest: onGateway("HTTPRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80}, {group: example.org, kind: Bucket, name: eu-web, port: 80}]}"),
			enabled: "us-web", withheld: true},
		{name: "http-route-missing", manifest: onGateway("HTTPRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80}, {name: eu-gone, port: 80}]}"),
			enabled: "us-web", withheld: true},
		{name: "http-route-sole", manifest: onGateway("HTTPRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80}]}"), enabled: "us-web", withheld: true},
		{name: "http-route-mirror", manifest: onGateway("HTTPRoute", "v1", "http",
			"{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: us-web, port: 80}}}], backendRefs: [{name: eu-web, port: 80}]}"),
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "grpc-route", manifest: onGateway("GRPCRoute", "v1", "http", "{backendRefs: [{name: us-web, port: 80, weight: 3}, {name: eu-web, port: 80}]}"),
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "tcp-route", manifest: onGateway("TCPRoute", "v1alpha2", "tcp", "{backendRefs: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}"),
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		{name: "tls-route", manifest: onGateway("TLSRoute", "v1alpha2", "tls", "{backendRefs: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}"),
			enabled: "us-web eu-web", drained: "eu-web", removed: "eu-web"},
		// These two cannot be without a reference: it stays, and leads to nothing.
		{name: "tls-route-sole", manifest: onGateway("TLSRoute", "v1alpha2", "tls", "{backendRefs: [{name: us-web, port: 80}]}"), enabled: "us-web", withheld: true},
		{name: "ingress-sole", manifest: "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: route}\nspec: {rules: [{host: HOST, http: {paths: [" +
			"{path: /, pathType: Prefix, backend: {service: {name: us-web, port: {number: 80}}}}]}}]}", enabled: "us-web", withheld: true},
	}
}

// expected returns the Services that get requests, by one of the lists of each example.
func expected(all []example, of func(example) string) map[string]bool {
	services := map[string]bool{}
	for _, each := range all {
		for _, service := range strings.Fields(of(each)) {
			services[each.name+"/"+service] = true
		}
	}
	return services
}

// receive waits until exactly these Services get requests.
func (w *world) receive(what string, services map[string]bool) dump {
	w.Helper()
	return w.contour.until(w.Context(), w.T, what, func(served dump) string {
		return gocmp.Diff(sorted(services), sorted(served.receivers()))
	})
}

// TestContourConfiguration checks that no route sends requests to a backend in maintenance while all others are unchanged, that
// Contour serves exactly the earlier configuration afterwards, and that every route is valid after the backend was deleted.
func TestContourConfiguration(t *testing.T) {
	w, all := newWorld(t), examples()
	var backends []*gimbalv1.DiscoveryBackend
	for i, each := range all {
		us := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: fmt.Sprintf("us%d", i)}}
		us.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}
		if err := w.Client.Create(w.Context(), us); err != nil {
			t.Fatal(err)
		}
		backends = append(backends, us)
		w.Kubectl("", "create", "namespace", each.name)
		w.publish(each.name, us.Name, "us-web", 2*i)
		w.publish(each.name, "eu", "eu-web", 2*i+1)
		w.Kubectl(strings.ReplaceAll(each.manifest, "HOST", each.name+".example.org"), "apply", "-n", each.name, "-f", "-")
	}
	before := w.receive("all are Enabled", expected(all, func(e example) string { return e.enabled }))

	w.declare(gimbalv1.ClusterMaintenance, backends...)
	w.receive("all are in maintenance", expected(all, func(e example) string { return e.drained }))
	w.drained(backends, metav1.ConditionTrue)
	for i, each := range all {
		us := &gimbalv1.DiscoveryBackend{}
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(backends[i]), us); err != nil {
			t.Fatal(err)
		}
		if us.Status.EndpointsDrained != each.withheld {
			t.Errorf("%s: the endpoints are withheld: %t", each.name, us.Status.EndpointsDrained)
		}
	}

	w.declare(gimbalv1.ClusterEnabled, backends...)
	w.contour.until(w.Context(), t, "all are Enabled again", func(served dump) string { return gocmp.Diff(before, served) })
	w.drained(backends, metav1.ConditionFalse)

	for name, field := range map[string]struct{ resource, path string }{
		"unset": {"httpproxy", "/spec/routes/0/services"}, "http-route": {"httproute", "/spec/rules/0/backendRefs"},
	} {
		number := slices.IndexFunc(all, func(e example) bool { return e.name == name })
		w.edited(number, backends[number], before, func(namespace, references string) {
			w.Kubectl("", "patch", field.resource, "route", "-n", namespace, "--type=json", "-p", `[{"op":"replace","path":"`+field.path+`","value":[`+references+`]}]`)
		})
	}
	w.declare(gimbalv1.ClusterMaintenance, backends[0])
	for _, backend := range backends {
		confirmation := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`))
		if err := w.Client.Patch(w.Context(), backend, confirmation); err != nil {
			t.Fatal(err)
		}
		if err := w.Client.Delete(w.Context(), backend); err != nil {
			t.Fatal(err)
		}
	}
	w.receive("all have been deleted", expected(all, func(e example) string { return e.removed }))
	for _, backend := range backends {
		w.until(backend.Name+" has been deleted", func(ctx context.Context) (bool, error) {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(backend), backend.DeepCopy())
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
	w.receive("all have been deleted with their Services", expected(all, func(e example) string { return e.removed }))
	var want []string
	for _, each := range all {
		if each.nothing || each.unresolved {
			want = append(want, each.name)
		}
	}
	slices.Sort(want)
	w.until("every other HTTPProxy is valid", func(context.Context) (bool, error) {
		invalid := w.Kubectl("", "get", "httpproxies", "-A", "-o", `jsonpath={.items[?(@.status.currentStatus!="valid")].metadata.namespace}`)
		return slices.Equal(slices.Sorted(slices.Values(strings.Fields(invalid))), want), nil
	})
}

// drained waits until all backends report that they are drained, or that they are not.
func (w *world) drained(backends []*gimbalv1.DiscoveryBackend, status metav1.ConditionStatus) {
	w.Helper()
	for _, backend := range backends {
		current, message := &gimbalv1.DiscoveryBackend{}, ""
		w.until(fmt.Sprintf("%s has Drained=%s", backend.Name, status), func(ctx context.Context) (bool, error) {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(backend), current); err != nil {
				return false, err
			}
			condition := meta.FindStatusCondition(current.Status.Conditions, gimbalv1.ConditionDrained)
			if condition != nil {
				message = condition.Message
			}
			return condition != nil && condition.Status == status, nil
		})
		w.Logf("%s: %s", backend.Name, message)
	}
}

// edited checks what users change during maintenance: weights that equal those of maintenance, the name of a reference,
// and Services and endpoints that come and go. The example has references to both backends, without weights; patch replaces them.
func (w *world) edited(number int, us *gimbalv1.DiscoveryBackend, before dump, patch func(namespace, references string)) {
	w.Helper()
	namespace := examples()[number].name
	// served waits for the Services of the example that get requests.
	served := func(what string, services ...string) {
		w.Helper()
		w.contour.until(w.Context(), w.T, namespace+": "+what, func(current dump) string {
			var got []string
			for _, service := range sorted(current.receivers()) {
				if name, ok := strings.CutPrefix(service, namespace+"/"); ok {
					got = append(got, name)
				}
			}
			return gocmp.Diff(services, got)
		})
	}
	maintain := func(status gimbalv1.ClusterStatus, condition metav1.ConditionStatus) {
		w.Helper()
		w.declare(status, us)
		w.drained([]*gimbalv1.DiscoveryBackend{us}, condition)
	}
	maintain(gimbalv1.ClusterMaintenance, metav1.ConditionTrue)
	served("before edits", "eu-web")
	patch(namespace, `{"name":"us-web","port":80,"weight":1},{"name":"eu-web","port":80,"weight":1}`)
	served("with equal weights", "eu-web")
	maintain(gimbalv1.ClusterEnabled, metav1.ConditionFalse)
	served("with equal weights, Enabled", "eu-web", "us-web")
	patch(namespace, `{"name":"us-web","port":80},{"name":"eu-web","port":80}`)
	w.contour.until(w.Context(), w.T, "without weights again", func(current dump) string { return gocmp.Diff(before[routes], current[routes]) })

	maintain(gimbalv1.ClusterMaintenance, metav1.ConditionTrue)
	served("before the rename", "eu-web")
	w.publish(namespace, "eu", "eu-api", 500+number)
	patch(namespace, `{"name":"eu-api","port":80,"weight":0},{"name":"eu-web","port":80,"weight":1}`)
	served("renamed to a Service that is not drained", "eu-api", "eu-web")
	patch(namespace, `{"name":"us-web","port":80},{"name":"eu-web","port":80}`)
	served("named as before", "eu-web")

	ready := func(is bool) {
		w.Kubectl("", "patch", "endpointslice", "eu-web", "-n", namespace, "--type=json", "-p",
			fmt.Sprintf(`[{"op":"replace","path":"/endpoints/0/conditions","value":{"ready":%t,"serving":%t}}]`, is, is))
	}
	ready(false)
	served("with an alternative without a ready endpoint")
	w.without(us, 1)
	ready(true)
	served("with an alternative with a ready endpoint", "eu-web")
	w.without(us, 0)

	w.Kubectl("", "delete", "service", "eu-web", "-n", namespace)
	served("without the alternative")
	w.drained([]*gimbalv1.DiscoveryBackend{us}, metav1.ConditionTrue)
	w.Kubectl("", "delete", "endpointslice", "eu-web", "-n", namespace, "--ignore-not-found")
	w.publish(namespace, "eu", "eu-web", 2*number+1)
	served("with the alternative again", "eu-web")
	maintain(gimbalv1.ClusterEnabled, metav1.ConditionFalse)
	w.contour.until(w.Context(), w.T, "Enabled after the edits", func(current dump) string {
		return gocmp.Diff(before[routes], current[routes])
	})
}

// without waits until a backend reports that this many routes have no alternative to it.
func (w *world) without(backend *gimbalv1.DiscoveryBackend, count int32) {
	w.Helper()
	current := &gimbalv1.DiscoveryBackend{}
	w.until(fmt.Sprintf("%s has %d routes without an alternative", backend.Name, count), func(ctx context.Context) (bool, error) {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(backend), current); err != nil {
			return false, err
		}
		var got int32
		if reported := current.Status.Routes; reported != nil && reported.WithoutAlternative != nil {
			got = reported.WithoutAlternative.Count
		}
		return got == count, nil
	})
}
