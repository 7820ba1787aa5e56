// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// world is an API server without controllers: a hook stands for what they do after a deletion.
type world struct {
	*Uninstaller
	client.WithWatch
	// deleted is what each deleted object looked like. reject responds to a deletion, release removes finalizers, read changes what
	// is read.
	deleted []client.Object
	reject  func(client.Object) error
	read    func(client.Object)
	release bool
	shown   []string
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{}
	w.WithWatch = interceptor.NewClient(kubetest.New(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, object, options...)
			if err == nil && w.read != nil {
				w.read(object)
			}
			return err
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if w.reject != nil {
				if err := w.reject(object); err != nil {
					return err
				}
			}
			w.deleted = append(w.deleted, object.DeepCopyObject().(client.Object))
			if !slices.ContainsFunc(options, func(o client.DeleteOption) bool {
				p, ok := o.(client.Preconditions)
				return ok && p.UID != nil && *p.UID == object.GetUID()
			}) {
				return errors.New("a deletion without the uid")
			}
			if err := c.Delete(ctx, object, options...); err != nil || !w.release {
				return err
			}
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return client.IgnoreNotFound(err)
			}
			object.SetFinalizers(nil)
			return c.Update(ctx, object)
		},
	})
	w.Uninstaller = &Uninstaller{Options: defaults, Client: w.WithWatch, Why: func(context.Context, client.Object) string { return "a finalizer keeps it" }, poll: time.Second}
	w.Show = func(line string) { w.shown = append(w.shown, line) }
	w.release = true
	return w
}

func named(namespace, name string, change ...func(*metav1.ObjectMeta)) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}
	for _, f := range change {
		f(&m)
	}
	return m
}

func held(finalizer string) func(*metav1.ObjectMeta) {
	return func(m *metav1.ObjectMeta) { m.Finalizers = []string{finalizer} }
}

func TestKlustersAreDetachedOrDeorbited(t *testing.T) {
	synctest.Test(t, testKlustersAreDetachedOrDeorbited)
}

func testKlustersAreDetachedOrDeorbited(t *testing.T) {
	for how, detached := range map[string]bool{Detach: true, Deorbit: false} {
		w := newWorld(t, &kubernikusv1.Kluster{ObjectMeta: named("a", "web", held(kubernikusv1.DeorbiterFinalizer))})
		w.Klusters = how
		if line, err := w.deleteKlusters(t.Context()); err != nil || line != "1 Klusters have been deleted" {
			t.Fatalf("%s: %q, %v", how, line, err)
		}
		k := w.deleted[0].(*kubernikusv1.Kluster)
		if k.Detached() != detached || k.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" {
			t.Errorf("%s: it was deleted with the annotations %v", how, k.Annotations)
		}
	}
}

// The API server requires a confirmation of a backend that routes refer to.
func TestBackendsAreConfirmed(t *testing.T) {
	w := newWorld(t, &gimbalv1.DiscoveryBackend{ObjectMeta: named("gimbal-discovery", "us")})
	if line, err := w.deleteBackends(t.Context()); err != nil || line != "1 DiscoveryBackends have been deleted" {
		t.Fatalf("%q, %v", line, err)
	}
	if got := w.deleted[0].GetAnnotations()[gardenerv1beta1.AnnotationConfirmDeletion]; got != "true" {
		t.Errorf("confirmation = %q, want true", got)
	}
}

// Finalizers are taken by their controllers, and only what is abandoned loses them here.
func TestAbandonedKlusters(t *testing.T) { synctest.Test(t, testAbandonedKlusters) }

func testAbandonedKlusters(t *testing.T) {
	for _, abandon := range []bool{false, true} {
		w := newWorld(t, &kubernikusv1.Kluster{ObjectMeta: named("a", "web", held(kubernikusv1.DeorbiterFinalizer))})
		w.release = false
		if abandon {
			w.Abandon = []string{Klusters}
		}
		_, err := w.deleteKlusters(t.Context())
		if abandon && err != nil || !abandon && (err == nil || !strings.Contains(err.Error(), "(a/web: a finalizer keeps it)")) {
			t.Errorf("abandoned %v: %v", abandon, err)
		}
	}
}

// The finalizer of another owner remains, and is waited for.
func TestFinalizersOfOthersAreRetained(t *testing.T) { synctest.Test(t, testFinalizersOfOthersStay) }

func testFinalizersOfOthersStay(t *testing.T) {
	w := newWorld(t, &kubernikusv1.Kluster{ObjectMeta: named("a", "web", func(m *metav1.ObjectMeta) {
		m.Finalizers = []string{"example.com/backup", kubernikusv1.DeorbiterFinalizer}
	})})
	w.release, w.Abandon = false, []string{Klusters}
	if _, err := w.deleteKlusters(t.Context()); err == nil {
		t.Error("it has been deleted")
	}
	k := &kubernikusv1.Kluster{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "web"}, k); err != nil || !slices.Equal(k.Finalizers, []string{"example.com/backup"}) {
		t.Errorf("%v, %v", k.Finalizers, err)
	}
}

// A denied request ends the step immediately, when nothing else is in progress.
func TestRejectedDeletion(t *testing.T) { synctest.Test(t, testRejectedDeletion) }

func testRejectedDeletion(t *testing.T) {
	w := newWorld(t, &kubernikusv1.Kluster{ObjectMeta: named("a", "good")}, &kubernikusv1.Kluster{ObjectMeta: named("a", "web")})
	w.reject = func(object client.Object) error {
		if object.GetName() == "web" {
			return apierrors.NewForbidden(kubernikusv1.Resource("klusters"), "web", errors.New("another user must delete it"))
		}
		return nil
	}
	_, err := w.deleteKlusters(t.Context())
	if !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "another user must delete it") || len(w.deleted) != 1 {
		t.Errorf("%v, deleted %d", err, len(w.deleted))
	}
}

// TestBackendsComeBack checks that a backend counts as restored when its condition reports it for the current generation, and that
// one that announces a Kluster is left alone.
func TestBackendsComeBack(t *testing.T) { synctest.Test(t, testBackendsComeBack) }

func testBackendsComeBack(t *testing.T) {
	in := func(name, announces string) *gimbalv1.DiscoveryBackend {
		return &gimbalv1.DiscoveryBackend{ObjectMeta: named("a", name, func(m *metav1.ObjectMeta) { m.Labels = map[string]string{clusterid.LabelUID: announces} }),
			Cluster: gimbalv1.Cluster{ClusterStatus: gimbalv1.ClusterMaintenance}}
	}
	w := newWorld(t, in("us", ""), in("web", "uid"))
	if _, err := w.enableBackends(t.Context()); err == nil || !strings.Contains(err.Error(), "a/us (not reconciled yet)") || strings.Contains(err.Error(), "a/web") {
		t.Errorf("got %v", err)
	}
	b := &gimbalv1.DiscoveryBackend{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "us"}, b); err != nil || b.Cluster.ClusterStatus != gimbalv1.ClusterEnabled {
		t.Fatalf("%v, %v", b.Cluster, err)
	}
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: gimbalv1.ConditionDrained, Status: metav1.ConditionFalse, Reason: "Enabled"})
	if err := w.WithWatch.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.enableBackends(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "web"}, b); err != nil || b.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance {
		t.Errorf("what announces a Kluster is %v, %v", b.Cluster, err)
	}
}

func TestAnnouncedKlustersAreWithdrawn(t *testing.T) {
	synctest.Test(t, testAnnouncedKlustersAreWithdrawn)
}

func testAnnouncedKlustersAreWithdrawn(t *testing.T) {
	k := &kubernikusv1.Kluster{ObjectMeta: named("a", "web"), Spec: kubernikusv1.KlusterSpec{Discovery: &kubernikusv1.DiscoverySpec{Enabled: true}}}
	k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionAnnounced, Status: metav1.ConditionTrue, Reason: "Announced", Message: "by a/web"}}
	w := newWorld(t, k)
	if _, err := w.withdrawKlusters(t.Context()); err == nil || !strings.Contains(err.Error(), "a/web: Announced: by a/web") {
		t.Errorf("got %v", err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(k), k); err != nil || k.Spec.Discovery.Enabled {
		t.Fatalf("%+v, %v", k.Spec.Discovery, err)
	}
	k.Status.Conditions = nil
	if err := w.WithWatch.Status().Update(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if _, err := w.withdrawKlusters(t.Context()); err != nil {
		t.Error(err)
	}
}
