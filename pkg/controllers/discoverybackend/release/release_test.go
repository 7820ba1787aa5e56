// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const adminNamespace = "gimbal-discovery"

// world is a cluster with backends, Services and routes, which serves some kinds of routes.
type world struct {
	*testing.T
	references *References
	store      *kubetest.Server
	routes     *dynamicfake.FakeDynamicClient
	served     []string

	mu sync.Mutex
	// fault may fail a request, by verb and what it is about.
	fault func(request string) error
	// after is the last name of the page of a resource that was given last.
	after map[string]string
}

func backend(namespace, name string, status gimbalv1.ClusterStatus) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	b.Cluster.ClusterStatus = status
	return b
}

// service returns a copied Service with a label, of the legacy prefix when the backend starts with a "!", none when it is empty.
func service(namespace, name, backend string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	switch legacy, is := strings.CutPrefix(backend, "!"); {
	case is:
		s.Labels = map[string]string{gimbalv1.LegacyLabelBackend: legacy, desired.LabelManagedBy: desired.Manager}
	case backend != "":
		s.Labels = map[string]string{gimbalv1.LabelBackend: backend, desired.LabelManagedBy: desired.Manager}
	}
	return s
}

// unmarked returns a Service with the label of a backend that no discoverer wrote.
func unmarked(namespace, name, backend string) *corev1.Service {
	s := service(namespace, name, backend)
	delete(s.Labels, desired.LabelManagedBy)
	return s
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{T: t, store: kubetest.New(t, objects...), served: []string{"httpproxies", "tcproutes", "ingresses"}, after: map[string]string{}}
	w.store.Read = func(verb string, object runtime.Object) error { return w.intercept(verb + " " + kindOf(object)) }
	listKinds := map[schema.GroupVersionResource]string{}
	for _, kind := range drain.Kinds() {
		listKinds[schema.GroupVersionResource{Group: kind.Group, Version: kind.Versions[0], Resource: kind.Resource}] = kind.Kind + "List"
	}
	w.routes = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds)
	w.routes.PrependReactor("*", "*", w.react)
	w.references = &References{
		Live:   w.store.Live(),
		Routes: w.routes,
		Find: func(_ context.Context, kind *resourcewatch.Kind) (*schema.GroupVersionResource, error) {
			if err := w.intercept("find " + kind.Resource); err != nil || !slices.Contains(w.served, kind.Resource) {
				return nil, err
			}
			return new(kind.WithVersion(kind.Versions[0])), nil
		},
		AdminNamespaces: []string{adminNamespace},
		Record:          true, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)),
	}
	return w
}

func kindOf(object runtime.Object) string {
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	name := fmt.Sprintf("%T", object)
	return name[strings.LastIndex(name, ".")+1:]
}

func (w *world) intercept(request string) error {
	w.mu.Lock()
	fault := w.fault
	w.mu.Unlock()
	if fault != nil {
		return fault(request)
	}
	return nil
}

// react gives short lists of routes in pages of one, and rejects updates of what changed.
func (w *world) react(action ktesting.Action) (bool, runtime.Object, error) {
	resource := action.GetResource().Resource
	switch action := action.(type) {
	case ktesting.ListActionImpl:
		after := w.after[resource]
		delete(w.after, resource)
		if err := w.intercept(strings.TrimSpace("list " + resource + " " + after)); err != nil {
			return true, nil, err
		}
		found, err := w.routes.Tracker().List(action.Resource, action.Kind, action.Namespace)
		if err != nil {
			return true, nil, err
		}
		list := found.(*unstructured.UnstructuredList)
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		list.Items = slices.DeleteFunc(list.Items, func(item unstructured.Unstructured) bool { return item.GetName() <= after })
		if len(list.Items) > 1 && len(list.Items) < 10 {
			list.Items = list.Items[:1]
			w.after[resource] = list.Items[0].GetName()
			list.SetContinue(w.after[resource])
		}
		return true, list, nil
	case ktesting.UpdateActionImpl:
		accessor, err := meta.Accessor(action.Object)
		if err != nil {
			return true, nil, err
		}
		if err := w.intercept("update " + resource + " " + accessor.GetName()); err != nil {
			return true, nil, err
		}
		if current := w.get(action.Resource, accessor.GetNamespace(), accessor.GetName()); current.GetResourceVersion() != accessor.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(action.Resource.GroupResource(), accessor.GetName(), errors.New("it changed"))
		}
		accessor.SetResourceVersion(accessor.GetResourceVersion() + "0")
	}
	return false, nil, nil
}

func (w *world) get(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	w.Helper()
	found, err := w.routes.Tracker().Get(resource, namespace, name)
	if err != nil {
		w.Fatal(err)
	}
	return found.(*unstructured.Unstructured)
}

var (
	proxies   = schema.GroupVersionResource{Group: "projectcontour.io", Version: "v1", Resource: "httpproxies"}
	tcpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "tcproutes"}
)

// add adds a route.
func (w *world) add(resource schema.GroupVersionResource, kind, namespace, name, spec string) {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("{spec: "+spec+"}"), &object.Object); err != nil {
		w.Fatal(err)
	}
	object.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetResourceVersion("7")
	if err := w.routes.Tracker().Create(resource, object, namespace); err != nil {
		w.Fatal(err)
	}
}

// proxy adds an HTTPProxy with one route to some Services.
func (w *world) proxy(namespace, name string, services ...string) {
	w.Helper()
	var list []string
	for _, each := range services {
		list = append(list, fmt.Sprintf("{name: %s, port: 80}", each))
	}
	w.add(proxies, "HTTPProxy", namespace, name, "{routes: [{services: ["+strings.Join(list, ", ")+"]}]}")
}

// services returns those of the first route of an HTTPProxy.
func (w *world) services(namespace, name string) string {
	w.Helper()
	routes, _, err := unstructured.NestedSlice(w.get(proxies, namespace, name).Object, "spec", "routes")
	if err != nil || len(routes) == 0 {
		return ""
	}
	var names []string
	listed, _, _ := unstructured.NestedSlice(routes[0].(map[string]any), "services")
	for _, each := range listed {
		names = append(names, each.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

func (w *world) updates() int {
	count := 0
	for _, action := range w.routes.Actions() {
		if action.GetVerb() == "update" {
			count++
		}
	}
	w.routes.ClearActions()
	return count
}

func us(namespace string) *gimbalv1.DiscoveryBackend {
	return backend(namespace, "us", gimbalv1.ClusterEnabled)
}

// TestRemove checks that references are removed in all served kinds and namespaces, for Services with either label, and that a
// second reconciliation writes nothing.
func TestRemove(t *testing.T) {
	w := newWorld(t, us(adminNamespace), backend(adminNamespace, "eu", gimbalv1.ClusterEnabled),
		service("shop", "us-web", "us"), service("shop", "us-old", "!us"), service("shop", "eu-web", "eu"), service("bank", "us-web", "us"), service("shop", "own", ""))
	w.proxy("shop", "a", "us-web", "eu-web")
	w.proxy("shop", "b", "eu-web", "us-old", "own")
	w.proxy("shop", "c", "eu-web", "own")
	w.proxy("bank", "d", "us-web", "us-else")
	w.add(tcpRoutes, "TCPRoute", "shop", "tcp", "{rules: [{backendRefs: [{name: us-web, port: 80, weight: 5}]}]}")
	got, err := w.references.Remove(t.Context(), us(adminNamespace))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"HTTPProxy bank/d", "HTTPProxy shop/a", "HTTPProxy shop/b", "TCPRoute shop/tcp"}, got.Removed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Left != 0 || len(got.Rejected) != 0 || len(got.Kept) != 1 || !strings.HasPrefix(got.Kept[0], "TCPRoute shop/tcp: ") {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{"shop/a": "eu-web", "shop/b": "eu-web own", "shop/c": "eu-web own", "bank/d": "us-else"} {
		namespace, name, _ := strings.Cut(name, "/")
		if got := w.services(namespace, name); got != want {
			t.Errorf("%s/%s refers to %q, want %q", namespace, name, got, want)
		}
	}
	w.updates()
	got, err = w.references.Remove(t.Context(), us(adminNamespace))
	if err != nil || len(got.Removed) != 0 || got.Left != 0 || len(got.Kept) != 1 || w.updates() != 0 {
		t.Errorf("the second pass: %+v, %v", got, err)
	}
}

// TestUnmarkedServicesKeepTheirReferences checks that a Service with the label of the backend but without the mark of a discoverer
// is retained when the backend is deleted, and so are the references to it.
func TestUnmarkedServicesKeepTheirReferences(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), unmarked("shop", "us-own", "us"), unmarked("shop", "old", "!us"))
	w.proxy("shop", "a", "us-web", "us-own", "old")
	w.proxy("shop", "b", "us-own")
	got, err := w.references.Remove(t.Context(), us(adminNamespace))
	if err != nil || !slices.Equal(got.Removed, []string{"HTTPProxy shop/a"}) || w.services("shop", "a") != "us-own old" || w.services("shop", "b") != "us-own" {
		t.Errorf("result = %+v, %v; HTTPProxies refer to %q and %q", got, err, w.services("shop", "a"), w.services("shop", "b"))
	}
}

// TestReach checks that a backend outside the admin namespaces removes references only from routes in its own namespace.
func TestReach(t *testing.T) {
	w := newWorld(t, us("shop"), service("shop", "us-web", "us"), service("bank", "us-web", "us"), service("shop", "own", ""))
	w.proxy("shop", "a", "us-web", "own")
	w.proxy("bank", "b", "us-web", "own")
	w.add(tcpRoutes, "TCPRoute", "bank", "c", "{rules: [{backendRefs: [{name: us-web, namespace: shop, port: 80}, {name: own, port: 80}]}]}")
	w.add(tcpRoutes, "TCPRoute", "shop", "d", "{rules: [{backendRefs: [{name: us-web, namespace: bank, port: 80}, {name: own, port: 80}]}]}")
	got, err := w.references.Remove(t.Context(), us("shop"))
	if err != nil || !slices.Equal(got.Removed, []string{"HTTPProxy shop/a"}) || w.services("bank", "b") != "us-web own" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestGuards checks that nothing is written or deleted if any input of the decision cannot be read.
func TestGuards(t *testing.T) {
	for _, request := range []string{
		"list DiscoveryBackendList", "list ServiceList", "find httpproxies", "find tlsroutes", "list httpproxies", "list httpproxies a", "list ingresses",
	} {
		t.Run(request, func(t *testing.T) {
			w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "own", ""))
			w.proxy("shop", "a", "us-web", "own")
			w.proxy("shop", "b", "us-web", "own")
			w.fault = func(got string) error {
				if got == request {
					return errors.New("no response")
				}
				return nil
			}
			if got, err := w.references.Remove(t.Context(), us(adminNamespace)); err == nil || w.updates() != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestWritesThatFail checks that a route that changed meanwhile is left, a deleted one is ignored, a rejected one is named, and a
// temporary failure is an error.
func TestWritesThatFail(t *testing.T) {
	resource := proxies.GroupResource()
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "own", ""))
	for _, name := range []string{"changed", "gone", "good", "refused"} {
		w.proxy("shop", name, "us-web", "own")
	}
	faults := map[string]error{
		"changed": apierrors.NewConflict(resource, "changed", errors.New("it changed")),
		"gone":    apierrors.NewNotFound(resource, "gone"),
		"refused": apierrors.NewForbidden(resource, "refused", errors.New("by a policy")),
	}
	w.fault = func(request string) error {
		name, _ := strings.CutPrefix(request, "update httpproxies ")
		return faults[name]
	}
	got, err := w.references.Remove(t.Context(), us(adminNamespace))
	if err != nil || !slices.Equal(got.Removed, []string{"HTTPProxy shop/good"}) || got.Left != 1 || len(got.Rejected) != 1 ||
		!strings.Contains(got.Rejected[0], "update HTTPProxy shop/refused: ") || !strings.Contains(got.Rejected[0], "by a policy") {
		t.Errorf("%+v, %v", got, err)
	}
	for _, fault := range []error{errors.New("no response"), apierrors.NewServiceUnavailable("soon"), apierrors.NewTooManyRequests("later", 1)} {
		faults["refused"] = fault
		if got, err := w.references.Remove(t.Context(), us(adminNamespace)); err == nil {
			t.Errorf("%v: %+v", fault, got)
		}
	}
}

// TestOtherBackendsRemainDrained checks that routes that are drained for another backend remain drained, and that others are not
// drained.
func TestOtherBackendsRemainDrained(t *testing.T) {
	eu := backend(adminNamespace, "eu", gimbalv1.ClusterMaintenance)
	w := newWorld(t, us(adminNamespace), eu, service("shop", "us-web", "us"), service("shop", "eu-web", "eu"), service("shop", "own", ""))
	w.proxy("shop", "a", "us-web", "eu-web", "own")
	w.proxy("shop", "b", "us-web", "eu-web", "own")
	drained := w.get(proxies, "shop", "a").DeepCopy()
	kind := drain.Kinds()[0]
	if _, err := kind.Rewrite(drained, maintenance{}); err != nil {
		t.Fatal(err)
	}
	if err := w.routes.Tracker().Update(proxies, drained, "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.references.Remove(t.Context(), us(adminNamespace)); err != nil {
		t.Fatal(err)
	}
	weights := func(name string) string {
		routes, _, _ := unstructured.NestedSlice(w.get(proxies, "shop", name).Object, "spec", "routes")
		services, _, _ := unstructured.NestedSlice(routes[0].(map[string]any), "services")
		var all []string
		for _, each := range services {
			service := each.(map[string]any)
			all = append(all, fmt.Sprintf("%v=%v", service["name"], service["weight"]))
		}
		return strings.Join(all, " ")
	}
	if got := weights("a"); got != "eu-web=0 own=1" {
		t.Errorf("the drained route has %s", got)
	}
	if got := weights("b"); got != "eu-web=<nil> own=<nil>" {
		t.Errorf("the other route has %s", got)
	}
	record := w.get(proxies, "shop", "a").GetAnnotations()[gimbalv1.AnnotationSavedWeights]
	if !strings.Contains(record, "shop/eu-web:80") || strings.Contains(record, "us-web") {
		t.Errorf("the record is %s", record)
	}
}

// maintenance has backend eu in maintenance. It implements drain.Backends.
type maintenance struct{}

func (maintenance) Of(service drain.Object) (string, bool) {
	owner, _, found := strings.Cut(service.Name, "-")
	if !found || service.Import {
		owner = ""
	}
	return owner, true
}
func (maintenance) Share(backend, _ string) int {
	if backend == "eu" {
		return 0
	}
	return 100
}
func (maintenance) KeepsSole(string) bool { return false }

func (maintenance) Target(drain.Object, string) drain.Target { return drain.Target{} }

func (maintenance) FailsOver(name) bool { return false }

func (maintenance) ClusterOf(backend string) string { return backend }

// TestBounded checks that one reconciliation writes a limited number of routes, and reports how many remain.
func TestBounded(t *testing.T) {
	w := newWorld(t, us(adminNamespace), service("shop", "us-web", "us"), service("shop", "own", ""))
	for i := range maxRoutes + 3 {
		w.proxy("shop", fmt.Sprintf("r-%04d", i), "us-web", "own")
	}
	for _, want := range [][2]int{{maxRoutes, 3}, {3, 0}, {0, 0}} {
		got, err := w.references.Remove(t.Context(), us(adminNamespace))
		if err != nil || len(got.Removed) != want[0] || got.Left != want[1] {
			t.Fatalf("%d removed, %d left, want %v; %v", len(got.Removed), got.Left, want, err)
		}
	}
}
