// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

const adminNamespace = "gimbal-discovery"

// world is both loops on a fake API server with HTTPProxies and HTTPRoutes. It lives in a bubble of synctest, so time
// passes only when everybody waits. Reconciles are called by the tests.
type world struct {
	testing.TB
	set      *resourcewatch.Set
	dynamic  *dynamicfake.FakeDynamicClient
	metadata *metadatafake.FakeMetadataClient
	watches  *watches
	routes   *routes
	backends *backends
	ready    *endpointsFake
	// stop ends what start began.
	stop func()

	mu sync.Mutex
	// unserved has what the API server does not serve, or does not respond for.
	unserved map[schema.GroupResource]error
	version  int
	// fault may fail a write of a route.
	fault func(object *unstructured.Unstructured) error
	// wrote are the writes of routes and of statuses, as resource/name.
	wrote []string
}

// inWorld runs a test in a world with the backends us and eu and a Service us-web and eu-web of each.
func inWorld(t *testing.T, test func(*world), more ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"us", "eu"} {
			w.backend(adminNamespace, name)
			w.service("shop", name+"-web", name)
		}
		for _, manifest := range more {
			w.create(manifest)
		}
		w.start()
		test(w)
	})
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, unserved: map[schema.GroupResource]error{}, ready: &endpointsFake{}, version: 100}
	w.ready.withheld = func(backend string, withheld bool) { w.setReady(backend+"-web", !withheld) }
	lists := map[schema.GroupVersionResource]string{servicesV1: "ServiceList", slicesV1: "EndpointSliceList", gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"): "DiscoveryBackendList"}
	for _, kind := range drain.Kinds() {
		lists[routeResource(kind).WithVersion(kind.Versions[0])] = kind.Kind + "List"
	}
	lists[importsResource.WithVersion("v1beta1")] = "ServiceImportList"
	lists[klustersV1] = "KlusterList"
	lists[grantsResource.WithVersion("v1")] = "ReferenceGrantList"
	lists[otherKinds(nil)[0].WithVersion("v1alpha1")] = "ExtensionServiceList"
	w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	w.dynamic.PrependReactor("update", "*", w.update)
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w.metadata = metadatafake.NewSimpleMetadataClient(scheme)
	w.boot()
	return w
}

// boot makes the loops of a process.
func (w *world) boot() {
	w.Helper()
	meters, err := NewMeters(prometheus.NewRegistry())
	if err != nil {
		w.Fatal(err)
	}
	all, others := drain.Kinds(), otherKinds(nil)
	w.set = resourcewatch.NewSet(w.find, resourcewatch.Source{Metadata: w.metadata, Dynamic: w.dynamic}, clock.RealClock{}, time.Hour, append(followed(all, others), klusterKind())...)
	cluster := newCluster(w.set, all, others, []string{adminNamespace})
	cluster.limit, cluster.clock = 1, clock.RealClock{}
	w.watches = &watches{cluster: cluster}
	w.routes = &routes{
		cluster: cluster, client: w.dynamic, clock: clock.RealClock{}, meters: meters, keep: keepRemoved,
		notify: func(context.Context, ...string) {},
	}
	statuses := interceptor.NewClient(fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), interceptor.Funcs{SubResourceApply: w.applyStatus})
	w.backends = &backends{
		cluster: cluster, readiness: w.ready, client: statuses, clock: clock.RealClock{}, recorder: events.NewFakeRecorder(100),
		meters: meters, here: &self.Cluster{Reader: statuses}, restored: func(context.Context, string) {},
	}
}

// start follows the kinds until the test ends.
func (w *world) start() {
	ctx, cancel := context.WithCancel(w.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = w.set.Start(ctx) })
	w.stop = func() { cancel(); group.Wait() }
	w.Cleanup(w.stop)
	synctest.Wait()
}

// find returns the discovery of the fake API server.
func (w *world) find(_ context.Context, kind *resourcewatch.Kind) (*schema.GroupVersionResource, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err, missing := w.unserved[kind.GroupResource]; missing {
		return nil, err
	}
	version := "v1"
	if len(kind.Versions) > 0 {
		version = kind.Versions[0]
	}
	return new(kind.WithVersion(version)), nil
}

// update counts versions and rejects updates of an outdated version.
func (w *world) update(action ktesting.Action) (bool, runtime.Object, error) {
	object, ok := action.(ktesting.UpdateAction).GetObject().(*unstructured.Unstructured)
	if !ok {
		return true, nil, errors.New("not an object")
	}
	current, err := w.dynamic.Tracker().Get(action.GetResource(), object.GetNamespace(), object.GetName())
	if err != nil {
		return true, nil, err
	}
	if current.(*unstructured.Unstructured).GetResourceVersion() != object.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), object.GetName(), errors.New("it changed"))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault != nil {
		if err := w.fault(object); err != nil {
			return true, nil, err
		}
	}
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	object.SetGeneration(object.GetGeneration() + 1)
	w.wrote = append(w.wrote, action.GetResource().Resource+"/"+object.GetName())
	return false, nil, nil
}

// applyStatus stores an applied status.
func (w *world) applyStatus(_ context.Context, _ client.Client, _ string, applied runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	text, err := json.Marshal(applied)
	if err != nil {
		return err
	}
	change := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &change.Object); err != nil {
		return err
	}
	w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), change.GetNamespace(), change.GetName(), func(backend *unstructured.Unstructured) {
		backend.Object["status"] = change.Object["status"]
		backend.SetManagedFields(ownership(change))
		backend.SetGeneration(backend.GetGeneration() - 1) // a status has none
	})
	w.mu.Lock()
	w.wrote = append(w.wrote, "status/"+change.GetName())
	if response, ok := applied.(*gimbalapply.DiscoveryBackendApplyConfiguration); ok {
		response.WithResourceVersion(strconv.Itoa(w.version))
	}
	w.mu.Unlock()
	return nil
}

// ownership returns the entry of the errors in a status.
func ownership(backend *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries, _, _ := unstructured.NestedSlice(backend.Object, "status", "errors")
	fields := map[string]any{}
	for _, entry := range entries {
		key, _ := json.Marshal(map[string]any{"message": entry.(map[string]any)["message"], "type": entry.(map[string]any)["type"]})
		fields["k:"+string(key)] = map[string]any{}
	}
	text, _ := json.Marshal(map[string]any{"f:status": map[string]any{"f:errors": fields}})
	return []metav1.ManagedFieldsEntry{{Manager: drain.Manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(text))}}
}

// edit changes an object in the store as another client, and waits until the caches know.
func (w *world) edit(resource schema.GroupVersionResource, namespace, name string, how func(*unstructured.Unstructured)) {
	w.Helper()
	found, err := w.dynamic.Tracker().Get(resource, namespace, name)
	if err != nil {
		w.Fatal(err)
	}
	object := found.(*unstructured.Unstructured).DeepCopy()
	how(object)
	w.mu.Lock()
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	object.SetGeneration(object.GetGeneration() + 1)
	w.mu.Unlock()
	if err := w.dynamic.Tracker().Update(resource, object, namespace); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
}

// create adds a route of a manifest.
func (w *world) create(manifest string) {
	w.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		w.Fatal(err)
	}
	object.SetNamespace("shop")
	w.add(w.resourceOf(object), object)
}

func (w *world) resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	w.Helper()
	i := slices.IndexFunc(drain.Kinds(), func(kind *drain.Kind) bool { return kind.Kind == object.GetKind() })
	if i < 0 {
		w.Fatalf("%s is no kind of route", object.GetKind())
	}
	return routeResource(drain.Kinds()[i]).WithVersion(object.GroupVersionKind().Version)
}

func (w *world) add(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	w.Helper()
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	object.SetGeneration(1)
	object.SetUID(types.UID("uid-" + object.GetName()))
	if err := w.dynamic.Tracker().Create(resource, object, object.GetNamespace()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) backend(namespace, name string) {
	w.Helper()
	w.add(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gimbal.heptio.com/v1", "kind": "DiscoveryBackend", "metadata": map[string]any{"namespace": namespace, "name": name},
		"cluster": map[string]any{"type": "kubernetes", "clusterStatus": "Enabled", "drainPolicy": "Strict"},
	}})
}

var (
	klustersV1 = kubernikusv1.SchemeGroupVersion.WithResource("klusters")
	servicesV1 = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	slicesV1   = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
)

// service adds a Service with port 80, and a copied slice of it with a ready endpoint.
func (w *world) service(namespace, name, backend string) {
	w.Helper()
	w.add(servicesV1, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{gimbalv1.LabelBackend: backend}},
		"spec":     map[string]any{"ports": []any{map[string]any{"name": "http", "port": int64(80)}}},
	}})
	w.add(slicesV1, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{
			gimbalv1.LabelBackend: backend, discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: desired.Manager,
		}},
		"ports":     []any{map[string]any{"name": "http", "port": int64(8080)}},
		"endpoints": []any{map[string]any{"addresses": []any{"10.0.0.1"}, "conditions": map[string]any{"ready": true}}},
	}})
}

// setReady changes whether the endpoint of a Service is ready.
func (w *world) setReady(service string, ready bool) {
	w.Helper()
	w.edit(slicesV1, "shop", service, func(slice *unstructured.Unstructured) {
		slice.Object["endpoints"].([]any)[0].(map[string]any)["conditions"] = map[string]any{"ready": ready}
	})
}

// cluster changes a field of cluster of a backend.
func (w *world) cluster(name, field, value string) {
	w.Helper()
	w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, name, func(backend *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(backend.Object, value, "cluster", field)
	})
}

// stored reads a backend from the store.
func (w *world) stored(name string) *gimbalv1.DiscoveryBackend {
	w.Helper()
	found, err := w.dynamic.Tracker().Get(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, name)
	if err != nil {
		w.Fatal(err)
	}
	backend, ok := backendOf(found.(*unstructured.Unstructured).Object).(*gimbalv1.DiscoveryBackend)
	if !ok {
		w.Fatal("the backend cannot be read")
	}
	return backend
}

// check returns a reconciliation over a backend.
func (w *world) check(name string) (reconcile.Result, error) {
	w.Helper()
	result, err := w.backends.Reconcile(w.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: adminNamespace, Name: name}})
	synctest.Wait()
	return result, err
}

// mustCheck returns a reconciliation that succeeds, a while after the one before. It returns the condition Drained as
// Status/Reason.
func (w *world) mustCheck(name string) string {
	w.Helper()
	time.Sleep(statusPeriod)
	if _, err := w.check(name); err != nil {
		w.Fatal(err)
	}
	for _, c := range w.stored(name).Status.Conditions {
		return string(c.Status) + "/" + c.Reason
	}
	return ""
}

var proxies = schema.GroupVersionResource{Group: "projectcontour.io", Version: "v1", Resource: "httpproxies"}

// correct returns a reconciliation over the HTTPProxy web, which returns what was written.
func (w *world) correct() (reconcile.Result, []string, error) {
	w.Helper()
	w.take()
	result, err := w.routes.Reconcile(w.Context(), webKey())
	synctest.Wait()
	return result, w.take(), err
}

// mustCorrect is a reconciliation that succeeds with a number of writes.
func (w *world) mustCorrect(writes int) {
	w.Helper()
	if _, wrote, err := w.correct(); err != nil || len(wrote) != writes {
		w.Fatalf("a reconciliation over the route wrote %q, not %d times; %v", wrote, writes, err)
	}
}

func webKey() routeKey {
	return routeKey{proxies.GroupResource(), types.NamespacedName{Namespace: "shop", Name: "web"}}
}

// take returns what was written since the last call.
func (w *world) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrote := w.wrote
	w.wrote = nil
	return wrote
}

// web reads the HTTPProxy web.
func (w *world) web() *unstructured.Unstructured {
	w.Helper()
	found, err := w.dynamic.Tracker().Get(proxies, "shop", "web")
	if err != nil {
		w.Fatal(err)
	}
	return found.(*unstructured.Unstructured)
}

// weights returns those of the first rule of the HTTPProxy web.
func (w *world) weights() string {
	w.Helper()
	rules, _, _ := unstructured.NestedSlice(w.web().Object, "spec", "routes")
	var all []string
	for _, service := range rules[0].(map[string]any)["services"].([]any) {
		weight := "-"
		if value, set := service.(map[string]any)["weight"]; set {
			weight = fmt.Sprint(value)
		}
		all = append(all, weight)
	}
	return strings.Join(all, " ")
}

// record returns the annotation of the HTTPProxy web.
func (w *world) record() string {
	w.Helper()
	return w.web().GetAnnotations()[gimbalv1.AnnotationSavedWeights]
}

// endpointsFake are the endpoints of all backends.
type endpointsFake struct {
	// pending is how many slices are left after each call; it falls by one with each.
	pending int
	// lasts is how long a call takes.
	lasts time.Duration
	calls []string
	err   error
	// services are those of the last call.
	services readiness.Services
	// withheld is called when no slice is left to change.
	withheld func(backend string, withheld bool)
}

func (e *endpointsFake) Withhold(_ context.Context, backend *gimbalv1.DiscoveryBackend, services readiness.Services) (int, error) {
	e.services = services
	return e.call("withhold", backend.Name)
}

func (e *endpointsFake) Restore(_ context.Context, backend *gimbalv1.DiscoveryBackend) (int, error) {
	return e.call("restore", backend.Name)
}

func (e *endpointsFake) call(what, backend string) (int, error) {
	e.calls = append(e.calls, what+" "+backend)
	time.Sleep(e.lasts)
	if e.err != nil {
		return 0, e.err
	}
	if e.pending = max(e.pending-1, 0); e.pending == 0 {
		e.withheld(backend, what == "withhold")
	}
	return e.pending, nil
}

// Manifests of the HTTPProxy web: with two backends, and with one.
const (
	shared = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web}
spec: {routes: [{services: [{name: us-web, port: 80, weight: 70}, {name: eu-web, port: 80, weight: 30}]}]}
`
	sole = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web}
spec: {routes: [{services: [{name: us-web, port: 80}]}]}
`
)
