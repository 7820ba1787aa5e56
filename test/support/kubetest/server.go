// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kubetest is an API server for unit tests: a store that does what controllers depend on and the fake client does not. It
// gives uids and generations, enforces preconditions, merges what is applied by the schemas of the kinds, lets nothing new into a
// namespace that terminates, logs writes and fails them, before they are done or after, and has a cache that may be behind.
package kubetest

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoapply "k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
)

// Server is an API server. As a client it is the store itself, for what users and other controllers do: that is neither logged nor
// failed.
type Server struct {
	client.WithWatch
	t testing.TB

	// Fault may fail a write of Client, which has a number, from 0 since Reset. Lost has a failed write done nevertheless: only
	// its response is lost.
	Fault func(number int, w Write) error
	Lost  bool
	// Reject is the admission of the server: it may reject a write of Client.
	Reject func(w Write) error
	// Describe is how the log has a write, which is "patch Secret web" and the like by default.
	Describe func(w Write) string
	// Admit may change an object that is created, as admission does.
	Admit func(client.Object)
	// Read may fail a read of Live, and ReadCache one of Client.
	Read, ReadCache func(verb string, object runtime.Object) error
	// Partial has lists of Live report that there is more.
	Partial bool
	// Cached selects the objects in the cache; nil: all.
	Cached func(client.Object) bool

	// faults lets Fault be called once at a time.
	faults sync.Mutex
	mu     sync.Mutex
	log    []Write
	named  int
	// held are objects as the cache has them, nil what it does not have.
	held map[ref]client.Object
	// build makes a store, and frozen is one that the cache reads, if not nil.
	build  func(...client.Object) client.WithWatch
	frozen client.WithWatch
	// refrozen is closed, and made again, when that changes.
	refrozen chan struct{}
	// current are the kinds, and their lists, that are not frozen.
	current map[reflect.Type]bool
}

// ref is an object of a type.
type ref struct {
	kind reflect.Type
	key  client.ObjectKey
}

func refOf(object client.Object, key client.ObjectKey) ref { return ref{reflect.TypeOf(object), key} }

// New returns a server that has these objects.
func New(t testing.TB, objects ...client.Object) *Server { return Build(t, nil, objects...) }

// Build is New after the store's builder was changed: for indexes, which a cache has, and for other kinds.
func Build(t testing.TB, change func(*fake.ClientBuilder), objects ...client.Object) *Server {
	t.Helper()
	s := newScheme(t)
	build := func(objects ...client.Object) client.WithWatch {
		builder := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).
			WithStatusSubresource(&gardenerv1beta1.Project{}, &midonetv1.Translation{}, &gimbalv1.DiscoveryBackend{}, &kubernikusv1.Kluster{}, &appsv1.Deployment{}).
			WithTypeConverters(converter(), clientgoapply.NewTypeConverter(s), managedfields.NewDeducedTypeConverter())
		if change != nil {
			change(builder)
		}
		return builder.Build()
	}
	return &Server{WithWatch: build(objects...), t: t, build: build, held: map[ref]client.Object{}, refrozen: make(chan struct{})}
}

// newScheme returns a scheme with the kinds that controllers handle. It lacks most kinds of Kubernetes, because the fake client maps all
// kinds of its scheme again for every write, which takes milliseconds for all of them.
func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme,
		rbacv1.AddToScheme, storagev1.AddToScheme, scheme.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Find reads an object, and reports whether there is one.
func (s *Server) Find(object client.Object) bool {
	s.t.Helper()
	err := s.Get(s.t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return err == nil
}

// Add creates objects as a user.
func (s *Server) Add(objects ...client.Object) {
	s.t.Helper()
	for _, object := range objects {
		s.identify(object)
		if err := s.Create(s.t.Context(), object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Change edits an object as a user. Its generation increases unless only its metadata and its status change.
func (s *Server) Change(object client.Object, edit func()) {
	s.t.Helper()
	s.edit(object, func() {
		before := s.specOf(object)
		if edit(); !equality.Semantic.DeepEqual(before, s.specOf(object)) {
			object.SetGeneration(object.GetGeneration() + 1)
		}
	}, func() error { return s.Update(s.t.Context(), object, client.FieldOwner("user")) })
}

// specOf returns an object without its metadata and its status.
func (s *Server) specOf(object client.Object) map[string]any {
	s.t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject())
	if err != nil {
		s.t.Fatal(err)
	}
	delete(content, "metadata")
	delete(content, "status")
	return content
}

// ChangeStatus edits the status of an object as another controller.
func (s *Server) ChangeStatus(object client.Object, edit func()) {
	s.t.Helper()
	s.edit(object, edit, func() error { return s.Status().Update(s.t.Context(), object, client.FieldOwner("controller")) })
}

func (s *Server) edit(object client.Object, edit func(), write func() error) {
	s.t.Helper()
	if !s.Find(object) {
		s.t.Fatalf("%T %s does not exist", object, client.ObjectKeyFromObject(object))
	}
	edit()
	if err := write(); err != nil {
		s.t.Fatal(err)
	}
}

// Remove deletes an object as a user.
func (s *Server) Remove(object client.Object) {
	s.t.Helper()
	if err := s.Delete(s.t.Context(), object); err != nil {
		s.t.Fatal(err)
	}
}

// Hold keeps objects in the cache of Client unchanged from now on: one that does not exist now does not come to exist for it.
func (s *Server) Hold(objects ...client.Object) {
	s.t.Helper()
	for _, object := range objects {
		key, seen := refOf(object, client.ObjectKeyFromObject(object)), object.DeepCopyObject().(client.Object)
		if !s.Find(seen) {
			seen = nil
		}
		s.mu.Lock()
		s.held[key] = seen
		s.mu.Unlock()
	}
}

// Stale keeps the given state of objects in the cache of Client.
func (s *Server) Stale(objects ...client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range objects {
		s.held[refOf(object, client.ObjectKeyFromObject(object))] = object
	}
}

// Freeze keeps the cache of Client unchanged, except the kinds of some objects: each kind has a separate watch.
func (s *Server) Freeze(current ...client.Object) {
	s.t.Helper()
	unfrozen := map[reflect.Type]bool{}
	for _, like := range current {
		unfrozen[reflect.TypeOf(like)] = true
		kind, err := s.GroupVersionKindFor(like)
		if err != nil {
			s.t.Fatal(err)
		}
		list, err := s.Scheme().New(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err != nil {
			s.t.Fatal(err)
		}
		unfrozen[reflect.TypeOf(list)] = true
	}
	var objects []client.Object
	for kind := range s.Scheme().AllKnownTypes() {
		made, err := s.Scheme().New(kind)
		if err != nil {
			s.t.Fatal(err)
		}
		list, ok := made.(client.ObjectList)
		if !ok || !strings.HasSuffix(kind.Kind, "List") || !meta.IsListType(list) {
			continue
		}
		if err := s.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			objects = append(objects, item.(client.Object))
			return nil
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	frozen := s.build(objects...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setFrozen(frozen)
	s.current = unfrozen
}

func (s *Server) setFrozen(frozen client.WithWatch) {
	s.frozen = frozen
	close(s.refrozen)
	s.refrozen = make(chan struct{})
}

// FreezeAround returns what freezes the cache, all of it or all except the kind of an object.
func (s *Server) FreezeAround(kind client.Object) func(all bool) {
	return func(all bool) {
		s.t.Helper()
		if all {
			s.Freeze()
		} else {
			s.Freeze(kind)
		}
	}
}

// CatchUp lets the cache have everything.
func (s *Server) CatchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setFrozen(nil)
	clear(s.held)
}

// cache returns what the cache reads for an object or a list.
func (s *Server) cache(current client.WithWatch, into any) client.WithWatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen != nil && !s.current[reflect.TypeOf(into)] {
		return s.frozen
	}
	return current
}

// Events returns those since the last call, as "Type Reason Message".
func Events(recorder *events.FakeRecorder) []string {
	var all []string
	for len(recorder.Events) > 0 {
		all = append(all, <-recorder.Events)
	}
	return all
}
