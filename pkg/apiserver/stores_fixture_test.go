// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	etcdkubernetes "go.etcd.io/etcd/client/v3/kubernetes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// setGates sets the feature gates once, as the command does before it runs.
var setGates = sync.OnceValue(func() error { return NewOptions().ServerRun.ComponentGlobalsRegistry.Set() })

// testStore is a store, with its etcd.
type testStore struct {
	*backup.Store
	etcd *etcdkubernetes.Client
}

// newStore opens a store in a dedicated etcd.
func newStore(t *testing.T, options ...func(*Options)) testStore {
	t.Helper()
	return openStore(t, etcdtest.Run(t), options...)
}

func openStore(t *testing.T, etcd *etcdkubernetes.Client, options ...func(*Options)) testStore {
	t.Helper()
	if err := setGates(); err != nil {
		t.Fatal(err)
	}
	o := NewOptions()
	o.Etcd.StorageConfig.Transport.ServerList = etcd.Endpoints()
	for _, option := range options {
		option(o)
	}
	store, closeStore, err := OpenStore(t.Context(), o.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStore)
	return testStore{store, etcd}
}

// encrypted encrypts all kinds with providers, the first of which writes.
func encrypted(t *testing.T, providers ...string) func(*Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "encryption.yaml")
	content := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" +
		"- resources: [projects.core.gardener.cloud, klusters.kubernikus.sap.cc, translations.midonet.org, discoverybackends.gimbal.heptio.com]\n" +
		"  providers:\n"
	for _, provider := range providers {
		content += "  - " + provider + "\n"
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Etcd.EncryptionProviderConfigFilepath = path }
}

// resource returns one of the resources of a store.
func (s testStore) resource(t *testing.T, kind string) backup.Resource {
	t.Helper()
	for _, resource := range s.Resources {
		if resource.Kind == kind {
			return resource
		}
	}
	t.Fatalf("no %s", kind)
	return backup.Resource{}
}

// create writes an object unchanged.
func (s testStore) create(t *testing.T, kind string, obj runtime.Object) error {
	t.Helper()
	resource, m := s.resource(t, kind), obj.(metav1.Object)
	key, err := resource.Store.KeyFunc(genericapirequest.WithNamespace(t.Context(), m.GetNamespace()), m.GetName())
	if err != nil {
		t.Fatal(err)
	}
	return resource.Store.Storage.Storage.Create(t.Context(), key, obj, resource.Store.NewFunc(), 0)
}

// values returns all keys of the store, below the prefix, and their values.
func (s testStore) values(t *testing.T) map[string]string {
	t.Helper()
	found, err := s.etcd.KV.Get(t.Context(), EtcdPrefix+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, kv := range found.Kvs {
		values[strings.TrimPrefix(string(kv.Key), EtcdPrefix)] = string(kv.Value)
	}
	return values
}

// export returns a file of the store.
func (s testStore) export(t *testing.T) *backup.File {
	t.Helper()
	var out bytes.Buffer
	if _, err := backup.Export(t.Context(), *s.Store, &out); err != nil {
		t.Fatal(err)
	}
	file, err := backup.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// decode decodes a file.
func decode(t *testing.T, file *backup.File) ([]backup.Object, backup.Problems) {
	t.Helper()
	resources, err := Resources()
	if err != nil {
		t.Fatal(err)
	}
	return backup.Decode(t.Context(), file, resources)
}

func quiet[T any](T) {}

// project is one as the API would store it.
func aProject(name, namespace string) *gardenerv1beta1.Project {
	p := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now().Rfc3339Copy(), Generation: 3,
			Finalizers: []string{gardenerv1beta1.FinalizerName},
		},
		Spec: gardenerv1beta1.ProjectSpec{Namespace: new(namespace)},
	}
	gardenerv1beta1.NormalizeProject(p)
	return p
}

// aBackend returns one as the API would store it.
func aBackend(namespace, name string) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now().Rfc3339Copy(), Generation: 1,
	}}
	b.Cluster = gimbalv1.Cluster{Type: "kubernetes", Secret: "login"}
	gimbalv1.Normalize(b)
	return b
}

// lines returns the lines of a file without those that state where it was stored.
func lines(t *testing.T, file *backup.File) []string {
	t.Helper()
	objects, problems := decode(t, file)
	if len(problems.Broken) > 0 {
		t.Fatal(problems.Broken)
	}
	var all []string
	for _, object := range objects {
		object.Meta.SetResourceVersion("")
		line, err := runtime.Encode(object.Resource.Codec, object.Object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
	return all
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// concurrently repeats something until the returned function is called.
func concurrently(t *testing.T, what func(ctx context.Context, i int) error) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		for i := 0; ; i++ {
			if err := what(ctx, i); err != nil || ctx.Err() != nil {
				if ctx.Err() == nil {
					t.Error(fmt.Errorf("write %d: %w", i, err))
				}
				done <- i
				return
			}
		}
	}()
	return func() int { cancel(); return <-done }
}
