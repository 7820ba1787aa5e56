// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// bench is a cluster with one of the controllers on it.
type bench struct {
	*localvolumetest.World
	r reconcile.TypedReconciler[localvolume.Pass]
}

func newBench(t *testing.T, configure func(*configv1alpha1.LocalVolumeConfiguration), nodes ...string) *bench {
	t.Helper()
	w := localvolumetest.New(t, configure, nodes...)
	return &bench{World: w, r: newReconciler(w.Site)}
}

// after lets time pass, updates the cache from the store, and reconciles once.
func (b *bench) after(d time.Duration) (time.Duration, error) {
	b.T.Helper()
	b.Sleep(d)
	b.Sync()
	result, err := b.r.Reconcile(b.T.Context(), localvolume.Pass{})
	return result.RequeueAfter, err
}

// pass does the same and must succeed.
func (b *bench) pass(d time.Duration) time.Duration {
	b.T.Helper()
	next, err := b.after(d)
	if err != nil {
		b.T.Fatal(err)
	}
	return next
}

func (b *bench) kept(what string, objects ...client.Object) {
	b.T.Helper()
	for _, object := range objects {
		if !b.Exists(object) {
			b.T.Fatalf("%s: %s was deleted", what, object.GetName())
		}
	}
}

func (b *bench) expectDeleted(what string, objects ...client.Object) {
	b.T.Helper()
	for _, object := range objects {
		if b.Exists(object) {
			b.T.Fatalf("%s: %s is still there", what, object.GetName())
		}
	}
}

// has reports whether one of the lines begins and continues as wanted.
func has(lines []string, begin, contains string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, begin) && strings.Contains(line, contains) })
}

func TestLostNode(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	volume, claim := b.Bind("c", "a")
	_, other := b.Bind("d", "b")
	if next := b.pass(time.Second); next != 0 {
		t.Errorf("with nothing lost the next reconciliation is after %s", next)
	}
	if diff := cmp.Diff([]string{"get configmap", "get configmap", "create configmap"}, b.Requests()); diff != "" { // which nodes were seen
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	b.LoseNode("a")
	if next := b.pass(time.Second); next != 5*time.Second { // the absence is confirmed
		t.Errorf("the next reconciliation is after %s", next)
	}
	b.kept("before the delay", claim)
	events := b.Events()
	if len(events) != 1 || !has(events, "Warning ReferencedNodeDeleted c: Node a does not exist", "deleted at 2030-01-02T12:01:01Z") {
		t.Errorf("events %q", events)
	}
	if next := b.pass(55 * time.Second); next != 4*time.Second {
		t.Errorf("the next reconciliation is after %s", next)
	}
	b.kept("before the delay", claim)
	b.pass(4 * time.Second)
	b.expectDeleted("after the delay", claim)
	b.kept("the volume is for the Deleter, and another node lives", volume, other)
	if events := b.Events(); len(events) != 1 || !has(events, "Normal LocalVolumeCleanupDeleting c: Deleting the claim of volume c, because node a does not exist.", "") {
		t.Errorf("events %q", events)
	}
	if got := testutil.ToFloat64(b.Site.Metrics.ClaimsDeleted); got != 1 {
		t.Errorf("%v deletions are counted", got)
	}
	b.Requests()
	b.pass(time.Minute)
	if requests := b.Requests(); !slices.Equal(requests, []string{"patch configmap"}) || len(b.Events()) > 0 { // the plan is empty
		t.Errorf("afterwards there are requests %q", requests)
	}
	b.pass(time.Minute)
	if requests := b.Requests(); len(requests) > 0 || len(b.Events()) > 0 {
		t.Errorf("when nothing changes there are requests %q", requests)
	}
}

// TestClaimsThatStay checks the claims that are retained, however long the node has been deleted.
func TestClaimsThatStay(t *testing.T) {
	for name, change := range map[string]func(*bench, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim){
		"it has another volume": func(b *bench, _ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, c, func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "other" })
		},
		"its uid is another": func(b *bench, v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, v, func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "other" })
		},
		"another class": func(b *bench, v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, v, func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "other" })
		},
		"a CSI source": func(b *bench, v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, v, func(v *corev1.PersistentVolume) {
				v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{}}
			})
		},
		"no claimRef": func(b *bench, v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, v, func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })
		},
		"the claim is opted out": func(b *bench, _ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, c, optOut)
		},
		"the volume is opted out": func(b *bench, v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, v, optOut)
		},
		"the namespace is opted out": func(b *bench, _ *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, optOut)
		},
		"the namespace is not known": func(b *bench, _ *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			if err := b.Store.Delete(b.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
				b.T.Fatal(err)
			}
		},
		"the volume names a zone": func(b *bench, v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
			localvolumetest.Change(b.World, v, func(v *corev1.PersistentVolume) {
				v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = "zone"
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, "a", "b", "c")
			volume, claim := b.Bind("c", "a")
			change(b, volume, claim)
			b.Sync()
			b.LoseNode("a")
			for range 3 {
				b.pass(time.Hour)
			}
			b.kept("three hours later", claim)
			if has(b.Requests(), "delete", "") {
				t.Error("a deletion was tried")
			}
		})
	}
}

func optOut[T client.Object](object T) {
	object.SetAnnotations(map[string]string{localvolume.OptOutAnnotation: localvolume.OptOutValue})
}

// TestOptOutEnds checks that a claim that is opted out is reported once, and deleted when it no longer is.
func TestOptOutEnds(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	localvolumetest.Change(b.World, claim, optOut)
	b.Sync()
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(time.Second)
	events := b.Events()
	if len(events) != 1 || !has(events, "Normal LocalVolumeCleanupSkipped c: Node a does not exist, but the claim is retained: the annotation", "") {
		t.Errorf("events %q", events)
	}
	localvolumetest.Change(b.World, claim, func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil })
	b.pass(localvolumetest.Delay)
	b.expectDeleted("without the annotation", claim)
}

func TestNodeReturns(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(50 * time.Second)
	b.Events()
	b.AddNode("a") // with another uid
	b.pass(time.Hour)
	b.kept("its node is back", claim)
	if events := b.Events(); len(events) != 1 || !has(events, "Normal LocalVolumeCleanupCancelled c: Node a is back", "") {
		t.Errorf("events %q", events)
	}
	b.LoseNode("a")
	b.pass(59 * time.Second)
	b.kept("a second loss starts a full delay", claim)
	b.pass(time.Second)
	b.expectDeleted("after the full delay", claim)
}

// TestNodeFlaps checks that a node that existed briefly between two reconciliations counts as returned.
func TestNodeFlaps(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(50 * time.Second)
	b.Events()
	b.AddNode("a")
	b.LoseNode("a")
	b.pass(59 * time.Second)
	b.kept("the delay started over", claim)
	if events := b.Events(); len(events) != 2 || !has(events, "Normal LocalVolumeCleanupCancelled", "was back temporarily") || !has(events, "Warning ReferencedNodeDeleted", "12:01:50Z") {
		t.Errorf("events %q", events)
	}
	b.pass(time.Second)
	b.expectDeleted("after the full delay", claim)
}

// TestLiveRead checks that nodes are read live before a deletion, so that one whose event has not arrived counts.
func TestLiveRead(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.MakeNode("a")
	b.pass(localvolumetest.Delay)
	b.kept("the API server has the node", claim)
	if err := b.Store.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	b.pass(59 * time.Second)
	b.kept("it was seen, so the delay starts over", claim)
	b.pass(time.Second)
	b.expectDeleted("after the full delay", claim)
}

func TestLiveReadFails(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.Intercept = func(request string) error {
		if request == "list nodes" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no"))
		}
		return nil
	}
	if _, err := b.after(time.Hour); err == nil || !strings.Contains(err.Error(), "list the nodes before a deletion") {
		t.Errorf("error %v", err)
	}
	b.kept("the nodes cannot be read", claim)
	b.Intercept = nil
	b.pass(time.Second)
	b.expectDeleted("they can again", claim)
}

func TestLiveReadIsPartial(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.Truncate = true
	if _, err := b.after(time.Hour); err == nil || !strings.Contains(err.Error(), "the API server returned only a part of the NodeList (1)") {
		t.Errorf("error %v", err)
	}
	b.kept("the node may be in the rest of the list", claim)
	b.Truncate = false
	b.pass(time.Second)
	b.expectDeleted("the list is whole", claim)
}

func TestNotSynced(t *testing.T) {
	b := newBench(t, nil, "a")
	_, claim := b.Bind("c", "gone")
	b.Site.Inventory = localvolume.NewInventory(b.Site.Config, b.Clock)
	for range 2 {
		if _, err := b.after(time.Hour); err == nil {
			t.Fatal("a reconciliation without synced caches")
		}
	}
	b.kept("nothing is known yet", claim)
}

// TestReturnsDuringBatch checks that a node that returns during a batch saves the rest of it.
func TestReturnsDuringBatch(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.WorkerThreads = new(int32(1)) }, "a", "b")
	var claims []client.Object
	for _, name := range []string{"c0", "c1", "c2"} {
		_, claim := b.Bind(name, "a")
		claims = append(claims, claim)
	}
	b.LoseNode("a")
	b.pass(time.Second)
	b.Deleting = func(name string) {
		if name == "c0" {
			b.Site.Inventory.SetNode(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		}
	}
	b.pass(localvolumetest.Delay)
	b.expectDeleted("before the node was back", claims[0])
	b.kept("after the node was back", claims[1:]...)
}

// TestPreconditions checks that exactly the claim of the decision is deleted.
func TestPreconditions(t *testing.T) {
	for name, replace := range map[string]func(*bench, *corev1.PersistentVolumeClaim){
		"another uid": func(b *bench, c *corev1.PersistentVolumeClaim) {
			if err := b.Store.Delete(b.T.Context(), c); err != nil {
				b.T.Fatal(err)
			}
			again := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
			b.Add(again)
		},
		"opted out meanwhile": func(b *bench, c *corev1.PersistentVolumeClaim) { localvolumetest.Change(b.World, c, optOut) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, "a", "b")
			_, claim := b.Bind("c", "a")
			b.LoseNode("a")
			b.pass(time.Second)
			replace(b, claim.DeepCopy())
			b.Sleep(localvolumetest.Delay) // and the cache is late
			if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
				t.Fatal(err)
			}
			if !has(b.Requests(), "delete claim c", "") {
				t.Fatal("no deletion was tried, so this tests nothing")
			}
			b.kept("it is another one", claim)
			if deleted, failed := testutil.ToFloat64(b.Site.Metrics.ClaimsDeleted), testutil.ToFloat64(b.Site.Metrics.ClaimsFailed); deleted != 0 || failed != 0 {
				t.Errorf("%v deletions and %v failures are counted", deleted, failed)
			}
			b.pass(time.Hour)
			b.kept("an hour later", claim)
		})
	}
}

func TestDeletionFails(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.Intercept = func(request string) error {
		if request == "delete claim c" {
			return errors.New("a webhook denies it")
		}
		return nil
	}
	b.Events()
	for range 2 {
		b.pass(localvolumetest.Delay)
	}
	if failed := testutil.ToFloat64(b.Site.Metrics.ClaimsFailed); failed != 2 {
		t.Errorf("%v failures are counted", failed)
	}
	if events := b.Events(); len(events) != 1 {
		t.Errorf("each try has an event: %q", events)
	}
	b.Intercept = nil
	b.pass(10 * time.Second)
	b.expectDeleted("later", claim)
}

// TestFinalizer checks that a claim with a finalizer is deleted, reported and counted once.
func TestFinalizer(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	localvolumetest.Change(b.World, claim, func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"example.com/foreign"} })
	b.Sync()
	b.LoseNode("a")
	b.pass(time.Second)
	b.Events()
	b.Requests()
	b.Sleep(localvolumetest.Delay)
	for range 2 { // the cache does not see the deletion yet
		if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
			t.Fatal(err)
		}
		b.Clock.Step(time.Second)
	}
	b.pass(time.Minute)
	b.pass(time.Minute)
	requests := slices.DeleteFunc(b.Requests(), func(request string) bool { return request == "patch configmap" })
	if diff := cmp.Diff([]string{"list nodes", "find nodes", "find nodes", "delete claim c"}, requests); diff != "" || len(b.Events()) != 1 {
		t.Errorf("one event, and requests (-want +got):\n%s", diff)
	}
	if deleted := testutil.ToFloat64(b.Site.Metrics.ClaimsDeleted); deleted != 1 {
		t.Errorf("%v deletions are counted", deleted)
	}
}

// TestLateBound checks that a claim that is bound long after its node was deleted is deleted immediately.
func TestLateBound(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	b.Add(localvolumetest.Volume("w", "a"))
	b.Sync()
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(time.Hour)
	_, claim := b.Bind("c", "a")
	b.pass(time.Second)
	b.expectDeleted("its node had been deleted already", claim)
	if events := b.Events(); len(events) != 2 || !has(events[:1], "Warning ReferencedNodeDeleted", "") {
		t.Errorf("the event has to come first: %q", events)
	}
}

func TestRestart(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	for range 8 {
		b.pass(5 * time.Second)
	}
	b.Restart(nil)
	b.r = newReconciler(b.Site)
	b.pass(18 * time.Second)
	b.kept("the time is neither lost", claim)
	b.pass(2 * time.Second) // what was recorded is rounded down
	b.expectDeleted("nor restarted", claim)
}

// readRecord returns the keys of missing nodes in the record, and those of nodes that were seen.
func (b *bench) readRecord() (missing, seen map[string]string) {
	b.T.Helper()
	record := &corev1.ConfigMap{}
	if err := b.Store.Get(b.T.Context(), client.ObjectKey{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}, record); err != nil {
		b.T.Fatal(err)
	}
	missing, seen = map[string]string{}, map[string]string{}
	for key, value := range record.Data {
		if name, ok := strings.CutPrefix(key, localvolume.SeenPrefix); ok {
			seen[name] = value
		} else if !strings.HasPrefix(key, "_") {
			missing[key] = value
		}
	}
	return missing, seen
}

// TestRecord checks that the record has a key for each missing and each observed node, and is written only when that changes and to
// confirm it.
func TestRecord(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c")
	b.Bind("ca", "a")
	b.Bind("cb", "b")
	b.pass(time.Second)
	b.LoseNode("a", "b")
	b.Requests()
	expect := func(d time.Duration, want ...string) {
		t.Helper()
		b.pass(d)
		if diff := cmp.Diff(want, b.Requests()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
	expect(time.Second, "patch configmap")
	expect(time.Second)
	missing, seen := b.readRecord()
	if diff := cmp.Diff(map[string]string{"a": "2030-01-02T12:00:01Z", "b": "2030-01-02T12:00:01Z"}, missing); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "a", "b": "b"}, seen); diff != "" {
		t.Error(diff)
	}
	b.AddNode("a")
	expect(time.Second, "patch configmap")
	if missing, _ = b.readRecord(); !cmp.Equal(missing, map[string]string{"b": "2030-01-02T12:00:01Z"}) {
		t.Errorf("missing = %v", missing)
	}
	expect(5*time.Second, "patch configmap") // confirmed
	expect(time.Second)
}

// TestRecordRemoved checks that a deleted record is recreated completely.
func TestRecordRemoved(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c", "d", "e")
	b.Bind("ca", "a")
	b.Bind("cb", "b")
	b.LoseNode("a")
	b.pass(time.Second)
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}}
	if err := b.Store.Delete(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	b.LoseNode("b")
	b.pass(time.Second)
	missing, _ := b.readRecord()
	if diff := cmp.Diff(map[string]string{"a": "2030-01-02T12:00:00Z", "b": "2030-01-02T12:00:01Z"}, missing); diff != "" {
		t.Error(diff)
	}
}

// TestRecordChanged checks that a key that another process wrote is removed, because it would be confirmed with the others.
func TestRecordChanged(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c", "d", "e")
	b.Bind("ca", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}}
	localvolumetest.Change(b.World, record, func(c *corev1.ConfigMap) { c.Data["b"] = "2030-01-01T00:00:00Z" })
	b.pass(5 * time.Second)
	if missing, _ := b.readRecord(); len(missing) != 1 || missing["a"] == "" {
		t.Errorf("missing = %v, want a alone", missing)
	}
}

func TestRecordUnreadable(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.Intercept = func(request string) error {
		if strings.Contains(request, "configmap") {
			return errors.New("timeout")
		}
		return nil
	}
	if _, err := b.after(time.Hour); err == nil {
		t.Error("it continues without the record")
	}
	b.kept("the record is not read", claim)
	b.Intercept = nil
	b.pass(time.Second)
	b.expectDeleted("it is read", claim)
}

// TestRecordForbidden checks that, without permissions for ConfigMaps, the record is kept in memory.
func TestRecordForbidden(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.Intercept = func(request string) error {
		if strings.Contains(request, "configmap") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
		}
		return nil
	}
	b.pass(time.Second)
	b.pass(58 * time.Second)
	b.kept("before the delay", claim)
	b.pass(time.Second)
	b.expectDeleted("after the delay", claim)
	count := 0
	for _, request := range b.Requests() {
		if strings.Contains(request, "configmap") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d requests for the record", count)
	}
}

func TestBrake(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c", "d", "unused")
	var claims []client.Object
	for _, node := range []string{"a", "b", "c", "d"} {
		_, claim := b.Bind("c"+node, node)
		claims = append(claims, claim)
	}
	b.LoseNode("a", "b", "c")
	b.pass(time.Second)
	b.pass(time.Hour)
	b.kept("three of four nodes have been deleted", claims...)
	if got := testutil.ToFloat64(b.Site.Metrics.Brake.WithLabelValues("")); got != 1 {
		t.Errorf("the gauge is %v", got)
	}
	events := b.Events()
	if !has(events, "Warning TooManyNodesMissing groundskeeper-missing-nodes: Nothing is deleted: 3 of 4 nodes", `"3"`) {
		t.Errorf("events %q", events)
	}
	if has(b.Requests(), "delete", "") {
		t.Error("a deletion was tried")
	}
	b.AddNode("a")
	b.pass(time.Second)
	b.expectDeleted("two of four are no reason", claims[1:3]...)
	b.kept("this one is back", claims[0], claims[3])
	if events := b.Events(); !has(events, "Normal MissingNodesAccepted", "") || testutil.ToFloat64(b.Site.Metrics.Brake.WithLabelValues("")) != 0 {
		t.Errorf("events %q", events)
	}
}

func TestBrakeAcknowledged(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c", "d", "e")
	var claims []client.Object
	for _, node := range []string{"a", "b", "c", "d"} {
		_, claim := b.Bind("c"+node, node)
		claims = append(claims, claim)
	}
	b.LoseNode("a", "b", "c")
	acknowledge := func(n string) {
		record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}}
		localvolumetest.Change(b.World, record, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{localvolume.AcknowledgeAnnotation: n} })
	}
	b.pass(time.Second)
	for _, n := range []string{"2", "-5", "all", "99999999999999999999"} {
		acknowledge(n)
		b.pass(time.Hour)
		b.kept("acknowledged "+n, claims...)
	}
	acknowledge("3")
	b.LoseNode("d")
	b.pass(time.Hour)
	b.kept("four have been deleted, three are acknowledged", claims...)
	b.AddNode("d")
	b.pass(time.Second)
	b.expectDeleted("acknowledged", claims[:3]...)
	b.kept("the living one", claims[3])
}

// TestBrakeLive checks that the brake checks the API server, not only events.
func TestBrakeLive(t *testing.T) {
	for name, lost := range map[string][]string{"most": {"b", "c"}, "every node": {"b", "c", "d", "unused"}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, "a", "b", "c", "d", "unused")
			_, claim := b.Bind("ca", "a")
			for _, node := range []string{"b", "c", "d"} {
				b.Bind("c"+node, node)
			}
			b.LoseNode("a")
			b.pass(time.Second)
			for _, node := range lost { // no event has come
				if err := b.Store.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}); err != nil {
					t.Fatal(err)
				}
			}
			b.pass(time.Hour)
			b.kept("the list has too few nodes", claim)
		})
	}
}

func TestBrakeOff(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.MaxMissingNodeFraction = new(1.0) }, "a", "b", "c")
	var claims []client.Object
	for _, node := range []string{"a", "b", "c"} {
		_, claim := b.Bind("c"+node, node)
		claims = append(claims, claim)
	}
	b.LoseNode("a", "b", "c")
	b.pass(time.Second)
	b.pass(time.Hour)
	b.expectDeleted("the brake is off", claims...)
}

// TestBrakeDoesNotCountRetained checks that nodes with retained claims only do not engage the brake.
func TestBrakeDoesNotCountRetained(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c", "d", "e")
	_, claim := b.Bind("ca", "a")
	for _, node := range []string{"b", "c", "d"} {
		b.Add(localvolumetest.Volume("v"+node, node, func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.PersistentVolumeReclaimPolicy = corev1.VolumeReleased, corev1.PersistentVolumeReclaimRetain
		}))
	}
	b.Sync()
	b.LoseNode("a", "b", "c", "d")
	b.pass(time.Second)
	b.pass(time.Hour)
	b.expectDeleted("three of the four missing nodes have nothing to do", claim)
}

func TestDryRun(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.DryRun = new(true) }, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(time.Hour)
	b.pass(time.Hour)
	b.kept("a dry run", claim)
	events := b.Events()
	if len(events) != 2 || !has(events, "Warning ReferencedNodeDeleted", "would, without the dry run,") || !has(events, "Normal LocalVolumeCleanupSkipped", "Dry run: this claim would be deleted") {
		t.Errorf("events %q", events)
	}
	if has(b.Requests(), "delete", "") || testutil.ToFloat64(b.Site.Metrics.ClaimsDeleted) != 0 {
		t.Error("a deletion was tried or counted")
	}
}

func TestNotNodeBound(t *testing.T) {
	b := newBench(t, nil, "a")
	b.Add(localvolumetest.Volume("v", "a", func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = nil }))
	b.pass(time.Second)
	b.pass(time.Second)
	if events := b.Events(); len(events) != 1 || !has(events, "Warning LocalVolumeNotNodeBound v:", "") {
		t.Errorf("events %q", events)
	}
	if got := testutil.ToFloat64(b.Site.Metrics.NotNodeBound.WithLabelValues("")); got != 1 {
		t.Errorf("the gauge is %v", got)
	}
}

// TestPace checks that reconciliations have a minimum interval and a batch has a limit, after which the nodes are read again.
func TestPace(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.PVCDeletionDelay = &metav1.Duration{} }, "a", "b")
	for i := range localvolume.MaxBatch + 1 {
		name := fmt.Sprintf("c%d", i)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		claim.Spec.VolumeName = name
		b.Add(claim)
		b.Add(localvolumetest.Volume(name, "a", func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.ClaimRef = corev1.VolumeBound, &corev1.ObjectReference{Namespace: "default", Name: name, UID: claim.UID}
		}))
	}
	b.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	b.pass(time.Second)
	b.LoseNode("a")
	counts := func() (looks, deletions int) {
		for _, request := range b.Requests() {
			if request == "list nodes" {
				looks++
			} else if strings.HasPrefix(request, "delete") {
				deletions++
			}
		}
		return
	}
	b.pass(time.Second)
	if looks, deletions := counts(); looks != 1 || deletions != localvolume.MaxBatch {
		t.Errorf("%d looks, %d deletions", looks, deletions)
	}
	if next := b.pass(localvolume.PassInterval / 2); next != localvolume.PassInterval/2 || len(b.Requests()) > 0 {
		t.Errorf("a reconciliation came too soon, the next one after %s", next)
	}
	b.pass(localvolume.PassInterval)
	if looks, deletions := counts(); looks != 1 || deletions != 1 {
		t.Errorf("%d looks, %d deletions", looks, deletions)
	}
}
