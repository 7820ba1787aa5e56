// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// upgrade lets Cluster API serve its next version, in which it converts what is stored: conditions of the version before it move to
// status.deprecated.
func (f *flow) upgrade() {
	f.t.Helper()
	var objects []client.Object
	if k := f.kluster(); k != nil {
		objects = append(objects, k)
	}
	former := map[schema.GroupResource][]string{clusters: {"web"}, infrastructures: {"web-os"}, machines: {"cp", "worker"}}
	next := map[schema.GroupResource]func(name string) *unstructured.Unstructured{
		clusters:        func(string) *unstructured.Unstructured { return cluster(f.t, "v1beta2") },
		infrastructures: func(string) *unstructured.Unstructured { return infrastructure(f.t, "v1beta2") },
		machines:        func(name string) *unstructured.Unstructured { return machine(f.t, "v1beta2", name) },
	}
	for resource, names := range former {
		for _, name := range names {
			before := f.get(resource, name)
			if before == nil {
				continue
			}
			converted := next[resource](name)
			metadata, _, err := unstructured.NestedMap(before.Object, "metadata")
			if err != nil {
				f.t.Fatal(err)
			}
			converted.Object["metadata"] = metadata
			if conditions, _, _ := unstructured.NestedSlice(before.Object, "status", "conditions"); resource == clusters {
				converted.Object["status"] = map[string]any{"deprecated": map[string]any{"v1beta1": map[string]any{"conditions": conditions}}}
			}
			if owners := converted.GetOwnerReferences(); len(owners) > 0 {
				owners[0].APIVersion = before.GetOwnerReferences()[0].APIVersion // Cluster API changes it later
				converted.SetOwnerReferences(owners)
			}
			converted.SetResourceVersion("")
			objects = append(objects, converted)
		}
	}
	for _, object := range objects {
		object.SetResourceVersion("")
	}
	f.version = "v1beta2"
	f.store = klustertest.BuildStore(f.t, func(builder *fake.ClientBuilder) { builder.WithStatusSubresource(cluster(f.t, f.version)) }, objects...)
	f.resources.store, f.r.client, f.r.live = f.store, f.store.Client(), f.store.Live()
}

// Cluster API is upgraded from v1beta1 to v1beta2: nothing changes for a Cluster that lives, and the deletion of one continues.
func TestUpgradeOfClusterAPI(t *testing.T) {
	f := newRegistered(t, "v1beta1")
	before := f.kluster()
	f.upgrade()
	if f.settle(); f.store.Count() > 0 {
		t.Errorf("writes %v, want none", f.store.Writes())
	}
	f.wantHeld(bothHeld)
	if k := f.kluster(); k == nil || k.UID != before.UID || k.Detached() || !k.DeletionTimestamp.IsZero() {
		t.Fatalf("Kluster = %+v, want it as before", k)
	}

	f = newRegistered(t, "v1beta1")
	f.remove(clusters, "web")
	f.reconcile()
	f.deorbit(kubernikusv1.DeorbitPods)
	f.reconcile()
	f.upgrade()
	f.settle()
	f.wantHeld(phaseOne)
	if k := f.kluster(); k == nil || k.Detached() || k.DeletionTimestamp.IsZero() || f.completed() != "False/Pods" {
		t.Fatalf("Kluster = %+v, condition %s, want its Deorbit to continue", k, f.completed())
	}
	f.deorbit(kubernikusv1.DeorbitMachines)
	f.settle()
	f.wantHeld(phaseTwo)

	// A Deorbit that is over is not begun again for a Cluster that its provider is still deleting.
	f = newRegistered(t, "v1beta1")
	f.remove(clusters, "web")
	f.reconcile()
	f.end("Deorbited")
	f.settle()
	f.upgrade()
	if f.settle(); f.kluster() != nil || f.store.Count() > 0 {
		t.Errorf("Kluster = %+v, writes %v, want none", f.kluster(), f.store.Writes())
	}
	f.wantHeld(noneHeld)
}

// regarded records what events are about.
type regarded struct {
	*events.FakeRecorder
	objects []runtime.Object
}

func (r *regarded) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.objects = append(r.objects, regarding)
	r.FakeRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
}

// Events refer to a Cluster in the version that is served.
func TestEventsOfTheServedVersion(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		f := newRegistered(t, version)
		recorder := &regarded{FakeRecorder: f.recorder}
		f.r.recorder = recorder
		f.remove(clusters, "web")
		f.settle()
		want := &corev1.ObjectReference{APIVersion: desired.Group + "/" + version, Kind: "Cluster", Namespace: klustertest.Namespace, Name: "web", UID: "u1"}
		if len(recorder.objects) == 0 {
			t.Errorf("%s: no event", version)
		}
		for _, got := range recorder.objects {
			if diff := cmp.Diff(runtime.Object(want), got); diff != "" {
				t.Errorf("%s: an event is about (-want +got):\n%s", version, diff)
			}
		}
	}
}
