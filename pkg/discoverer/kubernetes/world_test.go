// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

// world are two clusters and a discoverer between them.
type world struct {
	*testing.T
	there, here *fake.Clientset
	upstream    *Upstream
	replica     *replica.Replica
	ledger      *report.Ledger
	meters      *telemetry.Meters
	clock       *clocktesting.FakeClock
	stop        func()
}

// setup is how a world differs from the usual.
type setup struct {
	policy        replica.Policy
	externalNames bool
	omitZones     bool
	confined      string
	labels        desired.Labels
	selector      labels.Selector
	recognize     func(context.Context, []gimbalv1.ClusterIdentity) error
	exports       *Exports
}

func newWorld(t *testing.T, there, here []runtime.Object) *world {
	t.Helper()
	return &world{T: t, there: clienttest.NewStrict(t, there...), here: clienttest.NewStrict(t, here...), clock: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))}
}

// start starts a discoverer and waits until it works. The test ends it when it does not do so itself.
func (w *world) start(s setup) {
	w.Helper()
	w.startOnly(s)
	w.until("all is compared", func() bool { return !w.replica.LastSync().IsZero() })
	// The fake sends no events of what is deleted between a listing and its watch.
	w.until("the backend is watched", func() bool {
		watches := 0
		for _, action := range w.there.Actions() {
			if action.GetVerb() == "watch" {
				watches++
			}
		}
		return watches >= 2*max(1, len(s.policy.Allow)) // Services and EndpointSlices
	})
}

// read makes what reads the backend, which reads nothing yet.
func (w *world) read(s setup, waiting func() int) {
	w.Helper()
	w.ledger = report.NewLedger(w.clock)
	w.meters = telemetry.New("us", "kubernetes", "v0", waiting)
	w.upstream = New(Options{
		Backend: "us", Client: clienttest.Client{Clientset: w.there}, Watching: clienttest.Client{Clientset: w.there}, Namespaces: s.policy.Allow, ExternalNames: s.externalNames, OmitZones: s.omitZones,
		Recognize: s.recognize, Exports: s.exports, Meters: w.meters, Clock: w.clock, Contact: func(report.Response) {},
	})
}

// startOnly starts a discoverer.
func (w *world) startOnly(s setup) {
	w.Helper()
	queue := replica.NewQueue()
	w.read(s, queue.Len)
	w.replica = replica.New(replica.Options{
		Backend: "us", Upstream: w.upstream, Client: clienttest.Client{Clientset: w.here}, Watching: clienttest.Client{Clientset: w.here}, Policy: s.policy, Labels: s.labels, Selector: s.selector, Confined: s.confined, Workers: 2, Resync: time.Hour,
		Ledger: w.ledger, Meters: w.meters, Clock: ticking{w.clock},
	}, queue)
	ctx, cancel := context.WithCancel(w.Context())
	var group sync.WaitGroup
	group.Go(func() { w.upstream.Watch(ctx) })
	group.Go(func() { w.replica.Watch(ctx) })
	group.Go(func() { _ = w.replica.Work(ctx) })
	w.stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	w.Cleanup(w.stop)
}

// waits reports whether a goroutine waits on the clock, beside the ticker of the resync.
func (w *world) waits() bool { return w.clock.Waiters() > 1 }

// ticking is a fake clock on which the wait for the caches takes no time.
type ticking struct{ *clocktesting.FakeClock }

// After returns immediately for the short pauses between checks a cache.
func (c ticking) After(d time.Duration) <-chan time.Time {
	if d < time.Second {
		return time.After(time.Millisecond)
	}
	return c.FakeClock.After(d)
}

func (w *world) until(what string, is func() bool) {
	w.Helper()
	err := wait.PollUntilContextTimeout(w.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		w.Fatalf("%s: it does not come to that: here are %v, wrong are %v", what, w.names(), w.ledger.Entries())
	}
}

// writes returns what a discoverer wrote since the last call, each as verb resource.
func (w *world) writes() []string {
	var written []string
	for _, action := range w.here.Actions() {
		if !slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			written = append(written, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	w.here.ClearActions()
	slices.Sort(written)
	return written
}

// names returns the Services that are here.
func (w *world) names() []string {
	w.Helper()
	list, err := w.here.CoreV1().Services("").List(context.WithoutCancel(w.Context()), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Namespace+"/"+list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func (w *world) slice(namespace, name string) *discoveryv1.EndpointSlice {
	slice, err := w.here.DiscoveryV1().EndpointSlices(namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return slice
}

func (w *world) service(namespace, name string) *corev1.Service {
	service, err := w.here.CoreV1().Services(namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return service
}

// problems returns the types of what is reported.
func (w *world) problems() []string {
	var types []string
	for _, entry := range w.ledger.Entries() {
		types = append(types, entry.Type)
	}
	return types
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}, Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.7", Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func endpoints(namespace, service, id string, addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: service + "-" + id, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	return slice
}

// inZone puts the endpoints of a slice into a zone, with hints for it.
func inZone(zone string, slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	for i := range slice.Endpoints {
		slice.Endpoints[i].Zone, slice.Endpoints[i].Hints = &zone, &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}}
	}
	return slice
}

// copied returns the copy of a service and its slices, as another run of a discoverer left it.
func copied(backend string, service *corev1.Service, parts ...*discoveryv1.EndpointSlice) []runtime.Object {
	source := &desired.Source{Namespace: service.Namespace, Name: service.Name, Labels: service.Labels, Ports: service.Spec.Ports}
	for _, part := range parts {
		source.Slices = append(source.Slices, desired.Slice{ID: part.Name, AddressType: part.AddressType, Ports: part.Ports, Endpoints: part.Endpoints})
	}
	objects := desired.Build(backend, source)
	objects.Service.UID = types.UID("uid-" + objects.Service.Name)
	all := []runtime.Object{objects.Service}
	for _, slice := range objects.Slices {
		all = append(all, slice)
	}
	return all
}

// many are services with five endpoints each.
func many(count int) (there, here []runtime.Object) {
	for i := range count {
		name := fmt.Sprintf("s%d", i)
		s, e := service("shop", name), endpoints("shop", name, "a", "10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5")
		there = append(there, s, e)
		here = append(here, copied("us", s, e)...)
	}
	return there, here
}

// labelled returns a Service with other labels.
func labelled(s *corev1.Service, labels map[string]string) *corev1.Service {
	s = s.DeepCopy()
	s.Labels = maps.Clone(labels)
	return s
}

func sliceName(service, slice string) string {
	return desired.SliceName(desired.CopyName("us", service), slice)
}

func update(t *testing.T, to *fake.Clientset, object runtime.Object) {
	t.Helper()
	var err error
	switch object := object.(type) {
	case *corev1.Service:
		_, err = to.CoreV1().Services(object.Namespace).Update(t.Context(), object, metav1.UpdateOptions{})
	case *discoveryv1.EndpointSlice:
		_, err = to.DiscoveryV1().EndpointSlices(object.Namespace).Update(t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
