// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
)

// Create, change and delete: each is one write here.
func TestFlow(t *testing.T) {
	w := newWorld(t, []runtime.Object{
		service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1"),
		service("kube-system", "dns"), service("default", "kubernetes"),
		labelled(service("shop", "copy"), map[string]string{gimbalv1.LabelBackend: "eu"}),
		labelled(service("shop", "old-copy"), map[string]string{gimbalv1.LegacyLabelBackend: "eu"}),
	}, []runtime.Object{namespace("shop"), namespace("kube-system"), namespace("default")})
	w.start(setup{labels: desired.Labels{Include: []string{"app"}}})
	if got := w.names(); !slices.Equal(got, []string{"shop/us-web"}) {
		t.Fatal(got)
	}
	if got := w.writes(); !slices.Equal(got, []string{"create endpointslices", "create services"}) {
		t.Error(got)
	}
	got := w.service("shop", "us-web")
	if got.Spec.ClusterIP != corev1.ClusterIPNone || len(got.Spec.Selector) > 0 || len(got.Annotations) > 0 || got.Labels["app"] != "web" {
		t.Errorf("%+v", got)
	}

	changed := endpoints("shop", "web", "a", "10.1.0.1", "10.1.0.2")
	changed.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	update(t, w.there, changed)
	name := sliceName("web", "web-a")
	w.until("the endpoints are copied", func() bool { return len(w.slice("shop", name).Endpoints) == 2 })
	if c := w.slice("shop", name).Endpoints[0].Conditions; *c.Ready || !*c.Serving || !*c.Terminating {
		t.Errorf("%+v", c)
	}
	if got := w.writes(); !slices.Equal(got, []string{"patch endpointslices"}) {
		t.Error(got)
	}

	ported := service("shop", "web")
	ported.Spec.Ports = append(ported.Spec.Ports, corev1.ServicePort{Name: "http-udp", Protocol: corev1.ProtocolUDP, Port: 80})
	update(t, w.there, ported)
	w.until("the ports are copied", func() bool { return len(w.service("shop", "us-web").Spec.Ports) == 2 })
	if got := w.writes(); !slices.Equal(got, []string{"patch services"}) {
		t.Error(got)
	}

	for _, err := range []error{
		w.there.CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}),
		w.there.DiscoveryV1().EndpointSlices("shop").Delete(t.Context(), "web-a", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.until("the copy has been deleted", func() bool { return len(w.names()) == 0 && w.slice("shop", name) == nil })
	if got := w.writes(); !slices.Equal(got, []string{"delete endpointslices", "delete services"}) {
		t.Error(got)
	}
}

// TestDeletionHasPreconditions checks that a deletion has the UID and the resource version of the object as preconditions.
func TestDeletionHasPreconditions(t *testing.T) {
	s := service("shop", "web")
	w := newWorld(t, []runtime.Object{s}, append(copied("us", s), namespace("shop")))
	w.start(setup{})
	if err := w.there.CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("the copy has been deleted", func() bool { return len(w.names()) == 0 })
	for _, action := range w.here.Actions() {
		if deletion, ok := action.(ktesting.DeleteActionImpl); ok {
			if conditions := deletion.DeleteOptions.Preconditions; conditions == nil || conditions.UID == nil || *conditions.UID != "uid-us-web" || conditions.ResourceVersion == nil {
				t.Errorf("%+v", conditions)
			}
		}
	}
}

// TestCopyIsReplaced checks that a Service that a user creates in place of a copy does not keep the endpoints of the copy.
func TestCopyIsReplaced(t *testing.T) {
	s, e := service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1")
	w := newWorld(t, []runtime.Object{s, e}, append(copied("us", s, e), namespace("shop")))
	w.here.PrependReactor("create", "services", func(ktesting.Action) (bool, runtime.Object, error) {
		if _, err := w.here.Tracker().Get(corev1.SchemeGroupVersion.WithResource("services"), "shop", "us-web"); err != nil {
			if err := w.here.Tracker().Add(service("shop", "us-web")); err != nil { // a user is faster
				t.Error(err)
			}
		}
		return false, nil, nil
	})
	w.start(setup{})
	if err := w.here.CoreV1().Services("shop").Delete(t.Context(), "us-web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("it is reported", func() bool { return slices.Equal(w.problems(), []string{gimbalv1.ErrorConflict}) })
	if slice := w.slice("shop", sliceName("web", "web-a")); slice != nil {
		t.Errorf("the Service of the user has endpoints %v", slice.Endpoints)
	}
	if got := w.service("shop", "us-web"); got == nil || got.Labels[gimbalv1.LabelBackend] != "" {
		t.Errorf("the Service of the user is %+v", got)
	}
}

// Started again with nothing changed, a discoverer writes nothing.
func TestRestartWithoutChanges(t *testing.T) {
	there, here := many(50)
	w := newWorld(t, there, append(here, namespace("shop")))
	w.start(setup{})
	w.stop()
	if got := w.writes(); len(got) > 0 {
		t.Error(got)
	}
	if copied, endpoints, services := w.meters.Totals(); copied != 50 || endpoints != 250 || services != 50 {
		t.Error(copied, endpoints, services)
	}
}

// Services that were deleted while no discoverer ran are deleted at startup, except for objects that another backend or a user
// owns.
func TestDeletedMeanwhile(t *testing.T) {
	there, here := many(20)
	here = append(here, namespace("shop"))
	here = append(here, copied("us", service("shop", "gone"), endpoints("shop", "gone", "a", "10.1.0.1"))...)
	here = append(here, copied("eu", service("shop", "gone"), endpoints("shop", "gone", "a", "10.1.0.1"))...)
	here = append(here, labelled(service("shop", "mine"), map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "gone"}))
	here = append(here, labelled(service("shop", "us-old"), map[string]string{gimbalv1.LegacyLabelBackend: "us", gimbalv1.LegacyLabelService: "old"}))
	w := newWorld(t, there, here)
	w.start(setup{})
	w.until("the copies have been deleted", func() bool {
		return w.service("shop", "us-gone") == nil && w.slice("shop", sliceName("gone", "gone-a")) == nil && w.service("shop", "us-old") == nil
	})
	if w.service("shop", "eu-gone") == nil || w.service("shop", "mine") == nil {
		t.Error(w.names())
	}
	if got := w.writes(); !slices.Equal(got, []string{"delete endpointslices", "delete services", "delete services"}) {
		t.Error(got)
	}
}

// A first listing that lacks most services deletes nothing until a second one, ten seconds later, lacks them as well;
// one that fails does not count.
func TestSuspiciousList(t *testing.T) {
	there, here := many(12)
	w := newWorld(t, nil, append(here, namespace("shop")))
	var failing atomic.Bool
	w.there.PrependReactor("list", "services", func(action ktesting.Action) (bool, runtime.Object, error) {
		if options := action.(ktesting.ListActionImpl).ListOptions; options.Limit == 500 && failing.CompareAndSwap(true, false) {
			return true, nil, errors.New("broken")
		}
		return false, nil, nil
	})
	w.startOnly(setup{})
	w.until("the guard waits", func() bool { return w.waits() })
	if got := w.writes(); len(got) > 0 {
		t.Fatal("deleted before the second listing: ", got)
	}
	// One of them comes back before the second listing.
	if _, err := w.there.CoreV1().Services("shop").Create(t.Context(), there[0].(*corev1.Service), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	w.clock.Step(replica.ConfirmationPause)
	w.until("the guard waits again", func() bool { return !failing.Load() && w.waits() })
	if got := w.writes(); slices.Contains(got, "delete services") {
		t.Fatal("deleted after a listing that failed: ", got)
	}
	w.clock.Step(replica.ConfirmationPause)
	w.until("the others have been deleted", func() bool { return slices.Equal(w.names(), []string{"shop/us-s0"}) })
}

// Many services that the backend itself reports as deleted go immediately.
func TestManyWatchedDeletions(t *testing.T) {
	there, here := many(12)
	w := newWorld(t, there, append(here, namespace("shop")))
	w.start(setup{})
	for _, object := range there {
		var err error
		switch object := object.(type) {
		case *corev1.Service:
			err = w.there.CoreV1().Services("shop").Delete(t.Context(), object.Name, metav1.DeleteOptions{})
		case *discoveryv1.EndpointSlice:
			err = w.there.DiscoveryV1().EndpointSlices("shop").Delete(t.Context(), object.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.until("all have been deleted", func() bool { return len(w.names()) == 0 })
}

// A backend that cannot be listed keeps the copies it has.
func TestFailedListDeletesNothing(t *testing.T) {
	_, here := many(3)
	w := newWorld(t, nil, append(here, namespace("shop")))
	w.there.PrependReactor("list", "endpointslices", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("broken")
	})
	w.startOnly(setup{})
	w.until("the Services are listed", func() bool { return w.upstream.services.Synced() })
	w.until("this cluster is listed", func() bool {
		return w.replica.Check() != nil && strings.Contains(w.replica.Check().Error(), "backend")
	})
	w.stop()
	if got := w.writes(); len(got) > 0 {
		t.Error(got)
	}
}

// Every change of a copy is reverted, except to annotations.
func TestDrift(t *testing.T) {
	s, e := service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1")
	w := newWorld(t, []runtime.Object{s, e}, append(copied("us", s, e), namespace("shop")))
	w.start(setup{})
	name := sliceName("web", "web-a")
	edited := w.service("shop", "us-web")
	edited.Spec.Selector, edited.Annotations = map[string]string{"a": "b"}, map[string]string{"mine": "x"}
	update(t, w.here, edited)
	w.until("the selector has been deleted", func() bool { return len(w.service("shop", "us-web").Spec.Selector) == 0 })
	if got := w.service("shop", "us-web"); got.Annotations["mine"] != "x" {
		t.Errorf("%+v", got)
	}
	cut := w.slice("shop", name)
	cut.Endpoints = nil
	update(t, w.here, cut)
	w.until("the endpoint is back", func() bool { return len(w.slice("shop", name).Endpoints) == 1 })
	for _, label := range []string{gimbalv1.LabelService, gimbalv1.LabelBackend, desired.LabelManagedBy} {
		for change, value := range map[string]string{"removed": "", "changed": "other"} {
			if label == gimbalv1.LabelBackend && value != "" {
				continue // it would be another backend's
			}
			service, slice := w.service("shop", "us-web"), w.slice("shop", name)
			for _, labels := range []map[string]string{service.Labels, slice.Labels} {
				if delete(labels, label); value != "" {
					labels[label] = value
				}
			}
			update(t, w.here, service)
			update(t, w.here, slice)
			w.until(label+" is back after it was "+change, func() bool {
				want := desired.Build("us", &desired.Source{Namespace: "shop", Name: "web", Labels: s.Labels}).Service.Labels[label]
				return w.service("shop", "us-web").Labels[label] == want && w.slice("shop", name).Labels[label] == want
			})
		}
	}
	unmanaged := w.slice("shop", name)
	delete(unmanaged.Labels, discoveryv1.LabelManagedBy)
	update(t, w.here, unmanaged)
	w.until("the slice reports who manages it", func() bool { return w.slice("shop", name).Labels[discoveryv1.LabelManagedBy] == desired.Manager })
	if err := w.here.DiscoveryV1().EndpointSlices("shop").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("the slice is back", func() bool { return w.slice("shop", name) != nil })
	if err := w.here.CoreV1().Services("shop").Delete(t.Context(), "us-web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("the Service is back", func() bool { return w.service("shop", "us-web") != nil })
}

// Objects of others that have the name of a copy are left alone and reported; those that are owned by Groundskeeper are taken over.
func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		labels  map[string]string
		problem string
	}{
		"a person's":              {map[string]string{"app": "x"}, gimbalv1.ErrorConflict},
		"another backend's":       {map[string]string{gimbalv1.LabelBackend: "eu", gimbalv1.LabelService: "web"}, gimbalv1.ErrorConflict},
		"another's, the original": {map[string]string{gimbalv1.LegacyLabelBackend: "eu", gimbalv1.LegacyLabelService: "web"}, gimbalv1.ErrorConflict},
		"the original's":          {map[string]string{gimbalv1.LegacyLabelBackend: "us", gimbalv1.LegacyLabelService: "web"}, ""},
		"own without its label":   {map[string]string{desired.LabelManagedBy: desired.Manager}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []runtime.Object{service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1")}, nil)
			other := service("shop", "us-web")
			other.Labels, other.Spec.ClusterIP, other.Spec.Selector = tc.labels, corev1.ClusterIPNone, nil
			w.here = newWorld(t, nil, []runtime.Object{namespace("shop"), other}).here
			w.start(setup{labels: desired.Labels{Include: []string{"app"}}})
			if tc.problem == "" {
				w.until("it is taken over", func() bool {
					got := w.service("shop", "us-web")
					return got.Labels[gimbalv1.LabelBackend] == "us" && got.Labels["app"] == "web" && w.slice("shop", sliceName("web", "web-a")) != nil
				})
				return
			}
			if got := w.problems(); !slices.Equal(got, []string{tc.problem}) {
				t.Error(got)
			}
			for _, written := range w.writes() { // a rejection because of the name changes nothing
				if written != "create services" {
					t.Error(written)
				}
			}
			if got := w.service("shop", "us-web"); !maps.Equal(got.Labels, tc.labels) || w.slice("shop", sliceName("web", "web-a")) != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Two services of the backend with one name here: the one that has it keeps it.
func TestNameCollision(t *testing.T) {
	long := strings.Repeat("a", 25)
	// The copy of the long name has this one's name, too: a service may be called like a shortened one.
	first := service("shop", long+strings.Repeat("b", 38))
	second := service("shop", strings.TrimPrefix(sliceless(first.Name), "us-"))
	w := newWorld(t, []runtime.Object{first, second}, append(copied("us", first), namespace("shop")))
	w.start(setup{})
	if got := w.problems(); !slices.Equal(got, []string{gimbalv1.ErrorNameCollision}) {
		t.Error(got, w.names())
	}
	if got := w.writes(); len(got) > 0 {
		t.Error(got)
	}
	if err := w.there.CoreV1().Services("shop").Delete(t.Context(), second.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("the error is removed", func() bool { return len(w.problems()) == 0 })
	if got := w.service("shop", sliceless(first.Name)); got == nil || got.Labels[gimbalv1.LabelService] != first.Name {
		t.Errorf("%+v", got)
	}
}

func sliceless(name string) string {
	objects := desired.Build("us", &desired.Source{Namespace: "shop", Name: name})
	return objects.Service.Name
}

// Namespaces that are missing, by policy.
func TestNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		policy   replica.Policy
		names    []string
		problems []string
		appears  []string // once the namespace does
	}{
		"wait":   {replica.Policy{Missing: gimbalv1.MissingNamespaceWait}, []string{"shop/us-web"}, []string{gimbalv1.ErrorNamespaceMissing}, []string{"new/us-db", "shop/us-web"}},
		"ignore": {replica.Policy{Missing: gimbalv1.MissingNamespaceIgnore}, []string{"shop/us-web"}, nil, []string{"new/us-db", "shop/us-web"}},
		"create": {replica.Policy{Missing: gimbalv1.MissingNamespaceCreate}, nil, nil, []string{"new/us-db", "shop/us-web"}},
		"deny":   {replica.Policy{Deny: []string{"shop"}, Missing: gimbalv1.MissingNamespaceCreate}, nil, nil, []string{"new/us-db"}},
		"allow":  {replica.Policy{Allow: []string{"new", "shop"}, Deny: []string{"new"}}, []string{"shop/us-web"}, nil, []string{"shop/us-web"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []runtime.Object{service("shop", "web"), service("new", "db"), service("new", "other")}, []runtime.Object{namespace("shop")})
			if err := w.there.CoreV1().Services("new").Delete(t.Context(), "other", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.start(setup{policy: tc.policy})
			if tc.names != nil && !slices.Equal(w.names(), tc.names) {
				t.Error(w.names())
			}
			if got := w.problems(); !slices.Equal(got, tc.problems) {
				t.Error(got)
			}
			if tc.policy.Missing != gimbalv1.MissingNamespaceCreate {
				if _, err := w.here.CoreV1().Namespaces().Create(t.Context(), namespace("new"), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w.until("the namespace is there", func() bool { return slices.Equal(w.names(), tc.appears) && len(w.problems()) == 0 })
		})
	}
}

// A discoverer that may touch one namespace requests no other and for no list of namespaces.
func TestConfined(t *testing.T) {
	w := newWorld(t, []runtime.Object{service("mine", "web"), service("other", "db")}, nil)
	w.start(setup{policy: replica.Policy{Allow: []string{"mine"}}, confined: "mine"})
	w.stop()
	for _, action := range append(w.here.Actions(), w.there.Actions()...) {
		if action.GetNamespace() != "mine" || action.GetResource().Resource == "namespaces" {
			t.Errorf("%s %s in %q", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
		}
	}
	if got := w.names(); !slices.Equal(got, []string{"mine/us-web"}) {
		t.Error(got)
	}
}

func TestExternalNames(t *testing.T) {
	external := service("shop", "db")
	external.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com"}
	for _, flag := range []bool{false, true} {
		w := newWorld(t, []runtime.Object{external}, []runtime.Object{namespace("shop")})
		w.start(setup{externalNames: flag})
		got := w.service("shop", "us-db")
		if flag != (got != nil) || flag && (got.Spec.ExternalName != "db.example.com" || got.Spec.ClusterIP != "") {
			t.Errorf("%t: %+v", flag, got)
		}
	}
}

// TestRejectedWrites checks that rejections by the API server are reported, and that all other objects are written.
func TestRejectedWrites(t *testing.T) {
	w := newWorld(t, []runtime.Object{service("shop", "bad"), service("shop", "web")}, []runtime.Object{namespace("shop")})
	w.here.PrependReactor("create", "services", func(action ktesting.Action) (bool, runtime.Object, error) {
		if object := action.(ktesting.CreateAction).GetObject().(*corev1.Service); object.Name == "us-bad" {
			return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, object.Name, nil)
		}
		return false, nil, nil
	})
	w.start(setup{})
	if got := w.problems(); !slices.Equal(got, []string{gimbalv1.ErrorInvalidService}) || !slices.Equal(w.names(), []string{"shop/us-web"}) {
		t.Error(got, w.names())
	}
	if copied, _, services := w.meters.Totals(); copied != 1 || services != 2 {
		t.Error(copied, services)
	}
}

// A slice that becomes another Service's leaves the copy of the first.
func TestSliceMoves(t *testing.T) {
	w := newWorld(t, []runtime.Object{service("shop", "web"), service("shop", "db"), endpoints("shop", "web", "a", "10.1.0.1")}, []runtime.Object{namespace("shop")})
	w.start(setup{})
	moved := endpoints("shop", "web", "a", "10.1.0.1")
	moved.Labels[discoveryv1.LabelServiceName] = "db"
	update(t, w.there, moved)
	w.until("the slice moves", func() bool {
		return w.slice("shop", sliceName("web", "web-a")) == nil && w.slice("shop", sliceName("db", "web-a")) != nil
	})
}

func TestSourceKeepsManyEndpoints(t *testing.T) {
	w := newWorld(t, []runtime.Object{service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1"), endpoints("shop", "web", "b", "10.1.0.2")}, []runtime.Object{namespace("shop")})
	w.start(setup{})
	source, _ := w.upstream.Source(types.NamespacedName{Namespace: "shop", Name: "web"})
	if source.EndpointCount() != 2 || w.slice("shop", sliceName("web", "web-a")) == nil || w.slice("shop", sliceName("web", "web-b")) == nil {
		t.Errorf("%+v", source)
	}
}
