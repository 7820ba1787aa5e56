// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver"
)

// TestStartSummarizesStoredObjects checks that a starting server writes the stored objects that have no summary or another one, and
// no others.
func TestStartSummarizesStoredObjects(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const namespace = "summaries"
	translations := midonetv1.SchemeGroupVersion.WithResource("translations")
	objects := objectsOf(t, 0, translations, namespace)
	current := parse(t, `{apiVersion: midonet.org/v1, kind: Translation, resources: [{kind: Chain, parent: "", body: '{"id":"1"}'}]}`)
	current.SetName("a")
	current, err := objects.Create(ctx, current, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	synced := map[string]any{"type": "Synced", "status": "True", "reason": "Synced", "message": "", "observedGeneration": int64(1), "lastTransitionTime": "2026-01-02T03:04:05Z"}
	foreign := maps.Clone(synced)
	foreign["type"], foreign["status"], foreign["reason"] = "Ready", "False", "Other"
	store(ctx, t, "translations/"+namespace, earlier(current, "b", synced))
	store(ctx, t, "translations/"+namespace, earlier(current, "c", synced, foreign))

	third, stop := anotherServer(t)
	defer stop()
	through, err := dynamic.NewForConfig(third)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		events, err := through.Resource(translations).Namespace(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		o := awaitReady(t, events)
		if o.GetGeneration() != 1 || len(o.GetManagedFields()) != len(current.GetManagedFields()) {
			t.Errorf("%s: generation %d and managed fields %v, want those that were stored", name, o.GetGeneration(), o.GetManagedFields())
		}
	}
	if now, err := objects.Get(ctx, "a", metav1.GetOptions{}); err != nil || now.GetResourceVersion() != current.GetResourceVersion() {
		t.Errorf("a: resource version %s, %v, want %s: its summary is the current one", now.GetResourceVersion(), err, current.GetResourceVersion())
	}
}

// earlier returns an object as an earlier version stored it.
func earlier(template *unstructured.Unstructured, name string, list ...any) *unstructured.Unstructured {
	o := template.DeepCopy()
	o.SetName(name)
	o.SetUID(template.GetUID() + "-" + "0")
	o.SetResourceVersion("")
	o.Object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": list}
	return o
}

// store writes an object into etcd, past every server.
func store(ctx context.Context, t *testing.T, below string, o *unstructured.Unstructured) {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	value, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	key := path.Join(apiserver.EtcdPrefix, o.GroupVersionKind().Group, below, o.GetName())
	if _, err := etcd.Put(ctx, key, string(value)); err != nil {
		t.Fatal(err)
	}
}

// awaitReady returns the object when its condition Ready is True.
func awaitReady(t *testing.T, events watch.Interface) *unstructured.Unstructured {
	t.Helper()
	var last any
	for event := range events.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			t.Fatalf("the watch failed: %v", event.Object)
		}
		if readyOf(o) == "True" {
			return o
		}
		last = o.Object["status"]
	}
	t.Fatalf("the watch ended, and the object is not ready: status %v", last)
	return nil
}
