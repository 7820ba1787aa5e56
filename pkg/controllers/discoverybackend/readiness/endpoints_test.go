// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

const adminNamespace = "gimbal-discovery"

func backend(namespace, name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}}
}

// slice returns a copied slice of backend us, with one endpoint for each string of conditions: ready, serving, terminating as
// y, n or - for absent.
func slice(namespace, name string, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "7", Labels: map[string]string{
			gimbalv1.LabelBackend: "us", discoveryv1.LabelServiceName: "us-web", discoveryv1.LabelManagedBy: desired.Manager, desired.LabelManagedBy: desired.Manager,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
	}
	for i, letters := range endpoints {
		var read [3]*bool
		for j, letter := range letters {
			if letter != '-' {
				read[j] = new(letter == 'y')
			}
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.0.0.%d", i)}, NodeName: new("node"),
			Conditions: discoveryv1.EndpointConditions{Ready: read[0], Serving: read[1], Terminating: read[2]},
		})
	}
	return s
}

// all are the Services that slices are of.
var all = Services{Withhold: sets.New(types.NamespacedName{Namespace: "shop", Name: "us-web"}, types.NamespacedName{Namespace: "bank", Name: "us-web"})}

// services are Services of namespace shop that are to be withheld.
func services(names ...string) Services {
	withhold := sets.Set[types.NamespacedName]{}
	for _, name := range names {
		withhold.Insert(types.NamespacedName{Namespace: "shop", Name: name})
	}
	return Services{Withhold: withhold}
}

func (s *server) withhold(services Services) func(context.Context, *gimbalv1.DiscoveryBackend) (int, error) {
	return func(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (int, error) {
		return s.endpoints.Withhold(ctx, backend, services)
	}
}

// labelled returns a slice with other labels; an empty value takes one off.
func labelled(s *discoveryv1.EndpointSlice, changes map[string]string) *discoveryv1.EndpointSlice {
	maps.Copy(s.Labels, changes)
	maps.DeleteFunc(s.Labels, func(_, value string) bool { return value == "" })
	return s
}

// server is a fake API server that gives lists in pages, and rejects updates of what changed.
type server struct {
	*testing.T
	client    *fake.Clientset
	endpoints *Endpoints

	mu sync.Mutex
	// fault may fail a request, by verb and namespace/name.
	fault func(verb, object string) error
	lists int
}

func newServer(t *testing.T, objects ...*discoveryv1.EndpointSlice) *server {
	t.Helper()
	s := &server{T: t, client: fake.NewClientset()}
	for _, object := range objects {
		if err := s.client.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	s.client.PrependReactor("*", "endpointslices", func(action ktesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		fault := s.fault
		s.mu.Unlock()
		object := action.GetNamespace()
		if update, ok := action.(ktesting.UpdateAction); ok {
			object += "/" + nameOf(update)
		}
		if fault != nil {
			if err := fault(action.GetVerb(), object); err != nil {
				return true, nil, err
			}
		}
		return s.react(action)
	})
	s.endpoints = New(s.client, []string{adminNamespace})
	return s
}

func (s *server) react(action ktesting.Action) (bool, runtime.Object, error) {
	switch action := action.(type) {
	case ktesting.ListActionImpl:
		if action.ListOptions.Limit == 0 {
			return false, nil, nil
		}
		s.mu.Lock()
		s.lists++
		s.mu.Unlock()
		found, err := s.client.Tracker().List(action.Resource, action.Kind, action.Namespace)
		if err != nil {
			return true, nil, err
		}
		list, selector := found.(*discoveryv1.EndpointSliceList), action.ListRestrictions.Labels
		list.Items = slices.DeleteFunc(list.Items, func(each discoveryv1.EndpointSlice) bool {
			return !selector.Matches(labels.Set(each.Labels)) || action.ListOptions.Continue >= each.Namespace+"/"+each.Name
		})
		slices.SortFunc(list.Items, func(a, b discoveryv1.EndpointSlice) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		if len(list.Items) > 2 { // the server may return less than requested
			list.Items = list.Items[:2]
			list.Continue = list.Items[1].Namespace + "/" + list.Items[1].Name
		}
		return true, list, nil
	case ktesting.UpdateActionImpl:
		updated := action.Object.(*discoveryv1.EndpointSlice)
		if current := s.get(action.Namespace, updated.Name); current.UID != updated.UID || current.ResourceVersion != updated.ResourceVersion {
			return true, nil, apierrors.NewConflict(action.Resource.GroupResource(), updated.Name, errors.New("it changed"))
		}
		if updated.ManagedFields != nil {
			s.Errorf("managed fields of %s are sent", updated.Name)
		}
	}
	return false, nil, nil
}

func (s *server) get(namespace, name string) *discoveryv1.EndpointSlice {
	s.Helper()
	found, err := s.client.Tracker().Get(discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), namespace, name)
	if err != nil {
		s.Fatal(err)
	}
	return found.(*discoveryv1.EndpointSlice)
}

// conditions returns those of the endpoints of a slice, as slice takes them.
func (s *server) conditions(namespace, name string) []string {
	s.Helper()
	letter := func(condition *bool) string {
		switch {
		case condition == nil:
			return "-"
		case *condition:
			return "y"
		default:
			return "n"
		}
	}
	var all []string
	for _, endpoint := range s.get(namespace, name).Endpoints {
		c := endpoint.Conditions
		all = append(all, letter(c.Ready)+letter(c.Serving)+letter(c.Terminating))
	}
	return all
}

// nameOf returns the name of the object of an update.
func nameOf(update ktesting.UpdateAction) string {
	return update.GetObject().(*discoveryv1.EndpointSlice).Name
}

// updated returns the slices that were updated since the last call.
func (s *server) updated() []string {
	var names []string
	for _, action := range s.client.Actions() {
		if update, ok := action.(ktesting.UpdateAction); ok {
			names = append(names, update.GetNamespace()+"/"+nameOf(update))
		}
	}
	s.client.ClearActions()
	slices.Sort(names)
	return names
}

func (s *server) expect(want string, got ...string) {
	s.Helper()
	if diff := cmp.Diff(want, fmt.Sprint(got)); diff != "" {
		s.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWithholdAndRestore checks that endpoints are withheld in all namespaces, across all pages of a list, and restored unchanged.
func TestWithholdAndRestore(t *testing.T) {
	ctx := t.Context()
	legacy := labelled(slice("bank", "legacy", "yy-"), map[string]string{gimbalv1.LabelBackend: "", gimbalv1.LegacyLabelBackend: "us", desired.LabelManagedBy: ""})
	both := labelled(slice("bank", "both", "yyn"), map[string]string{gimbalv1.LegacyLabelBackend: "us"})
	s := newServer(t, slice("shop", "a", "yyn", "nnn", "nyy", "nyn", "ynn"), slice("shop", "b", "y--"), slice("shop", "c", "nnn"), slice("shop", "empty"), legacy, both)
	before := s.get("shop", "a").DeepCopy()
	for range 2 { // again is nothing
		if pending, err := s.endpoints.Withhold(ctx, backend(adminNamespace, "us"), all); pending != 0 || err != nil {
			t.Fatal(pending, err)
		}
	}
	s.expect("[bank/both bank/legacy shop/a shop/b shop/c shop/empty]", s.updated()...)
	s.expect("[nnn nnn nny nnn nnn]", s.conditions("shop", "a")...)
	s.expect("[nn-]", s.conditions("shop", "b")...)
	for range 2 {
		if pending, err := s.endpoints.Restore(ctx, backend(adminNamespace, "us")); pending != 0 || err != nil {
			t.Fatal(pending, err)
		}
	}
	s.expect("[bank/both bank/legacy shop/a shop/b shop/c shop/empty]", s.updated()...)
	after := s.get("shop", "a").DeepCopy()
	before.ManagedFields, after.ManagedFields = nil, nil
	if diff := cmp.Diff(before, after, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("before and after maintenance (-before +after):\n%s", diff)
	}
	s.expect("[y--]", s.conditions("shop", "b")...)
}

// TestRetainsOtherElements checks that objects of others, and objects outside the reach of the backend, are not changed.
func TestRetainsOtherElements(t *testing.T) {
	others := []*discoveryv1.EndpointSlice{
		labelled(slice("shop", "of-another", "yyn"), map[string]string{gimbalv1.LabelBackend: "eu"}),
		labelled(slice("shop", "of-another-by-the-newer-label", "yyn"), map[string]string{gimbalv1.LabelBackend: "eu", gimbalv1.LegacyLabelBackend: "us"}),
		labelled(slice("shop", "mirrored", "yyn"), map[string]string{discoveryv1.LabelManagedBy: "endpointslicemirroring-controller.k8s.io", desired.LabelManagedBy: ""}),
		labelled(slice("shop", "unmarked", "yyn"), map[string]string{discoveryv1.LabelManagedBy: "", desired.LabelManagedBy: ""}),
		labelled(slice("shop", "plain", "yyn"), map[string]string{gimbalv1.LabelBackend: ""}),
	}
	s := newServer(t, append(others, slice("bank", "beyond", "yyn"), slice("shop", "own", "yyn"))...)
	if pending, err := s.endpoints.Withhold(t.Context(), backend("shop", "us"), all); pending != 0 || err != nil {
		t.Fatal(pending, err)
	}
	s.expect("[shop/own]", s.updated()...)
}

// TestWritesThatFail checks that a slice that changed meanwhile is pending, a deleted one is not, and a failure names the slice.
func TestWritesThatFail(t *testing.T) {
	ctx, us := t.Context(), backend(adminNamespace, "us")
	s := newServer(t, slice("shop", "changed", "yyn"), slice("shop", "gone", "yyn"), slice("shop", "refused", "yyn"), slice("shop", "good", "yyn"))
	resource := discoveryv1.Resource("endpointslices")
	s.fault = func(verb, object string) error {
		switch {
		case verb == "update" && object == "shop/changed":
			return apierrors.NewConflict(resource, object, errors.New("it changed"))
		case verb == "update" && object == "shop/gone":
			return apierrors.NewNotFound(resource, object)
		case verb == "update" && object == "shop/refused":
			return apierrors.NewForbidden(resource, object, errors.New("by a policy"))
		}
		return nil
	}
	pending, err := s.endpoints.Withhold(ctx, us, all)
	if pending != 2 || err == nil || !apierrors.IsForbidden(err) {
		t.Errorf("%d pending, %v", pending, err)
	}
	s.expect("[nnn]", s.conditions("shop", "good")...)
	s.fault = nil
	if pending, err = s.endpoints.Withhold(ctx, us, all); pending != 0 || err != nil {
		t.Errorf("%d pending, %v", pending, err)
	}
	s.expect("[nnn]", s.conditions("shop", "changed")...)
}

// TestListingIsComplete checks that a list that fails on a later page causes no write and reports nothing as done.
func TestListingIsComplete(t *testing.T) {
	s := newServer(t, slice("shop", "a", "yyn"), slice("shop", "b", "yyn"), slice("shop", "c", "yyn"))
	s.fault = func(verb, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if verb == "list" && s.lists == 1 {
			return apierrors.NewResourceExpired("the list is too old")
		}
		return nil
	}
	if _, err := s.endpoints.Withhold(t.Context(), backend(adminNamespace, "us"), all); err == nil {
		t.Error("no error")
	}
	s.expect("[]", s.updated()...)
}

// TestBounded checks that one call writes a limited number of slices, and reports how many remain.
func TestBounded(t *testing.T) {
	s := newServer(t)
	s.endpoints.limit = 4
	for i := range 7 {
		if err := s.client.Tracker().Add(slice("shop", fmt.Sprintf("s-%d", i), "yyn")); err != nil {
			t.Fatal(err)
		}
	}
	us := backend(adminNamespace, "us")
	if pending, err := s.endpoints.Withhold(t.Context(), us, all); pending != 3 || err != nil {
		t.Fatalf("%d pending, %v", pending, err)
	}
	if got := len(s.updated()); got != 4 {
		t.Errorf("%d were updated", got)
	}
	if pending, err := s.endpoints.Withhold(t.Context(), us, all); pending != 0 || err != nil {
		t.Errorf("%d pending, %v", pending, err)
	}
}

// TestWatch checks that, with a watch, a call for an unchanged backend sends no request, and that a slice that is created, or made
// ready by another client, is withheld by the next call.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		us := backend(adminNamespace, "us")
		s := newServer(t, slice("shop", "a", "yyn"))
		var mu sync.Mutex
		changes := map[string]int{}
		s.endpoints.OnChange(func(backend string) { mu.Lock(); changes[backend]++; mu.Unlock() })
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = s.endpoints.Start(ctx) })
		defer group.Wait()
		defer cancel()
		synctest.Wait()

		call := func(what string, do func(context.Context, *gimbalv1.DiscoveryBackend) (int, error), lists int, updated string) {
			t.Helper()
			synctest.Wait()
			s.lists = 0
			if pending, err := do(ctx, us); pending != 0 || err != nil {
				t.Fatalf("%s: %d pending, %v", what, pending, err)
			}
			if (s.lists > 0) != (lists > 0) {
				t.Errorf("%s: %d lists", what, s.lists)
			}
			s.expect(updated, s.updated()...)
		}
		withhold, restore := s.withhold(all), s.endpoints.Restore
		call("first", withhold, 1, "[shop/a]")
		call("again", withhold, 0, "[]")
		resource := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
		if err := s.client.Tracker().Create(resource, slice("shop", "new", "yyn"), "shop"); err != nil {
			t.Fatal(err)
		}
		call("after a new slice", withhold, 1, "[shop/new]")
		ready := slice("shop", "a", "yyn")
		ready.ResourceVersion = "8"
		if err := s.client.Tracker().Update(resource, ready, "shop"); err != nil {
			t.Fatal(err)
		}
		call("after a user made it ready", withhold, 1, "[shop/a]")
		call("and again", withhold, 0, "[]")
		call("restore", restore, 1, "[shop/a shop/new]")
		call("restored already", restore, 0, "[]")
		call("the other way once more", withhold, 1, "[shop/a shop/new]")
		other := labelled(slice("shop", "other", "yyn"), map[string]string{discoveryv1.LabelServiceName: "us-other"})
		if err := s.client.Tracker().Create(resource, other, "shop"); err != nil {
			t.Fatal(err)
		}
		call("after a slice of a Service that is not withheld", withhold, 0, "[]")
		call("that Service besides", s.withhold(services("us-web", "us-other")), 1, "[shop/other]")
		call("that one alone", s.withhold(services("us-other")), 1, "[shop/a shop/new]")
		call("the others, which are as they should be", s.withhold(Services{Withhold: services("us-other").Withhold, Leave: all.Withhold}), 0, "[]")
		call("all left unchanged", s.withhold(Services{Leave: services("us-web", "us-other").Withhold}), 0, "[]")
		call("restore again", restore, 1, "[shop/other]")
		mu.Lock()
		defer mu.Unlock()
		if changes["us"] == 0 || len(changes) != 1 {
			t.Errorf("notified of changes: %v", changes)
		}
	})
}
