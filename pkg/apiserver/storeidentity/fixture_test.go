// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	etcd "go.etcd.io/etcd/client/v3/kubernetes"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

const (
	prefix  = "/test-registry"
	project = prefix + "/core.gardener.cloud/projects/p"
)

// world is a store and a management cluster.
type world struct {
	etcd *etcd.Client
	host *fakeHost
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{etcd: etcdtest.Run(t), host: newHost()}
}

func (w *world) config() Config {
	return Config{KV: w.etcd.KV, Prefix: prefix, Projects: "core.gardener.cloud/projects", Host: w.host.client}
}

// putProject stores something under the key of a Project and returns the revision.
func (w *world) putProject(t *testing.T) int64 {
	t.Helper()
	response, err := w.etcd.Put(t.Context(), project, "data")
	if err != nil {
		t.Fatal(err)
	}
	return response.Header.Revision
}

// wipe empties the store.
func (w *world) wipe(t *testing.T) {
	t.Helper()
	w.restore(t, nil)
}

// dump and restore are a backup of the store. A restored one has a higher revision than ever, as with
// etcdutl snapshot restore --bump-revision.
func (w *world) dump(t *testing.T) map[string]string {
	t.Helper()
	found, err := w.etcd.Kubernetes.List(t.Context(), prefix, etcd.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, kv := range found.Kvs {
		keys[string(kv.Key)] = string(kv.Value)
	}
	return keys
}

func (w *world) restore(t *testing.T, keys map[string]string) {
	t.Helper()
	for key := range w.dump(t) {
		if _, err := w.etcd.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range keys {
		if _, err := w.etcd.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
}

// fakeHost is a management cluster that checks resource versions, as the fake clientset does not.
type fakeHost struct {
	client kubernetes.Interface

	mu        sync.Mutex
	configMap *corev1.ConfigMap
	version   int
	writes    int
	// fail, unless nil, may respond to a request in place of the host.
	fail func(verb, resource string) error
}

func newHost(namespaces ...runtime.Object) *fakeHost {
	client := fake.NewClientset(namespaces...)
	h := &fakeHost{client: client}
	client.PrependReactor("*", "configmaps", h.configMaps)
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.fail == nil {
			return false, nil, nil
		}
		err := h.fail(action.GetVerb(), action.GetResource().Resource)
		return err != nil, nil, err
	})
	return h
}

func (h *fakeHost) configMaps(action clienttesting.Action) (bool, runtime.Object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	resource := corev1.Resource("configmaps")
	if action.GetNamespace() != Namespace {
		return true, nil, fmt.Errorf("unexpected namespace %s", action.GetNamespace())
	}
	switch action := action.(type) {
	case clienttesting.UpdateAction: // a CreateAction, too
		desired := action.GetObject().(*corev1.ConfigMap)
		switch {
		case action.GetVerb() == "create" && h.configMap != nil:
			return true, nil, apierrors.NewAlreadyExists(resource, Name)
		case action.GetVerb() == "update" && h.configMap == nil:
			return true, nil, apierrors.NewNotFound(resource, Name)
		case action.GetVerb() == "update" && desired.ResourceVersion != h.configMap.ResourceVersion:
			return true, nil, apierrors.NewConflict(resource, Name, nil)
		}
		h.version++
		h.writes++
		h.configMap = desired.DeepCopy()
		h.configMap.ResourceVersion = strconv.Itoa(h.version)
	case clienttesting.GetAction:
		if h.configMap == nil {
			return true, nil, apierrors.NewNotFound(resource, Name)
		}
	default:
		return true, nil, fmt.Errorf("unexpected %s", action.GetVerb())
	}
	return true, h.configMap.DeepCopy(), nil
}

// set makes the host remember a record, or nothing.
func (h *fakeHost) set(record *Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.configMap = nil; record != nil {
		h.version++
		h.configMap = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name, ResourceVersion: strconv.Itoa(h.version)},
			Data:       map[string]string{"id": record.ID, "revision": strconv.FormatInt(record.Revision, 10)},
		}
	}
}

// recorded returns what the host remembers.
func (h *fakeHost) recorded(t *testing.T) Record {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.configMap == nil {
		return Record{}
	}
	revision, err := strconv.ParseInt(h.configMap.Data["revision"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return Record{h.configMap.Data["id"], revision}
}

func (h *fakeHost) setFail(fail func(verb, resource string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = fail
}

func (h *fakeHost) countWrites() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes
}

// namespace returns a namespace, of a project when role reports so, owned by kind.
func namespace(name, role, apiVersion, kind string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:            name,
		Labels:          map[string]string{"gardener.cloud/role": role},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "p", UID: "u"}},
	}}
}

// annotated names a Project in a namespace.
func annotated(namespace *corev1.Namespace) *corev1.Namespace {
	namespace.Annotations = map[string]string{"namespace.gardener.cloud/project": "u"}
	return namespace
}
