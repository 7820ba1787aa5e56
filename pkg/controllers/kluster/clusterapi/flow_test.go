// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// start is when all flows begin: the store gives deletions the time of this machine.
var start = time.Now().Truncate(time.Second)

// flow is the controller on a store that has Cluster API in one version.
type flow struct {
	*resources
	t        *testing.T
	store    *kubetest.Server
	r        *reconciler
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
}

// resources read the objects of Cluster API from the store.
type resources struct {
	store   *kubetest.Server
	version string
	// absent are resources that are not served, and err is the error of all reads.
	absent []schema.GroupResource
	err    error
	// before is called before each list.
	before func(schema.GroupResource)
}

func (r *resources) Serves(_ context.Context, resource schema.GroupResource) (bool, error) {
	return !slices.Contains(r.absent, resource), r.err
}

func (r *resources) served(resource schema.GroupResource) (*schema.GroupVersionResource, error) {
	if serves, err := r.Serves(context.Background(), resource); !serves || err != nil {
		return nil, err
	}
	return new(resource.WithVersion(r.version)), nil
}

func kindOf(resource schema.GroupResource) string {
	return map[schema.GroupResource]string{clusters: "Cluster", machines: "Machine", infrastructures: desired.KindOpenStackCluster, resourceSets: "ClusterResourceSet",
		extensions: "ExtensionConfig"}[resource]
}

func (r *resources) Find(ctx context.Context, resource schema.GroupResource, query resourcewatch.Query) ([]*resourcewatch.Object, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.before != nil {
		r.before(resource)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(resource.WithVersion(r.version).GroupVersion().WithKind(kindOf(resource) + "List"))
	if err := r.store.List(ctx, list, client.InNamespace(query.Namespace)); err != nil {
		return nil, err
	}
	var found []*resourcewatch.Object
	for i := range list.Items {
		item := &list.Items[i]
		if query.Name != "" && item.GetName() != query.Name {
			continue
		}
		object := &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: item.GetNamespace(), Name: item.GetName()}}
		switch resource {
		case clusters:
			object.Value = desired.ClusterOf(item.Object)
		case infrastructures:
			object.Value = desired.InfrastructureOf(item.Object)
		case machines:
			object.Value = desired.MachineOf(item)
		case resourceSets:
			object.Value = desired.ResourceSetOf(item.Object)
		case extensions:
			object.Value = desired.ExtensionOf(item.Object)
		}
		found = append(found, object)
	}
	return found, nil
}

func object(t *testing.T, version, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "VERSION", version)), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func cluster(t *testing.T, version string) *unstructured.Unstructured {
	infrastructure := "apiGroup: infrastructure.cluster.x-k8s.io"
	if version == "v1beta1" {
		infrastructure = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1"
	}
	return object(t, version, `
apiVersion: cluster.x-k8s.io/VERSION
kind: Cluster
metadata: {name: web, namespace: garden-shop, uid: u1, finalizers: [cluster.cluster.x-k8s.io], annotations: {groundskeeper.io/deorbit: "true"}}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}
  infrastructureRef: {`+infrastructure+`, kind: OpenStackCluster, name: web-os}
status:
  conditions: [{type: Available, status: "True", reason: Available, message: "", lastTransitionTime: "2030-01-01T00:00:00Z"}]
`)
}

func infrastructure(t *testing.T, version string) *unstructured.Unstructured {
	return object(t, version, `
apiVersion: infrastructure.cluster.x-k8s.io/VERSION
kind: OpenStackCluster
metadata:
  name: web-os
  namespace: garden-shop
  uid: i1
  finalizers: [openstackcluster.infrastructure.cluster.x-k8s.io]
  ownerReferences: [{apiVersion: cluster.x-k8s.io/VERSION, kind: Cluster, name: web, uid: u1}]
spec:
  identityRef: {name: web-cloud-config, cloudName: openstack}
  managedSubnets: [{cidr: 10.6.0.0/24}]
status:
  network: {id: 11111111-1111-4111-8111-111111111111, subnets: [{id: 22222222-2222-4222-8222-222222222222}]}
  router: {id: 33333333-3333-4333-8333-333333333333}
`)
}

func machine(t *testing.T, version, name string) *unstructured.Unstructured {
	return object(t, version, `
apiVersion: cluster.x-k8s.io/VERSION
kind: Machine
metadata: {name: `+name+`, namespace: garden-shop, uid: m-`+name+`, finalizers: [machine.cluster.x-k8s.io], labels: {cluster.x-k8s.io/cluster-name: web}}
spec: {clusterName: web}
`)
}

func newFlow(t *testing.T, version string, objects ...client.Object) *flow {
	t.Helper()
	store := klustertest.BuildStore(t, func(builder *fake.ClientBuilder) {
		builder.WithStatusSubresource(cluster(t, version))
	}, objects...)
	f := &flow{t: t, store: store, resources: &resources{store: store, version: version}, clock: clocktesting.NewFakePassiveClock(start), recorder: events.NewFakeRecorder(100)}
	f.r = &reconciler{
		client: store.Client(), live: store.Live(), watched: f.resources, current: func() resourcewatch.Reader { return f.resources }, served: f.served,
		settings: settings{drainTimeout: 30 * time.Minute}, clock: f.clock, recorder: f.recorder,
	}
	return f
}

// newRegistered returns a flow with a Cluster that has two machines and a Kluster.
func newRegistered(t *testing.T, version string) *flow {
	t.Helper()
	f := newFlow(t, version, cluster(t, version), infrastructure(t, version), machine(t, version, "cp"), machine(t, version, "worker"))
	f.settle()
	f.admit()
	f.events()
	f.store.ResetLog()
	return f
}

// admit gives the Kluster what the API server gives it at its creation.
func (f *flow) admit() {
	f.t.Helper()
	k := f.kluster()
	f.store.Change(k, func() { k.Finalizers = append(k.Finalizers, kubernikusv1.DeorbiterFinalizer) })
}

func (f *flow) key() types.NamespacedName {
	return types.NamespacedName{Namespace: klustertest.Namespace, Name: "web"}
}

func (f *flow) reconcile() reconcile.Result {
	f.t.Helper()
	result, err := instrument.Reconciler(ControllerName, f.r).Reconcile(f.t.Context(), reconcile.Request{NamespacedName: f.key()})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// settle reconciles until nothing is written.
func (f *flow) settle() {
	f.t.Helper()
	for range 10 {
		before := f.store.Count()
		if f.reconcile(); f.store.Count() == before {
			return
		}
	}
	f.t.Fatalf("it never ends: %v", f.store.Writes())
}

// kluster returns the Kluster, nil when there is none.
func (f *flow) kluster() *kubernikusv1.Kluster {
	f.t.Helper()
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: "web"}}
	if !f.store.Find(k) {
		return nil
	}
	return k
}

// get returns an object of Cluster API, nil when there is none.
func (f *flow) get(resource schema.GroupResource, name string) *unstructured.Unstructured {
	f.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(resource.WithVersion(f.version).GroupVersion().WithKind(kindOf(resource)))
	err := f.store.Get(f.t.Context(), types.NamespacedName{Namespace: klustertest.Namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

// edit changes an object of Cluster API as its controllers do.
func (f *flow) edit(resource schema.GroupResource, name string, change func(*unstructured.Unstructured)) {
	f.t.Helper()
	o := f.get(resource, name)
	change(o)
	if err := f.store.Update(f.t.Context(), o); err != nil {
		f.t.Fatal(err)
	}
}

// remove deletes an object of Cluster API; its finalizers keep it.
func (f *flow) remove(resource schema.GroupResource, name string) {
	f.t.Helper()
	if err := f.store.Delete(f.t.Context(), f.get(resource, name)); err != nil {
		f.t.Fatal(err)
	}
}

// finalize removes a finalizer, as a controller whose work is done.
func (f *flow) finalize(resource schema.GroupResource, name, finalizer string) {
	f.t.Helper()
	f.edit(resource, name, func(o *unstructured.Unstructured) {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(each string) bool { return each == finalizer }))
	})
}

// held reports how the objects of Cluster API are kept.
func (f *flow) held() string {
	f.t.Helper()
	var all []string
	if i := f.get(infrastructures, "web-os"); i != nil {
		all = append(all, fmt.Sprintf("infrastructure %t %q", slices.Contains(i.GetFinalizers(), desired.Finalizer), i.GetAnnotations()[desired.AnnotationPaused]))
	}
	for _, name := range []string{"cp", "worker"} {
		if m := f.get(machines, name); m != nil {
			_, held := m.GetAnnotations()[desired.AnnotationHook]
			all = append(all, fmt.Sprintf("%s %t", name, held))
		}
	}
	return strings.Join(all, ", ")
}

func (f *flow) wantHeld(want string) {
	f.t.Helper()
	if got := f.held(); got != want {
		f.t.Errorf("held = %s, want %s", got, want)
	}
}

// completed returns the condition of the Cluster.
func (f *flow) completed() string {
	f.t.Helper()
	c := desired.ClusterOf(f.get(clusters, "web").Object).Completed
	if c == nil {
		return ""
	}
	return c.Status + "/" + c.Reason
}

// deorbit sets how far the Deorbit of the Kluster is.
func (f *flow) deorbit(stage kubernikusv1.DeorbitStage) {
	f.t.Helper()
	k := f.kluster()
	f.store.ChangeStatus(k, func() {
		began := metav1.NewTime(start)
		k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: stage, StartedAt: &began}
		k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionFalse, Reason: string(stage), Message: "waits", LastTransitionTime: began}}
	})
}

// end ends the Deorbit of the Kluster.
func (f *flow) end(reason string) {
	f.t.Helper()
	k := f.kluster()
	f.store.ChangeStatus(k, func() {
		k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionTrue, Reason: reason, Message: "the end", LastTransitionTime: metav1.NewTime(start)}}
	})
	f.store.Change(k, func() {
		k.Finalizers = slices.DeleteFunc(k.Finalizers, func(name string) bool { return name == kubernikusv1.DeorbiterFinalizer })
	})
}

func (f *flow) events() string { return strings.Join(kubetest.Events(f.recorder), "\n") }

const (
	bothHeld    = `infrastructure true "", cp true, worker true`
	noneHeld    = `infrastructure false "", cp false, worker false`
	phaseOne    = `infrastructure true "groundskeeper.io/deorbit", cp true, worker true`
	phaseTwo    = `infrastructure true "groundskeeper.io/deorbit", cp false, worker false`
	noMoreHosts = `infrastructure true "groundskeeper.io/deorbit"`
)

func TestRegister(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			f := newFlow(t, version, cluster(t, version), infrastructure(t, version), machine(t, version, "cp"), machine(t, version, "worker"))
			f.reconcile()
			if k := f.kluster(); k == nil || desired.UIDOf(k) != "u1" || k.Spec.Openstack.RouterID == "" {
				t.Fatalf("Kluster = %+v", k)
			}
			f.wantHeld(bothHeld)
			// The Kluster is there before anything is kept for it.
			if verbs := f.store.Writes(); verbs[0] != "create Kluster web" {
				t.Errorf("writes %v", verbs)
			}
			if text := f.events(); !strings.Contains(text, "Normal KlusterCreated") {
				t.Errorf("events: %s", text)
			}
			f.reconcile()
			if got := klustertest.Condition(f.kluster(), kubernikusv1.ConditionClusterAPI); got != "True/Synced" {
				t.Errorf("condition = %s", got)
			}
			f.store.ResetLog()
			if f.reconcile(); f.store.Count() > 0 {
				t.Errorf("nothing has changed, and it writes %v", f.store.Writes())
			}
			// A Machine that is replaced is not delayed.
			f.remove(machines, "worker")
			f.reconcile()
			f.wantHeld(`infrastructure true "", cp true, worker false`)
		})
	}
}

// The two phases of a deletion, with Cluster API's part.
func TestDeletion(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			f := newRegistered(t, version)
			f.remove(clusters, "web")
			f.reconcile()
			f.wantHeld(phaseOne)
			if k := f.kluster(); k.DeletionTimestamp.IsZero() || k.MachinesOf() != kubernikusv1.MachinesPresent || k.Detached() {
				t.Fatalf("Kluster = %+v", k.ObjectMeta)
			}
			f.deorbit(kubernikusv1.DeorbitPods)
			f.remove(machines, "worker")
			if result := f.reconcile(); f.completed() != "False/Pods" || result.RequeueAfter != 30*time.Minute {
				t.Errorf("condition = %s, again in %s", f.completed(), result.RequeueAfter)
			}
			f.wantHeld(phaseOne)
			f.deorbit(kubernikusv1.DeorbitMachines)
			f.reconcile()
			f.wantHeld(phaseTwo)
			f.remove(machines, "cp")
			f.finalize(machines, "worker", "machine.cluster.x-k8s.io")
			f.settle()
			if k := f.kluster(); k.MachinesOf() != kubernikusv1.MachinesPresent {
				t.Errorf("machines are %q, and one exists", k.MachinesOf())
			}
			f.finalize(machines, "cp", "machine.cluster.x-k8s.io")
			f.settle()
			if k := f.kluster(); k.MachinesOf() != kubernikusv1.MachinesDeleted {
				t.Errorf("machines are %q", k.MachinesOf())
			}
			f.remove(infrastructures, "web-os")
			f.deorbit(kubernikusv1.DeorbitVerify)
			f.settle()
			f.wantHeld(noMoreHosts)
			f.events()
			f.end("Leftovers")
			f.settle()
			f.wantHeld(`infrastructure false ""`)
			if f.kluster() != nil || f.completed() != "True/Leftovers" {
				t.Errorf("Kluster = %v, condition = %s", f.kluster(), f.completed())
			}
			if text := f.events(); !strings.Contains(text, "Warning DeorbitCompleted the end") {
				t.Errorf("events: %s", text)
			}
			f.store.ResetLog()
			if f.reconcile(); f.store.Count() > 0 {
				t.Errorf("writes %v", f.store.Writes())
			}
			f.finalize(infrastructures, "web-os", "openstackcluster.infrastructure.cluster.x-k8s.io")
			f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
			if f.reconcile(); f.store.Count() > 0 {
				t.Errorf("writes %v", f.store.Writes())
			}
		})
	}
}

// The conditions of Cluster API's own controllers stay, and the time of this one is that of its status.
func TestConditionOfTheCluster(t *testing.T) {
	for version, want := range map[string]string{"v1beta1": "severity", "v1beta2": "observedGeneration"} {
		f := newRegistered(t, version)
		f.remove(clusters, "web")
		f.reconcile()
		f.clock.SetTime(start.Add(time.Hour))
		f.deorbit(kubernikusv1.DeorbitPods)
		f.reconcile()
		conditions, _, _ := unstructured.NestedSlice(f.get(clusters, "web").Object, "status", "conditions")
		if len(conditions) != 2 || conditions[0].(map[string]any)["type"] != "Available" {
			t.Fatalf("%s: conditions = %v", version, conditions)
		}
		own := conditions[1].(map[string]any)
		if own["type"] != desired.ConditionCompleted || own["reason"] != "Pods" || own["message"] != "waits" || own["lastTransitionTime"] != start.UTC().Format(time.RFC3339) || own[want] == nil {
			t.Errorf("%s: condition = %v", version, own)
		}
	}
}

// A Kluster that was created for a Cluster that is deleted is released without any cleanup.
func TestMoved(t *testing.T) {
	f := newRegistered(t, "v1beta2")
	// clusterctl pauses the Cluster, replaces all annotations, deletes, and then removes the finalizers.
	f.edit(clusters, "web", func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, true, "spec", "paused") })
	f.settle()
	if k := f.kluster(); k.Annotations["groundskeeper.io/paused"] != "true" || klustertest.Condition(k, kubernikusv1.ConditionClusterAPI) != "Unknown/Paused" {
		t.Errorf("Kluster = %+v", k.ObjectMeta)
	}
	f.edit(clusters, "web", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{desired.AnnotationDeleteForMove: ""})
	})
	f.remove(clusters, "web")
	f.settle()
	check := func() {
		t.Helper()
		if k := f.kluster(); k.DeletionTimestamp.IsZero() || !k.Detached() || k.Annotations["groundskeeper.io/paused"] != "" {
			t.Errorf("Kluster = %+v", k.ObjectMeta)
		}
	}
	check()
	f.wantHeld(bothHeld) // what clusterctl deletes is left to it
	f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
	f.settle()
	check()
	f.end("Deorbited")
	f.settle()
	if f.kluster() != nil {
		t.Errorf("the Kluster stays: %+v", f.kluster().ObjectMeta)
	}

	// Another Cluster takes the name: it has a dedicated Kluster when the old one is deleted.
	f = newRegistered(t, "v1beta2")
	f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
	f.remove(clusters, "web")
	other := cluster(t, "v1beta2")
	other.SetUID("u2")
	f.store.Add(other)
	f.edit(infrastructures, "web-os", func(o *unstructured.Unstructured) {
		owners := o.GetOwnerReferences()
		owners[0].UID = "u2"
		o.SetOwnerReferences(owners)
	})
	f.settle()
	check()
	f.end("Deorbited")
	f.settle()
	if k := f.kluster(); k == nil || desired.UIDOf(k) != "u2" || !k.DeletionTimestamp.IsZero() || k.Detached() {
		t.Errorf("Kluster = %+v", k)
	}
}

// What keeps the objects of a Cluster that was removed by force is removed, and nothing of another one.
func TestOrphansAreReleased(t *testing.T) {
	f := newRegistered(t, "v1beta2")
	foreign := machine(t, "v1beta2", "foreign")
	foreign.SetLabels(map[string]string{desired.LabelClusterName: "web-2"})
	foreign.SetAnnotations(map[string]string{desired.AnnotationHook: ""})
	f.store.Add(foreign)
	f.remove(clusters, "web")
	f.settle()
	f.wantHeld(phaseOne)
	f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
	f.settle()
	f.wantHeld(noneHeld)
	if k := f.kluster(); !k.Detached() || k.MachinesOf() != "" {
		t.Errorf("Kluster = %+v", k.ObjectMeta)
	}
	if !hasHook(f.get(machines, "foreign")) {
		t.Error("the Machine of another Cluster has no hook any more")
	}
	for _, o := range []*unstructured.Unstructured{f.get(infrastructures, "web-os"), f.get(machines, "cp")} {
		if len(o.GetFinalizers()) != 1 {
			t.Errorf("%s has finalizers %v", o.GetName(), o.GetFinalizers())
		}
	}

	// They are released although the Kluster has been deleted, and a pause of a user stays.
	f = newRegistered(t, "v1beta2")
	f.edit(infrastructures, "web-os", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{desired.AnnotationPaused: "mine"})
	})
	f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
	f.remove(clusters, "web")
	k := f.kluster()
	f.store.Change(k, func() { k.Finalizers = nil })
	f.store.Remove(k)
	f.settle()
	f.wantHeld(`infrastructure false "mine", cp false, worker false`)

	// While a Cluster is unknown, nothing is released.
	for name, unknown := range map[string]func(*flow){
		"not served": func(f *flow) { f.absent = []schema.GroupResource{clusters} },
		"no reads":   func(f *flow) { f.err = errors.New("the API server is down") },
	} {
		f = newRegistered(t, "v1beta2")
		f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
		f.remove(clusters, "web")
		unknown(f)
		_, _ = f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()})
		if f.wantHeld(bothHeld); f.store.Count() > 0 {
			t.Errorf("%s: writes %v", name, f.store.Writes())
		}
	}
}

func hasHook(o *unstructured.Unstructured) bool {
	_, held := o.GetAnnotations()[desired.AnnotationHook]
	return held
}

// The objects of a former Cluster of the same name are released, and those of the new one are kept.
func TestOrphansOfTheSameName(t *testing.T) {
	f := newRegistered(t, "v1beta2")
	former := infrastructure(t, "v1beta2")
	former.SetName("former")
	former.SetUID("i0")
	former.SetFinalizers([]string{desired.Finalizer})
	owners := former.GetOwnerReferences()
	owners[0].UID = "u0"
	former.SetOwnerReferences(owners)
	f.store.Add(former)
	f.settle()
	f.wantHeld(bothHeld)
	if got := f.get(infrastructures, "former").GetFinalizers(); len(got) > 0 {
		t.Errorf("finalizers %v", got)
	}
}

// The deletion of the CustomResourceDefinition deletes every Cluster without admission: nothing is deorbited for it.
func TestDismantled(t *testing.T) {
	f := newRegistered(t, "v1beta2")
	f.store.Add(object(t, "v1", `
apiVersion: apiextensions.k8s.io/VERSION
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io, finalizers: [customresourcecleanup.apiextensions.k8s.io]}
`))
	definition := object(t, "v1", "{apiVersion: apiextensions.k8s.io/VERSION, kind: CustomResourceDefinition, metadata: {name: clusters.cluster.x-k8s.io}}")
	f.store.Remove(definition)
	f.remove(clusters, "web")
	f.settle()
	f.wantHeld(bothHeld)
	if k := f.kluster(); !k.DeletionTimestamp.IsZero() || k.MachinesOf() != "" || klustertest.Condition(k, kubernikusv1.ConditionClusterAPI) != "False/ClustersDismantled" {
		t.Errorf("Kluster = %+v, condition %s", k.ObjectMeta, klustertest.Condition(k, kubernikusv1.ConditionClusterAPI))
	}
	if text := f.events(); strings.Count(text, "Warning ClustersDismantled") != 1 {
		t.Errorf("events: %s", text)
	}
	// It is unknown whether it is deleted.
	f = newRegistered(t, "v1beta2")
	f.remove(clusters, "web")
	f.store.Read = func(_ string, o runtime.Object) error {
		if o.GetObjectKind().GroupVersionKind().Kind == "CustomResourceDefinition" {
			return errors.New("forbidden")
		}
		return nil
	}
	if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()}); err == nil || f.store.Count() > 0 {
		t.Errorf("got %v, writes %v", err, f.store.Writes())
	}
}

// That the API server rejects a Kluster is reported on the Cluster, once.
func TestRejectedKluster(t *testing.T) {
	f := newFlow(t, "v1beta2", cluster(t, "v1beta2"), infrastructure(t, "v1beta2"), machine(t, "v1beta2", "cp"))
	f.store.Reject = func(w kubetest.Write) error {
		if w.Kind == "Kluster" {
			return apierrors.NewForbidden(kubernikusv1.Resource("klusters"), w.Name, errors.New("exceeded quota"))
		}
		return nil
	}
	for range 3 {
		if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()}); err == nil {
			t.Fatal("it succeeds")
		}
	}
	f.wantHeld(`infrastructure false "", cp false`)
	if text := f.events(); strings.Count(text, "Warning KlusterRejected") != 1 || !strings.Contains(text, "exceeded quota") {
		t.Errorf("events: %s", text)
	}
}

// Nothing is known of Clusters when Cluster API is not served, so nothing is done about their Klusters.
func TestNotServed(t *testing.T) {
	for _, absent := range []schema.GroupResource{clusters, machines, infrastructures} {
		f := newRegistered(t, "v1beta2")
		f.remove(clusters, "web")
		f.absent = []schema.GroupResource{absent}
		f.settle()
		if k := f.kluster(); f.store.Count() > 0 || !k.DeletionTimestamp.IsZero() {
			t.Errorf("without %s it writes %v", absent, f.store.Writes())
		}
	}
	f := newRegistered(t, "v1beta2")
	f.remove(clusters, "web")
	f.err = errors.New("the API server is down")
	if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()}); err == nil || f.store.Count() > 0 {
		t.Errorf("got %v, writes %v", err, f.store.Writes())
	}
}

// The API server has the last word: a Machine that seems to be replaced is kept when its Cluster is being deleted.
func TestDecidesAgainBeforeItWrites(t *testing.T) {
	f := newRegistered(t, "v1beta2")
	f.remove(machines, "worker")
	first := true
	f.before = func(resource schema.GroupResource) {
		if resource == clusters && !first {
			f.before = nil
			f.remove(clusters, "web")
		}
		first = false
	}
	f.reconcile()
	f.wantHeld(phaseOne)

	// An object that changes between the decision and the write is decided about again.
	f = newRegistered(t, "v1beta2")
	f.remove(clusters, "web")
	reads := 0
	f.before = func(resource schema.GroupResource) {
		if reads++; resource == machines && reads > 5 {
			f.before = nil
			f.edit(infrastructures, "web-os", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) })
		}
	}
	if result := f.reconcile(); result.RequeueAfter == 0 {
		t.Errorf("result = %+v, want that it comes back", result)
	}
	if k := f.kluster(); !k.DeletionTimestamp.IsZero() {
		t.Error("the Kluster is deleted before the objects of its Cluster are kept")
	}
	f.settle()
	f.wantHeld(phaseOne)
}

// A process that ends at any write is followed by one that comes to the same end, and nothing is let go before its time.
func TestEndsAtEveryWrite(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for n := 0; ; n++ {
			f := newFlow(t, "v1beta2", cluster(t, "v1beta2"), infrastructure(t, "v1beta2"), machine(t, "v1beta2", "cp"), machine(t, "v1beta2", "worker"))
			count, failed := 0, false
			f.store.Lost = lost
			f.store.Fault = func(int, kubetest.Write) error {
				if count++; count == n+1 {
					failed = true
					return errors.New("the process ends")
				}
				return nil
			}
			settle := func() {
				t.Helper()
				for range 20 {
					before := f.store.Count()
					if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()}); err == nil && f.store.Count() == before {
						return
					}
				}
				t.Fatalf("write %d: it never ends: %v", n, f.store.Writes())
			}
			settle()
			f.admit()
			f.wantHeld(bothHeld)
			f.remove(clusters, "web")
			settle()
			f.wantHeld(phaseOne)
			f.deorbit(kubernikusv1.DeorbitMachines)
			settle()
			f.wantHeld(phaseTwo)
			for _, name := range []string{"cp", "worker"} {
				f.remove(machines, name)
				f.finalize(machines, name, "machine.cluster.x-k8s.io")
			}
			settle()
			f.wantHeld(noMoreHosts)
			f.end("Deorbited")
			settle()
			if f.wantHeld(`infrastructure false ""`); f.kluster() != nil || f.completed() != "True/Deorbited" {
				t.Errorf("write %d: Kluster = %v, condition = %s", n, f.kluster(), f.completed())
			}
			if t.Failed() || !failed {
				break
			}
		}
	}
}

// That a Cluster has no Kluster is reported once.
func TestRejectionIsReportedOnce(t *testing.T) {
	f := newFlow(t, "v1beta2", cluster(t, "v1beta2"), infrastructure(t, "v1beta2"))
	f.edit(infrastructures, "web-os", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "ClusterIdentity", "spec", "identityRef", "type")
	})
	for range 3 {
		f.reconcile()
	}
	if text := f.events(); strings.Count(text, "Warning IdentityNotSupported") != 1 || f.kluster() != nil {
		t.Errorf("events: %s", text)
	}
	f.edit(infrastructures, "web-os", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "Secret", "spec", "identityRef", "type")
	})
	if f.settle(); f.kluster() == nil {
		t.Error("there is no Kluster")
	}
}

// Names that the annotations do not have are those of the manifests that Cluster API applies in the cluster.
func TestNamesOfResourceSets(t *testing.T) {
	labeled := cluster(t, "v1beta2")
	labeled.SetLabels(map[string]string{"cloud": "openstack"})
	set := object(t, "v1beta2", `
apiVersion: addons.cluster.x-k8s.io/VERSION
kind: ClusterResourceSet
metadata: {name: cloud, namespace: garden-shop}
spec:
  clusterSelector: {matchLabels: {cloud: openstack}}
  resources: [{kind: ConfigMap, name: manifests}, {kind: Secret, name: more}, {kind: Secret, name: missing}]
`)
	pod := func(image, flag string) string {
		return "kind: Pod\nspec: {containers: [{name: a, image: " + image + ", args: [" + flag + "]}]}"
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: name}
	}
	f := newFlow(t, "v1beta2", labeled, infrastructure(t, "v1beta2"), set,
		&corev1.ConfigMap{ObjectMeta: meta("manifests"), Data: map[string]string{"ccm.yaml": pod("openstack-cloud-controller-manager:v1", "--cluster-name=shop-web")}},
		&corev1.Secret{ObjectMeta: meta("more"), Data: map[string][]byte{"csi.yaml": []byte(pod("cinder-csi-plugin:v1", "--cluster=shop-volumes"))}})
	f.settle()
	if names := f.kluster().Spec.CloudProvider; names.ClusterName == nil || *names.ClusterName != "shop-web" || *names.CSIClusterID != "shop-volumes" {
		t.Errorf("names = %+v", names)
	}

	// A set that selects another Cluster as well has the names of neither.
	neighbor := cluster(t, "v1beta2")
	neighbor.SetName("web-2")
	neighbor.SetUID("u2")
	neighbor.SetLabels(map[string]string{"cloud": "openstack"})
	f = newFlow(t, "v1beta2", labeled, neighbor, infrastructure(t, "v1beta2"), set,
		&corev1.ConfigMap{ObjectMeta: meta("manifests"), Data: map[string]string{"ccm.yaml": pod("openstack-cloud-controller-manager:v1", "--cluster-name=shop-web")}})
	f.settle()
	if names := f.kluster().Spec.CloudProvider; names.ClusterName != nil || names.CSIClusterID != nil {
		t.Errorf("names = %+v, which two clusters have", names)
	}
}

func TestRequestsOf(t *testing.T) {
	identity := resourcewatch.Identity{Namespace: "a", Name: "x"}
	of := func(value any) *resourcewatch.Object { return &resourcewatch.Object{Identity: identity, Value: value} }
	for _, kind := range kinds() {
		if index := kind.Indexes[clusterIndex]; index != nil {
			for _, value := range []any{&desired.Machine{Cluster: "web"}, &desired.Infrastructure{Cluster: "web"}} {
				if got := index(of(value)); len(got) != 1 || got[0] != (types.NamespacedName{Namespace: "a", Name: "web"}).String() {
					t.Errorf("%s: index = %q", kind.GroupResource, got)
				}
			}
			if got := index(of(&desired.Machine{})); got != nil {
				t.Errorf("%s: index = %q", kind.GroupResource, got)
			}
		}
	}
	for name, test := range map[string]struct {
		event resourcewatch.Event
		want  string
	}{
		"a Cluster":                     {resourcewatch.Event{New: of(&desired.Cluster{})}, "a/x"},
		"one that is deleted":           {resourcewatch.Event{Old: of(&desired.Cluster{})}, "a/x"},
		"a Machine":                     {resourcewatch.Event{Old: of(&desired.Machine{Cluster: "web"}), New: of(&desired.Machine{Cluster: "web"})}, "a/web"},
		"a Machine of none":             {resourcewatch.Event{New: of(&desired.Machine{})}, ""},
		"an infrastructure":             {resourcewatch.Event{Old: of(&desired.Infrastructure{}), New: of(&desired.Infrastructure{Cluster: "web"})}, "a/web"},
		"one with another owner before": {resourcewatch.Event{Old: of(&desired.Infrastructure{Cluster: "old"}), New: of(&desired.Infrastructure{Cluster: "web"})}, "a/old a/web"},
	} {
		var got []string
		for _, request := range requestsOf(test.event) {
			got = append(got, request.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: requests = %q, want %q", name, got, test.want)
		}
	}
}
