// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// world is an API server and a reconciler, whose requests it records: writes, and live reads. Reads of the cache are none.
type world struct {
	*kubetest.Server
	t          *testing.T
	reconciler *reconciler
	recorder   *events.FakeRecorder
	clock      *testingclock.FakePassiveClock
	registry   *prometheus.Registry
	// live replaces the metadata in the responses to live reads, liveErr fails them, and liveReads records them.
	live      client.Object
	liveErr   error
	liveReads []string
	// behind are Translations as listed by an outdated cache.
	behind *midonetv1.TranslationList
	// unread fails the reads of a cache.
	unread func(what string) error

	// config is that of the reconciler.
	config configv1alpha1.TranslationConfiguration
}

func testConfig() configv1alpha1.TranslationConfiguration {
	config := configv1alpha1.TranslationConfiguration{}
	configv1alpha1.SetDefaults_TranslationConfiguration(&config)
	config.MidoNet.URL = "http://localhost/midonet-api"
	return config
}

// ovnConfig returns a configuration with another backend, which has NetworkPolicies.
func ovnConfig() configv1alpha1.TranslationConfiguration {
	config := testConfig()
	config.MidoNet.URL, config.OVN.Endpoints = "", []string{"tcp:127.0.0.1:6641"}
	config.OVN.NodeAddressTypes = []corev1.NodeAddressType{corev1.NodeInternalIP}
	return config
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{
		t: t, config: testConfig(), recorder: events.NewFakeRecorder(1000), registry: prometheus.NewRegistry(),
		clock: testingclock.NewFakePassiveClock(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)),
		Server: kubetest.Build(t, func(builder *fake.ClientBuilder) {
			builder.WithGlobalResourceVersionCounter().
				WithIndex(&corev1.Pod{}, podsByNode, nodeKey).
				WithIndex(&discoveryv1.EndpointSlice{}, slicesByService, serviceKey).
				WithIndex(&networkingv1.NetworkPolicy{}, policiesAcross, indexAcross).
				WithIndex(&corev1.Service{}, servicesByAddress, addressKeys).
				WithIndex(&corev1.Node{}, nodesByAddress, nodeAddressKeys).
				WithIndex(&corev1.Pod{}, podsByAddress, podAddressKeys)
		}, objects...),
	}
	w.Describe = func(write kubetest.Write) string { return write.Verb + " " + unhashed(write.Name) }
	w.Reject = func(write kubetest.Write) error {
		if write.Verb == "patch" && (!strings.Contains(write.Patch, `"uid"`) || strings.Contains(write.Patch, `"status"`)) || strings.Contains(write.Verb, " status") {
			return fmt.Errorf("%s: without the uid, or with the status: %s", write, write.Patch)
		}
		return nil
	}
	w.ReadCache = func(verb string, object runtime.Object) error {
		if w.unread == nil {
			return nil
		}
		return w.unread(fmt.Sprintf("%s %T", verb, object))
	}
	w.restart()
	return w
}

// restart creates a reconciler without state.
func (w *world) restart() {
	meters, err := NewMeters(w.registry)
	if err != nil {
		w.t.Fatal(err)
	}
	w.reconciler = newReconciler(w.config, w.clock, meters)
	w.reconciler.recorder = w.recorder
	w.reconciler.owned = w.owned
	w.reconciler.live = interceptor.NewClient(w.Live(), interceptor.Funcs{Get: w.getLive})
	w.reconciler.client = interceptor.NewClient(w.Client(), interceptor.Funcs{Get: w.get, List: w.list})
}

// get reads from the cache.
func (w *world) get(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if (&client.GetOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return fmt.Errorf("get %s does not see the controller's own writes", key)
	}
	return store.Get(ctx, key, object, options...)
}

// owned finds Translations as the index of the cache does.
func (w *world) owned(key string) ([]*midonetv1.Translation, error) {
	if w.unread != nil {
		if err := w.unread("list Translations"); err != nil {
			return nil, err
		}
	}
	list := &midonetv1.TranslationList{}
	if w.behind != nil {
		w.behind.DeepCopyInto(list)
	} else if err := w.List(w.t.Context(), list); err != nil {
		return nil, err
	}
	var found []*midonetv1.Translation
	for i := range list.Items {
		if slices.Contains(translationKeys(&list.Items[i]), key) {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}

// list reads as the cache lists, which needs an index, except for what policies select.
func (w *world) list(ctx context.Context, store client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	applied := (&client.ListOptions{}).ApplyOptions(options)
	if w.reconciler.isolator == nil && (applied.FieldSelector == nil || applied.Namespace == "") {
		return fmt.Errorf("a list of the whole cluster: %T", list)
	}
	return store.List(ctx, list, options...)
}

func (w *world) getLive(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	w.liveReads = append(w.liveReads, "get "+key.Name)
	if w.liveErr != nil {
		return w.liveErr
	}
	err := store.Get(ctx, key, object, options...)
	if w.live != nil && err == nil {
		object.SetUID(w.live.GetUID())
		object.SetDeletionTimestamp(w.live.GetDeletionTimestamp())
		object.SetAnnotations(w.live.GetAnnotations())
	}
	return err
}

// reset discards requests, events and faults.
func (w *world) reset() {
	w.Reset()
	w.events()
}

// reconcile reconciles once and returns the requests that it took.
func (w *world) reconcile(u unit) (reconcile.Result, []string, error) {
	w.t.Helper()
	w.ResetLog()
	w.liveReads = nil
	result, err := w.reconciler.Reconcile(w.t.Context(), u)
	return result, slices.Concat(w.liveReads, w.Writes()), err
}

// settle passes until nothing is requested any more, and returns the requests that took, sorted.
func (w *world) settle(u unit) []string {
	w.t.Helper()
	var all []string
	for range 20 {
		_, requests, err := w.reconcile(u)
		all = append(all, requests...)
		if err == nil && len(requests) == 0 {
			slices.Sort(all)
			return all
		}
	}
	w.t.Fatalf("the reconciler never stops: %q", all)
	return nil
}

// expectRequests reconciles once that must succeed with those requests, in any order.
func (w *world) expectRequests(u unit, want ...string) reconcile.Result {
	w.t.Helper()
	result, got, err := w.reconcile(u)
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("requests:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return result
}

// translations returns those in a namespace, by name.
func (w *world) translations(namespace string) map[string]*midonetv1.Translation {
	w.t.Helper()
	list := &midonetv1.TranslationList{}
	if err := w.List(w.t.Context(), list, client.InNamespace(namespace)); err != nil {
		w.t.Fatal(err)
	}
	found := map[string]*midonetv1.Translation{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	return found
}

// names returns those of the Translations in a namespace, without their hashes; the ones that are being deleted have a minus.
func (w *world) names(namespace string) []string {
	w.t.Helper()
	all := w.translations(namespace)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := unhashed(name)
		if !all[name].DeletionTimestamp.IsZero() {
			text = "-" + text
		}
		names = append(names, text)
	}
	return names
}

// one returns the Translation whose name begins so.
func (w *world) one(namespace, prefix string) *midonetv1.Translation {
	w.t.Helper()
	for name, translation := range w.translations(namespace) {
		if strings.HasPrefix(name, prefix) {
			return translation
		}
	}
	w.t.Fatalf("no translation in %s begins with %s: %q", namespace, prefix, w.names(namespace))
	return nil
}

// released takes the finalizer of a Translation away, as the pusher does.
func (w *world) released(translation *midonetv1.Translation) {
	w.t.Helper()
	change(w, translation, func(t *midonetv1.Translation) { t.Finalizers = nil })
}

// change edits an object as a user.
func change[T client.Object](w *world, object T, edit func(T)) {
	w.t.Helper()
	w.Change(object, func() { edit(object) })
}

// report writes the status of an object, as its kubelet does.
func (w *world) report(object client.Object) {
	w.t.Helper()
	wanted := object.DeepCopyObject().(client.Object)
	w.ChangeStatus(object, func() {
		wanted.SetResourceVersion(object.GetResourceVersion())
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(wanted).Elem())
	})
}

// events returns the events since the last call, as "Type Reason Message".
func (w *world) events() []string { return kubetest.Events(w.recorder) }

// expectEvents wants one event for each beginning.
func (w *world) expectEvents(want ...string) {
	w.t.Helper()
	got := w.events()
	if len(got) != len(want) {
		w.t.Fatalf("events: %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			w.t.Errorf("event: %q, want %q", got[i], want[i])
		}
	}
}

// counted and gauged are the values of metrics.
func counted(vec *prometheus.CounterVec, labels ...string) float64 {
	return testutil.ToFloat64(vec.WithLabelValues(labels...))
}

func gauged(vec *prometheus.GaugeVec, labels ...string) float64 {
	return testutil.ToFloat64(vec.WithLabelValues(labels...))
}

func conflict(name string) error {
	return apierrors.NewConflict(midonetv1.Resource("translations"), name, errors.New("changed"))
}

func forbidden(name string) error {
	return apierrors.NewForbidden(midonetv1.Resource("translations"), name, errors.New("Port 1 belongs to translation other"))
}

func unhashed(name string) string {
	if cut := len(name) - 41; cut > 0 && name[cut] == '-' && strings.Trim(name[cut+1:], "0123456789abcdef") == "" {
		return name[:cut]
	}
	return name
}

const (
	hostA = "11111111-1111-4111-8111-111111111111"
	hostB = "22222222-2222-4222-8222-222222222222"
)

func testNode(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("node-" + name), Annotations: map[string]string{midonetv1.AnnotationHostID: hostA},
	}}
	node.Spec.PodCIDR, node.Spec.PodCIDRs = "10.1.0.0/24", []string{"10.1.0.0/24"}
	return node
}

func testPod(name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("pod-" + name)}}
	pod.Spec.NodeName = node
	return pod
}

func testService(name string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("service-" + name)}}
	service.Spec.Type, service.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.96.0.10"
	service.Spec.Ports = []corev1.ServicePort{{Name: "web", Protocol: corev1.ProtocolTCP, Port: 80}}
	return service
}

func testSlice(service, suffix string, addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: service + "-" + suffix, UID: types.UID("slice-" + service + suffix),
			Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("web"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return slice
}

func unitOf(kind string, object client.Object) unit {
	return unit{kind: kind, namespace: object.GetNamespace(), name: object.GetName()}
}

var (
	nodeA  = unit{kind: convert.KindNode, name: "a"}
	podWeb = unit{kind: convert.KindPod, namespace: "shop", name: "web-0"}
	front  = unit{kind: convert.KindService, namespace: "shop", name: "front"}
)
