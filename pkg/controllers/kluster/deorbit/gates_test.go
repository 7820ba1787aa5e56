// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func requestFor(k *kubernikusv1.Kluster) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)}
}

func cloudRejection() error {
	return &openstack.Error{Op: "authenticate", Reason: openstack.ReasonCredentialsRefused, Status: 401}
}

// annotate sets an annotation of a Kluster to "true", "" takes all away.
func (f *flow) annotate(k *kubernikusv1.Kluster, name string) {
	f.t.Helper()
	f.store.Change(k, func() {
		k.Annotations = nil
		if name != "" {
			klustertest.Annotated(name)(k)
		}
	})
}

// TestPause checks that an annotation that is set during Deorbit pauses it, retains its records, and stops its timeouts.
func TestPause(t *testing.T) {
	for annotation, reason := range map[string]string{"groundskeeper.io/paused": reasonPaused, kubernikusv1.TerminationProtectionAnnotation: reasonProtected} {
		t.Run(reason, func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			f.remains(claims, thing("PersistentVolumeClaim", "a"))
			f.turn(k)
			f.annotate(k, annotation)
			f.calls = nil
			f.after(time.Minute, k)
			f.is(k, claims, "Unknown/"+reason)
			f.restart()
			if wait := f.after(72*time.Hour, k); wait != 0 || f.stages() != "" || len(k.Status.Deorbit.Remaining) != 1 {
				t.Errorf("the next check is in %s, looks %s, status %+v", wait, f.stages(), k.Status.Deorbit)
			}
			f.annotate(k, "")
			f.turn(k)
			f.is(k, claims, "False/Claims")
			if got := k.Status.Deorbit.StartedAt.Time; !got.Equal(epoch.Add(72*time.Hour)) || f.stages() != "Claims" {
				t.Errorf("it began at %s, looks %s", got, f.stages())
			}
			f.turn(k)
			if f.store.Find(k); !k.Status.Deorbit.StartedAt.Time.Equal(epoch.Add(72 * time.Hour)) {
				t.Error("a pause counts twice")
			}
		})
	}
}

// TestPauseCountsOnce checks that a pause is counted once, however long recording its end takes.
func TestPauseCountsOnce(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.remains(claims, thing("PersistentVolumeClaim", "a"))
	f.turn(k)
	f.annotate(k, "groundskeeper.io/paused")
	f.turn(k)
	f.clock.SetTime(epoch.Add(time.Hour))
	f.annotate(k, "")
	f.store.Read = func(_ string, object runtime.Object) error {
		if _, isSecret := object.(*corev1.Secret); isSecret {
			return errDown
		}
		return nil
	}
	for range 3 {
		if _, err := f.r.Reconcile(t.Context(), requestFor(k)); err == nil {
			t.Fatal("a Secret that cannot be read is no error")
		}
	}
	f.store.Read = nil
	f.turn(k)
	if f.is(k, claims, "False/Claims"); !k.Status.Deorbit.StartedAt.Time.Equal(epoch.Add(time.Hour)) {
		t.Errorf("it began at %s", k.Status.Deorbit.StartedAt)
	}
}

// TestPartialListing checks that nothing is concluded from an incomplete list of Klusters.
func TestPartialListing(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.store.Partial = true
	f.turn(k)
	if f.is(k, drain, "False/Failed"); f.stages() != "" {
		t.Errorf("stages = %s", f.stages())
	}
}

// TestPausedFirst checks that, before Deorbit starts, only the reason of the pause is written.
func TestPausedFirst(t *testing.T) {
	k := deleted("k", klustertest.Annotated("groundskeeper.io/paused"))
	f := newFlow(t, k, secretOf("k-secret"))
	f.turn(k)
	if f.store.Find(k); k.Status.Deorbit != nil || klustertest.Condition(k, kubernikusv1.ConditionDeorbited) != "Unknown/Paused" || f.stages() != "" {
		t.Errorf("got %+v", k.Status)
	}
	f.annotate(k, "")
	if f.after(time.Hour, k); f.store.Find(k) {
		t.Error("it is not released")
	}
}

// TestDetach checks that a detached Kluster is released without any change to its resources, whatever it waited for.
func TestDetach(t *testing.T) {
	for name, first := range map[string]func(f *flow, k *kubernikusv1.Kluster){
		"at first":      func(*flow, *kubernikusv1.Kluster) {},
		"in the middle": func(f *flow, k *kubernikusv1.Kluster) { f.turn(k) },
		"own cluster": func(f *flow, k *kubernikusv1.Kluster) {
			f.id = func(context.Context) (types.UID, error) { return ownUID, nil }
			f.turn(k)
			f.is(k, drain, "False/OwnCluster")
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k", func(k *kubernikusv1.Kluster) { k.Finalizers = []string{kubernikusv1.ImportedDeorbiterFinalizer} })
			f := newFlow(t, k, secretOf("k-secret"))
			f.remains(claims, thing("PersistentVolumeClaim", "a"))
			first(f, k)
			f.annotate(k, kubernikusv1.DetachAnnotation)
			f.calls = nil
			if f.turn(k); f.store.Find(k) || f.stages() != "" {
				t.Errorf("it is not released unchanged: %+v, looks %s", k.Finalizers, f.stages())
			}
			if text := f.reported(); !strings.Contains(text, "Normal Released") || testutil.ToFloat64(f.r.meters.finished.WithLabelValues("detached")) != 1 {
				t.Errorf("events: %s", text)
			}
		})
	}
}

// TestOwnCluster checks that nothing is done to the cluster that Groundskeeper runs in, neither inside nor in OpenStack, neither
// after a timeout nor by an annotation.
func TestOwnCluster(t *testing.T) {
	k := deleted("k")
	secret := secretOf("k-secret")
	f := newFlow(t, k, secret)
	f.id = func(context.Context) (types.UID, error) { return ownUID, nil }
	f.turn(k)
	f.is(k, drain, "False/OwnCluster")
	f.after(time.Minute, k)
	f.annotate(k, "")
	f.store.Change(k, func() { k.Annotations = map[string]string{kubernikusv1.SelfDestructAnnotation: "now"} })
	f.after(48*time.Hour, k)
	f.restart()
	f.id = func(context.Context) (types.UID, error) { return "", errDown }
	f.after(time.Minute, k)
	f.after(time.Hour, k)
	if f.is(k, drain, "False/OwnCluster"); f.stages() != "" {
		t.Fatalf("stages = %s", f.stages())
	}
	f.annotate(k, "")
	f.id = func(context.Context) (types.UID, error) { return otherUID, nil }
	f.store.Change(secret, func() { secret.Data["other"] = []byte("x") })
	f.store.Change(k, func() { k.Spec.Deorbit.Timeout = &metav1.Duration{Duration: 1000 * time.Hour}; k.Generation++ })
	if f.turn(k); f.store.Find(k) || f.stages() != allStages {
		t.Errorf("with the right Secret: looks %s", f.stages())
	}
}

// TestOwnClusterBehindRestart checks that the identity of a responding cluster is checked before OpenStack is changed, also after a
// restart.
func TestOwnClusterBehindRestart(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.remains(verify, thing("Volume", "v"))
	f.turn(k)
	f.is(k, verify, "False/Verify")
	f.restart()
	f.calls = nil
	f.id = func(context.Context) (types.UID, error) { return ownUID, nil }
	f.after(time.Minute, k)
	if f.is(k, verify, "False/OwnCluster"); f.stages() != "" {
		t.Errorf("stages = %s", f.stages())
	}
}

// TestRechecksBeforeDeletion checks that the live Kluster is checked before a check of the cluster, and before the finalizer is
// removed.
func TestRechecksBeforeDeletion(t *testing.T) {
	for name, how := range map[string]func(*kubernikusv1.Kluster){
		"paused":     klustertest.Annotated("groundskeeper.io/paused"),
		"protected":  klustertest.Annotated(kubernikusv1.TerminationProtectionAnnotation),
		"another":    func(k *kubernikusv1.Kluster) { k.UID = "another" },
		"alive":      func(k *kubernikusv1.Kluster) { k.DeletionTimestamp = nil },
		"no cloud":   func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true },
		"detached":   klustertest.Annotated(kubernikusv1.DetachAnnotation),
		"is no more": nil,
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			f.remains(drain, thing("DiscoveryBackend", "b"))
			f.turn(k)
			f.respond(nil)
			truth := []client.Object{secretOf("k-secret")}
			if how != nil {
				truth = append(truth, deleted("k", how))
			}
			f.r.live = klustertest.NewStore(t, truth...)
			f.after(time.Minute, k)
			s := f.r.memory.states[client.ObjectKeyFromObject(k)]
			if f.stages() != "" || s == nil {
				t.Fatalf("stages = %s", f.stages())
			}
			if s.id == "" {
				t.Error("the identity of the cluster that an earlier check read is forgotten")
			}
			if name == "no cloud" {
				return // that keeps no Kluster
			}
			s.ends = endsClean
			if err := f.r.release(t.Context(), k, s); err != nil {
				t.Fatal(err)
			}
			if f.store.Find(k); !k.HasDeorbiter() {
				t.Error("it is released")
			}
		})
	}
}

// TestStaleCache checks that an outdated cache does not start Deorbit for a Kluster that has been released.
func TestStaleCache(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.r.live = klustertest.NewStore(t, secretOf("k-secret"), deleted("k", func(k *kubernikusv1.Kluster) { k.Finalizers = []string{"somebody/else"} }))
	if f.turn(k); f.stages() != "" || f.store.Count() != 0 || len(f.r.memory.states) != 0 {
		t.Errorf("looks %s, %d writes", f.stages(), f.store.Count())
	}
	// One that was detached on its way is not reported to be clean.
	detached := deleted("d", klustertest.Annotated(kubernikusv1.DetachAnnotation), func(k *kubernikusv1.Kluster) {
		k.Finalizers, k.Status.Deorbit = []string{"somebody/else"}, &kubernikusv1.DeorbitStatus{Stage: claims}
	})
	f = newFlow(t, detached)
	if f.turn(detached); f.store.Count() != 0 {
		t.Errorf("%d writes", f.store.Count())
	}
}

// TestStuckKlusters checks that ten Klusters whose clusters and clouds do not respond do not block others.
func TestStuckKlusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlow(t)
		f.respond(func(ctx context.Context, c call) (stage.Report, error) {
			if strings.HasPrefix(c.kluster, "stuck") && c.stage != drain {
				<-ctx.Done()
				return stage.Report{}, ctx.Err()
			}
			return stage.Report{}, nil
		})
		create := func(name string, changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
			k := deleted(name, changes...)
			for _, object := range []client.Object{k, secretOf(name + "-secret")} {
				if err := f.store.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			f.store.Remove(k)
			return k
		}
		living := func(k *kubernikusv1.Kluster) { k.DeletionTimestamp = nil }
		for _, name := range strings.Fields("stuck-0 stuck-1 stuck-2 stuck-3 stuck-4 stuck-5 stuck-6 stuck-7 stuck-8 stuck-9") {
			k := create(name, living)
			for range 3 { // a worker comes back immediately
				f.reconcile(k)
				synctest.Wait()
			}
			f.is(k, freeze, "False/Freeze")
		}
		good := create("good", living)
		start := time.Now()
		for range 30 {
			f.reconcile(good)
			synctest.Wait()
		}
		if f.store.Find(good) || time.Since(start) != 0 {
			t.Errorf("it waits for the others: %+v, %s", good.Status.Deorbit, time.Since(start))
		}
	})
}

// TestFence checks that a process that lost the Lease changes nothing in a workload cluster, and reports no failure for it.
func TestFence(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.respond(func(_ context.Context, c call) (stage.Report, error) {
		if c.stage == pods {
			f.lost = errDown
			return stage.Report{}, errDown
		}
		return stage.Report{}, nil
	})
	for f.lost == nil {
		f.reconcile(k)
		request, _ := f.queue.Get()
		f.queue.Done(request)
	}
	if _, err := f.r.Reconcile(t.Context(), requestFor(k)); err == nil {
		t.Error("a former leader writes")
	}
	if s := f.r.memory.states[client.ObjectKeyFromObject(k)]; s.progress.UnreachableSince != nil {
		t.Error("the cluster is blamed")
	}
	transport, err := rest.TransportFor(f.config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.config.Host, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, errDown) {
		t.Errorf("error = %v, want that of the fence: a former leader changes the cluster", err)
	}
}

// TestWakes checks the triggers of the controller: changes by users, but not the controller's own writes, and the Secret of a
// Kluster that is being deleted.
func TestWakes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kubernikusv1.Kluster)
		want   bool
	}{
		"status":      {func(k *kubernikusv1.Kluster) { k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: claims} }, false},
		"a resync":    {func(k *kubernikusv1.Kluster) { k.ResourceVersion = "1" }, true},
		"spec":        {func(k *kubernikusv1.Kluster) { k.Generation++ }, true},
		"annotations": {klustertest.Annotated(kubernikusv1.DetachAnnotation), true},
		"deleted":     {klustertest.Going, true},
		"finalizers":  {func(k *kubernikusv1.Kluster) { k.Finalizers = nil }, true},
		"API server":  {func(k *kubernikusv1.Kluster) { k.Status.Apiserver = "https://a.example" }, true},
	} {
		before, after := klustertest.Kluster("k"), klustertest.Kluster("k")
		before.ResourceVersion, after.ResourceVersion = "1", "2"
		if c.change(after); kluster.Changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) != c.want {
			t.Errorf("%s: not %t", name, c.want)
		}
	}
	f := newFlow(t, deleted("k"), klustertest.Kluster("lives", func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = "k-secret" }), deleted("other"))
	if got := kluster.UsersOf(f.store, isGoing)(t.Context(), secretOf("k-secret")); len(got) != 1 || got[0].Name != "k" {
		t.Errorf("got %v", got)
	}
	// One that lives is no business owned by Groundskeeper.
	alive := klustertest.Kluster("lives")
	if result := f.reconcile(alive); result.RequeueAfter != 0 || len(f.r.memory.states) != 0 {
		t.Errorf("got %+v", result)
	}
}
