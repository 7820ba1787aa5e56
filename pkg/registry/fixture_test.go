// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/registry"
	"groundskeeper.io/groundskeeper/pkg/registry/gardener/project"
	"groundskeeper.io/groundskeeper/pkg/registry/gimbal/discoverybackend"
	"groundskeeper.io/groundskeeper/pkg/registry/kubernikus/kluster"
	"groundskeeper.io/groundskeeper/pkg/registry/midonet/translation"
)

const (
	uid  = "12345678-1234-1234-1234-123456789012"
	uuid = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
)

// served is one kind as the registry serves it, and what tests do with its objects.
type served struct {
	version    schema.GroupVersion
	resource   string
	namespaced bool
	finalizer  string
	endpoints  map[string]rest.Storage
	store      *genericregistry.Store
	status     *genericregistry.Store
	indexers   cache.Indexers

	good      func() registry.Object // as a client sends it
	change    func(registry.Object)  // changes what is wanted
	observe   func(registry.Object)  // changes the status
	spoil     func(registry.Object)  // against the rules of the kind
	undeclare func(registry.Object)  // against the rules at the types, in what users write
	misjudge  func(registry.Object)  // against the rules of the kind, in the status
	unobserve func(registry.Object)  // against the rules at the types, in the status
	statusOf  func(registry.Object) any
	summarize func(registry.Object) // as a new object is
	list      runtime.Object
}

// options are REST options without a storage.
type options struct{ indexers *cache.Indexers }

func (o options) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  storagebackend.NewDefaultConfig("/registry", nil).ForResource(resource),
		ResourcePrefix: resource.Group + "/" + resource.Resource,
		Decorator: func(_ *storagebackend.ConfigForResource, _ string, _ func(runtime.Object) (string, error), _, _ func() runtime.Object,
			_ storage.AttrFunc, _ storage.IndexerFuncs, indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			*o.indexers = *indexers
			return nil, func() {}, nil
		},
	}, nil
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve fills in what the registry makes of a kind.
func serve[T registry.Object](t testing.TB, kind registry.Kind[T], s served) served {
	t.Helper()
	endpoints, err := registry.NewStorage(kind, newScheme(t), options{&s.indexers})
	if err != nil {
		t.Fatal(err)
	}
	s.version, s.resource, s.namespaced, s.finalizer = kind.GroupVersion, kind.Resource, kind.Namespaced, kind.Finalizer
	s.endpoints = endpoints
	s.summarize = func(o registry.Object) { kind.Summarize(o.(T), o.DeepCopyObject().(T), o.GetCreationTimestamp().Time) }
	s.store = endpoints[kind.Resource].(*registry.REST[T]).Store.Store
	s.status = endpoints[kind.Resource+"/status"].(*registry.StatusREST).Store()
	return s
}

// of makes a function on one kind one on objects.
func of[T registry.Object](f func(T)) func(registry.Object) {
	return func(o registry.Object) { f(o.(T)) }
}

// kinds returns the four kinds that the server serves.
func kinds(t testing.TB) []served {
	return []served{
		serve(t, project.Kind(), served{
			good: func() registry.Object {
				return &gardenerv1beta1.Project{
					ObjectMeta: meta("dev", ""),
					Spec:       gardenerv1beta1.ProjectSpec{Owner: &rbacv1.Subject{Kind: "User", Name: "alice"}},
				}
			},
			change:    of(func(p *gardenerv1beta1.Project) { p.Spec.Purpose = new("changed") }),
			observe:   of(func(p *gardenerv1beta1.Project) { p.Status.Phase = gardenerv1beta1.ProjectReady }),
			spoil:     of(func(p *gardenerv1beta1.Project) { p.Spec.Purpose = new("") }),
			misjudge:  of(func(p *gardenerv1beta1.Project) { p.Status.Phase = "" }),
			unobserve: of(func(p *gardenerv1beta1.Project) { p.Status.Phase = "Fine" }),
			statusOf:  func(o registry.Object) any { return o.(*gardenerv1beta1.Project).Status },
			list:      &gardenerv1beta1.ProjectList{},
		}),
		serve(t, kluster.Kind(), served{
			good: func() registry.Object {
				return &kubernikusv1.Kluster{ObjectMeta: meta("demo", "garden-dev"), Spec: kubernikusv1.KlusterSpec{Version: "1.36.3"}}
			},
			change: of(func(k *kubernikusv1.Kluster) { k.Spec.Dex = new(false) }),
			observe: of(func(k *kubernikusv1.Kluster) {
				k.Status.Phase, k.Status.Identity = kubernikusv1.KlusterRunning, &kubernikusv1.KlusterIdentity{ClusterID: "uid-of-kube-system"}
			}),
			spoil:     of(func(k *kubernikusv1.Kluster) { k.Spec.Version = "one" }),
			undeclare: of(func(k *kubernikusv1.Kluster) { k.Spec.Audit = "paper" }),
			misjudge:  of(func(k *kubernikusv1.Kluster) { k.Status.ObservedGeneration = -1 }),
			unobserve: of(func(k *kubernikusv1.Kluster) { k.Status.Phase = "Fine" }),
			statusOf:  func(o registry.Object) any { return o.(*kubernikusv1.Kluster).Status },
			list:      &kubernikusv1.KlusterList{},
		}),
		serve(t, translation.Kind(), served{
			good: func() registry.Object {
				return &midonetv1.Translation{ObjectMeta: meta("pod.4.web-0", "default"), Resources: []midonetv1.BackendResource{{Kind: "Port", Parent: uuid, Body: "{}"}}}
			},
			change:    of(func(o *midonetv1.Translation) { o.Resources[0].Kind = "Bridge" }),
			observe:   of(func(o *midonetv1.Translation) { o.Status.ObservedGeneration = 1 }),
			spoil:     of(func(o *midonetv1.Translation) { o.Resources[0].Body = "x" }),
			undeclare: of(func(o *midonetv1.Translation) { o.Resources[0].Parent = "x" }),
			misjudge:  of(func(o *midonetv1.Translation) { o.Status.Conditions = []metav1.Condition{{Type: "Synced"}} }),
			unobserve: of(func(o *midonetv1.Translation) { o.Status.ObservedGeneration = -1 }),
			statusOf:  func(o registry.Object) any { return o.(*midonetv1.Translation).Status },
			list:      &midonetv1.TranslationList{},
		}),
		serve(t, discoverybackend.Kind(), served{
			good: func() registry.Object {
				return &gimbalv1.DiscoveryBackend{ObjectMeta: meta("us-east", "gimbal-discovery"), Cluster: gimbalv1.Cluster{Type: "Kubernetes", Secret: "us-east"}}
			},
			change: of(func(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = "maintenance" }),
			observe: of(func(b *gimbalv1.DiscoveryBackend) {
				b.Status.Services, b.Status.Identity = new(int32(7)), clusterid.OfUID("uid-of-kube-system")
			}),
			spoil:     of(func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Credentials = "other" }),
			undeclare: of(func(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = "gone" }),
			misjudge:  of(func(b *gimbalv1.DiscoveryBackend) { b.Status.Conditions = []metav1.Condition{{Type: "Drained"}} }),
			unobserve: of(func(b *gimbalv1.DiscoveryBackend) { b.Status.Services = new(int32(-1)) }),
			statusOf:  func(o registry.Object) any { return o.(*gimbalv1.DiscoveryBackend).Status },
			list:      &gimbalv1.DiscoveryBackendList{},
		}),
	}
}

func meta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, UID: uid, CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
}

// forEach runs a test once per kind.
func forEach(t *testing.T, test func(*testing.T, served)) {
	for _, kind := range kinds(t) {
		t.Run(kind.resource, func(t *testing.T) { test(t, kind) })
	}
}

// request returns the context of a request for an object or its status.
func (s served) request(t testing.TB, o registry.Object, subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(t.Context(), o.GetNamespace())
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		APIGroup: s.version.Group, APIVersion: s.version.Version, Resource: s.resource, Subresource: subresource, Namespace: o.GetNamespace(), Name: o.GetName(),
	})
}

// create does with an object what a POST does between decoding and storing.
func (s served) create(t testing.TB, o registry.Object) error {
	t.Helper()
	newScheme(t).Default(o)
	return rest.BeforeCreate(s.store.CreateStrategy, s.request(t, o, ""), o)
}

// update does what a PUT does between decoding and storing.
func (s served) update(t testing.TB, o, old registry.Object) error {
	t.Helper()
	newScheme(t).Default(o)
	return rest.BeforeUpdate(s.store.UpdateStrategy, s.request(t, o, ""), o, old)
}

// updateStatus does what a PUT of the status does between decoding and storing.
func (s served) updateStatus(t testing.TB, o, old registry.Object) error {
	t.Helper()
	newScheme(t).Default(o)
	return rest.BeforeUpdate(s.status.UpdateStrategy, s.request(t, o, "status"), o, old)
}

// stored returns a good object in the state that is stored after its creation.
func (s served) stored(t testing.TB) registry.Object {
	t.Helper()
	o := s.good()
	if err := s.create(t, o); err != nil {
		t.Fatalf("a good object is rejected: %v", err)
	}
	o.SetResourceVersion("1")
	return o
}

func copied(o registry.Object) registry.Object { return o.DeepCopyObject().(registry.Object) }
