// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package klustertest has what the tests of the controllers of Klusters share: an API server with their index, and a Kluster on a fake
// cloud.
package klustertest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// Namespace is where all Klusters are.
const Namespace = "garden-shop"

// NewStore returns an API server whose cache finds Klusters by their Secrets and clusters.
func NewStore(t *testing.T, objects ...client.Object) *kubetest.Server {
	t.Helper()
	return BuildStore(t, nil, objects...)
}

// BuildStore is NewStore after the store's builder was changed.
func BuildStore(t *testing.T, change func(*fake.ClientBuilder), objects ...client.Object) *kubetest.Server {
	t.Helper()
	return kubetest.Build(t, func(builder *fake.ClientBuilder) {
		builder.WithReturnManagedFields()
		if err := kluster.Index(indexer{builder}); err != nil {
			t.Fatal(err)
		}
		builder.WithIndex(&gimbalv1.DiscoveryBackend{}, gimbalv1.ClusterIDField, func(object client.Object) []string {
			backend, _ := object.(*gimbalv1.DiscoveryBackend)
			return []string{clusterid.OfBackend(backend)}
		})
		if change != nil {
			change(builder)
		}
	}, objects...)
}

// indexer adds indexes to a store that is being built.
type indexer struct{ builder *fake.ClientBuilder }

// IndexField implements client.FieldIndexer.
func (i indexer) IndexField(_ context.Context, object client.Object, field string, keys client.IndexerFunc) error {
	i.builder.WithIndex(object, field, keys)
	return nil
}

// Kluster returns a Kluster as the API server creates it, changed as the test wants it.
func Kluster(name string, changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: name, UID: types.UID(name + "-uid"), Generation: 1, Finalizers: []string{kubernikusv1.DeorbiterFinalizer},
	}}
	kubernikusv1.NormalizeKluster(k)
	kubernikusv1.DefaultNames(k)
	for _, change := range changes {
		change(k)
	}
	return k
}

// Going is a Kluster that is being deleted.
func Going(k *kubernikusv1.Kluster) {
	k.DeletionTimestamp = &metav1.Time{Time: time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)}
}

// Annotated sets an annotation to "true".
func Annotated(name string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { metav1.SetMetaDataAnnotation(&k.ObjectMeta, name, "true") }
}

// Secret holds the credentials of a user of a cloud, in Kubernikus' keys, and what else is given.
func Secret(name, authURL, user, password, project string, more map[string][]byte) *corev1.Secret {
	data := map[string][]byte{
		"openstack-auth-url": []byte(authURL), "openstack-username": []byte(user), "openstack-password": []byte(password),
		"openstack-domain-name": []byte("Default"), "openstack-project-id": []byte(project),
	}
	for key, value := range more {
		data[key] = value
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, UID: types.UID(name + "-uid")}, Data: data}
}

// Condition returns a condition of a Kluster as Status/Reason, "" without one.
func Condition(k *kubernikusv1.Kluster, kind string) string {
	c := meta.FindStatusCondition(k.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

// Queue returns a queue of requests that ends with the test.
func Queue(t *testing.T) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	return queue
}
