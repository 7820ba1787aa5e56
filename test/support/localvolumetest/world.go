// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package localvolumetest is a cluster for the tests of the controllers of local volumes: a store that behaves like an API server
// where they depend on it, a cache that receives only selected objects, and a clock.
package localvolumetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// Noon is when the tests begin, Delay the delay of claims.
var Noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// Delay is how long a node is missing before a claim is deleted.
const Delay = time.Minute

// Ping is the live request of a beat. It is not among the Requests.
const Ping = "ping"

// RecordNamespace is where the record is.
const RecordNamespace = "groundskeeper-system"

// World is a cluster.
type World struct {
	T *testing.T
	// Store is the API server.
	Store *kubetest.Server
	Clock *testingclock.FakeClock
	// Ahead is how far the clock of the process is ahead of the clock of the API server.
	Ahead time.Duration
	Site  *localvolume.Site
	// Intercept may fail a live request: "list nodes", "find nodes", "get configmap", "patch configmap", "create configmap",
	// "delete <kind> <name>", "patch volume <name>", "list pods", Ping.
	Intercept func(request string) error
	// Truncate makes a list of nodes end before its end, as with a limit.
	Truncate bool
	// Deleting is called before each deletion reaches the store.
	Deleting func(name string)
	// Holder names the next process for others that clean up the same cluster; empty: it does not record who it is.
	Holder string
	// Wrap returns the client that the next process gets; nil: the one it is given.
	Wrap func(client.WithWatch) client.WithWatch

	mu       sync.Mutex
	requests []string
	events   []string
	cached   map[string]client.Object
}

// New returns a cluster with these nodes and class "local" opted in.
func New(t *testing.T, configure func(*configv1alpha1.LocalVolumeConfiguration), nodes ...string) *World {
	t.Helper()
	w := &World{T: t, Clock: testingclock.NewFakeClock(Noon), cached: map[string]client.Object{}}
	w.Store = kubetest.Build(t, func(builder *fake.ClientBuilder) {
		builder.WithIndex(&corev1.Pod{}, "status.phase", func(o client.Object) []string { return []string{string(o.(*corev1.Pod).Status.Phase)} }).
			WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
			WithIndex(&corev1.Node{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
			WithStatusSubresource(&corev1.PersistentVolumeClaim{})
	})
	w.restart(configure)
	for _, node := range nodes {
		w.AddNode(node)
	}
	w.Site.Inventory.MarkSynced()
	return w
}

// restart makes a new Site for the same cluster, as a new process would.
func (w *World) restart(configure func(*configv1alpha1.LocalVolumeConfiguration)) {
	w.T.Helper()
	config := configv1alpha1.LocalVolumeConfiguration{StorageClassNames: []string{"local"}, PVCDeletionDelay: &metav1.Duration{Duration: Delay},
		UnknownNodeDeletionDelay: &metav1.Duration{Duration: Delay}}
	if configure != nil {
		configure(&config)
	}
	configv1alpha1.SetDefaults_LocalVolumeConfiguration(&config)
	metrics, err := localvolume.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		w.T.Fatal(err)
	}
	live := interceptor.NewClient(w.Store.Client(), interceptor.Funcs{Get: w.get, List: w.list, Create: w.create, Patch: w.patch, Delete: w.delete})
	if w.Wrap != nil {
		live = w.Wrap(live)
	}
	var nodes cache.Cache
	if localvolume.NeedsNodes(&config) {
		nodes = syncedCache{w: w}
	}
	w.Site = localvolume.NewSite(localvolume.Dependencies{
		Nodes: nodes,
		Cache: syncedCache{w: w}, Client: live,
		Recorder: recorder{w}, Clock: w.Clock, ServerClock: localvolume.NewServerClock(w.Clock), Metrics: metrics, Config: config, RecordNamespace: RecordNamespace, Namespaces: true, Holder: w.Holder,
	})
}

// Restart makes a new Site for the same cluster, as a new process would, and notifies it what exists.
func (w *World) Restart(configure func(*configv1alpha1.LocalVolumeConfiguration)) {
	w.T.Helper()
	w.restart(configure)
	w.Sync()
	nodes := &corev1.NodeList{}
	if err := w.Store.List(w.T.Context(), nodes); err != nil {
		w.T.Fatal(err)
	}
	for i := range nodes.Items {
		w.Site.Inventory.SetNode(&nodes.Items[i])
	}
	w.Site.Inventory.MarkSynced()
	w.Site.Beat(w.T.Context())
}

// Sleep lets time pass while the process runs.
func (w *World) Sleep(d time.Duration) {
	w.T.Helper()
	for d > 0 {
		step := min(d, localvolume.Lease*2/3)
		w.Clock.Step(step)
		w.Site.Beat(w.T.Context())
		d -= step
	}
}

// Sync copies volumes, claims and namespaces from the store to the cache of the Site. Nodes are copied individually.
func (w *World) Sync() {
	w.T.Helper()
	ctx := w.T.Context()
	volumes, claims, namespaces := &corev1.PersistentVolumeList{}, &corev1.PersistentVolumeClaimList{}, &corev1.NamespaceList{}
	for _, list := range []client.ObjectList{volumes, claims, namespaces} {
		if err := w.Store.List(ctx, list); err != nil {
			w.T.Fatal(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stale := range w.Site.Inventory.Stale() {
		if !slices.ContainsFunc(volumes.Items, func(v corev1.PersistentVolume) bool { return v.Name == stale.Volume.Name }) {
			w.Site.Inventory.RemoveVolume(stale.Volume.Name)
		}
	}
	for i := range volumes.Items {
		w.Site.Inventory.SetVolume(&volumes.Items[i])
	}
	w.cached = map[string]client.Object{}
	for i := range claims.Items {
		w.cached[key("claim", client.ObjectKeyFromObject(&claims.Items[i]))] = &claims.Items[i]
	}
	for i := range namespaces.Items {
		object := &metav1.PartialObjectMetadata{ObjectMeta: namespaces.Items[i].ObjectMeta}
		w.cached[key("namespace", client.ObjectKeyFromObject(object))] = object
	}
}

func key(kind string, k client.ObjectKey) string { return kind + " " + k.String() }

// AddNode makes a node, and the events report of it.
func (w *World) AddNode(name string) {
	w.T.Helper()
	w.Site.Inventory.SetNode(w.MakeNode(name))
}

// MakeNode makes a node of which no event has come yet.
func (w *World) MakeNode(name string) *corev1.Node {
	w.T.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	w.Add(node)
	return node
}

// LabelNode changes labels of a node, and the events report it; an empty value removes a label.
func (w *World) LabelNode(name string, labels map[string]string) {
	w.T.Helper()
	w.ChangeNode(name, func(node *corev1.Node) {
		for key, value := range labels {
			if node.Labels[key] = value; value == "" {
				delete(node.Labels, key)
			}
		}
	})
}

// ChangeNode edits a node, and the events report it.
func (w *World) ChangeNode(name string, edit func(*corev1.Node)) {
	w.T.Helper()
	w.Site.Inventory.SetNode(w.EditNode(name, edit))
}

// EditNode edits a node, its status, too, and no event has come yet.
func (w *World) EditNode(name string, edit func(*corev1.Node)) *corev1.Node {
	w.T.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Store.Change(node, func() { edit(node) })
	w.Store.ChangeStatus(node, func() { edit(node) })
	return node
}

// Taint gives a node the taint out-of-service, or takes it off.
func Taint(on bool) func(*corev1.Node) {
	return func(node *corev1.Node) {
		if node.Spec.Taints = nil; on {
			node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
		}
	}
}

// Ready sets the condition of a node, with the time of its change.
func Ready(status corev1.ConditionStatus, at time.Time) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(at)}}
	}
}

// LoseNode deletes a node, and the events report of it.
func (w *World) LoseNode(names ...string) {
	w.T.Helper()
	for _, name := range names {
		w.Store.Remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		w.Site.Inventory.RemoveNode(name)
	}
}

// Add puts an object into the store, with a uid.
func (w *World) Add(object client.Object) {
	w.T.Helper()
	w.Store.Add(object)
}

// Volume returns an Available volume on a node.
func Volume(name, node string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	volume.Spec.StorageClassName = "local"
	volume.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt/" + name}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	volume.Status.Phase = corev1.VolumeAvailable
	for _, f := range change {
		f(volume)
	}
	return volume
}

// Bind makes a volume on a node and a claim of the same name, bound to each other.
func (w *World) Bind(name, node string) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	w.T.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	claim.Spec.VolumeName = name
	if namespace := (&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); !w.Store.Find(namespace) {
		w.Add(namespace)
	}
	w.Add(claim)
	volume := Volume(name, node, func(v *corev1.PersistentVolume) {
		v.Status.Phase = corev1.VolumeBound
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: name, UID: claim.UID}
	})
	w.Add(volume)
	w.Sync()
	return volume, claim
}

// Change edits an object in the store; the cache is not updated.
func Change[T client.Object](w *World, object T, edit func(T)) {
	w.T.Helper()
	w.Store.Change(object, func() { edit(object) })
}

// SetPhase does what Kubernetes does to a volume.
func (w *World) SetPhase(name string, phase corev1.PersistentVolumePhase) {
	w.T.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Store.ChangeStatus(volume, func() { volume.Status.Phase = phase })
}

// Exists reports whether an object is in the store.
func (w *World) Exists(object client.Object) bool {
	w.T.Helper()
	return w.Store.Find(object.DeepCopyObject().(client.Object))
}

// Events returns the events since the last call, as "Type Reason kind/name: message".
func (w *World) Events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.events
	w.events = nil
	return events
}

// Requests returns the live requests since the last call.
func (w *World) Requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := w.requests
	w.requests = nil
	return requests
}
