// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const allStages = "Drain Freeze Pods Snapshots Claims Services Wait Verify Routes Verify Routes Drain"

func TestCleanDeorbit(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.turn(k)
	if got := f.stages(); got != allStages {
		t.Errorf("the stages are %s", got)
	}
	if f.store.Find(k) {
		t.Fatalf("it is not released: %+v", k.Status)
	}
	if text := f.reported(); !strings.Contains(text, "Normal DeorbitStarted") || !strings.Contains(text, "Normal Deorbited") || strings.Contains(text, "Warning") {
		t.Errorf("events: %s", text)
	}
	if got := testutil.ToFloat64(f.r.meters.finished.WithLabelValues("clean")); got != 1 {
		t.Errorf("%v ended clean", got)
	}
	if len(f.r.memory.states) != 0 || testutil.CollectAndCount(f.r.meters.duration) != 1 || f.closed != 1 {
		t.Errorf("left %v, closed %d connections", f.r.memory.states, f.closed)
	}
	for _, which := range kubernikusv1.DeorbitStages() {
		if got := testutil.ToFloat64(f.r.meters.klusters.WithLabelValues(string(which))); got != 0 {
			t.Errorf("%v are in %s", got, which)
		}
	}
}

// remains makes a stage report these, and nothing of others.
func (f *flow) remains(which kubernikusv1.DeorbitStage, left ...kubernikusv1.DeorbitObject) {
	f.respond(func(_ context.Context, c call) (stage.Report, error) {
		if c.stage == which {
			return stage.Report{Remaining: left}, nil
		}
		return stage.Report{}, nil
	})
}

// TestSilentCloud checks that a cloud that does not respond is the reason before the check ends, for all Klusters whose checks wait for it,
// and not any longer than that.
func TestSilentCloud(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	checked, release := make(chan struct{}, 1), make(chan struct{})
	f.respond(func(_ context.Context, c call) (stage.Report, error) {
		if c.stage == verify {
			checked <- struct{}{}
			<-release
			return stage.Report{Remaining: []kubernikusv1.DeorbitObject{thing("Volume", "v")}}, nil
		}
		return stage.Report{}, nil
	})
	var wait time.Duration
	for !f.r.clouds.Running(client.ObjectKeyFromObject(k)) {
		wait = f.reconcile(k).RequeueAfter
		if f.r.clusters.Running(client.ObjectKeyFromObject(k)) {
			request, _ := f.queue.Get()
			f.queue.Done(request)
		}
	}
	<-checked
	if wait != 2*time.Minute {
		t.Errorf("it is reconciled again in %s, want 2m0s", wait)
	}
	f.is(k, verify, "False/Verify")
	f.clock.SetTime(f.clock.Now().Add(2 * time.Minute))
	if wait := f.reconcile(k).RequeueAfter; wait != 0 {
		t.Errorf("it is reconciled again in %s, want when the check is over", wait)
	}
	f.is(k, verify, "False/Unreachable")
	if text := f.reported(); !strings.Contains(text, "Warning Unreachable Verify: OpenStack does not respond: no check of this cloud has ended since") {
		t.Errorf("events: %s", text)
	}
	close(release)
	f.turn(k)
	f.is(k, verify, "False/Verify")
}

// TestWaiting checks that a stage is checked at each poll interval while something remains, and that a check without news causes no
// write.
func TestWaiting(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.remains(claims, thing("PersistentVolumeClaim", "a"), thing("PersistentVolumeClaim", "b"))
	if wait := f.turn(k); wait < 15*time.Second || wait > 17*time.Second {
		t.Errorf("the next check is in %s", wait)
	}
	f.is(k, claims, "False/Claims")
	if len(k.Status.Deorbit.Remaining) != 2 || testutil.ToFloat64(f.r.meters.klusters.WithLabelValues("Claims")) != 1 {
		t.Errorf("got %+v", k.Status.Deorbit)
	}
	f.store.ResetLog()
	f.calls = nil
	if f.turn(k); f.stages() != "" {
		t.Errorf("it is checked before its time: %s", f.stages())
	}
	f.after(20*time.Second, k)
	if f.stages() != "Claims" || f.store.Count() != 0 {
		t.Errorf("%d writes, looks %s", f.store.Count(), f.stages())
	}
	f.remains(claims, thing("PersistentVolumeClaim", "b"))
	if f.after(20*time.Second, k); f.store.Count() != 1 {
		t.Errorf("%d writes", f.store.Count())
	}
	if f.is(k, claims, "False/Claims"); !k.Status.Deorbit.LastProgressAt.Time.Equal(f.clock.Now()) {
		t.Errorf("the progress was at %s", k.Status.Deorbit.LastProgressAt)
	}
	// Without progress it is left, which a user should check.
	f.reported()
	f.after(time.Hour, k)
	if text := f.reported(); !strings.Contains(text, "Warning StageLeft Claims: no progress for 1h0m0s, continuing without it: 1 remains: PersistentVolumeClaim shop/b") {
		t.Errorf("events: %s", text)
	}
	if f.store.Find(k) {
		t.Errorf("it is not released: %+v", k.Status.Deorbit)
	}
}

// TestRestart checks that a process that exits in any stage, and at any write, is followed by one that continues there.
func TestRestart(t *testing.T) {
	volume := kubernikusv1.SeenVolume{ID: "v", Name: "pv", ReclaimPolicy: "Delete"}
	kept := thing("PersistentVolume", "kept")
	for i, which := range (&kubernikusv1.Kluster{}).DeorbitStages() {
		t.Run(string(which), func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			stuck := which
			if which == release {
				stuck = verify
			}
			hold := false
			f.respond(func(_ context.Context, c call) (stage.Report, error) {
				report := stage.Report{}
				if isInCluster(c.stage) {
					report.Seen.Volumes, report.Retained = []kubernikusv1.SeenVolume{volume}, []kubernikusv1.DeorbitObject{kept}
				}
				if c.stage == routes && which == release {
					hold = true // the next check of Verify is that of Release
				}
				if c.stage == stuck && (which != release || hold) {
					report.Remaining = []kubernikusv1.DeorbitObject{thing("Thing", "x")}
				}
				return report, nil
			})
			f.turn(k)
			f.is(k, which, "False/"+string(which))
			began := k.Status.Deorbit.StageStartedAt
			f.restart()
			f.calls = nil
			f.after(time.Minute, k)
			f.is(k, which, "False/"+string(which))
			if !k.Status.Deorbit.StageStartedAt.Equal(began) || !k.Status.Deorbit.LastProgressAt.Equal(began) || !strings.HasPrefix(f.stages(), string(stuck)) {
				t.Errorf("it starts over: %+v, looks %s", k.Status.Deorbit, f.stages())
			}
			if i > 1 { // behind Freeze it was seen
				if got := f.calls[0].work; len(got.Recorded.Volumes) != 1 || !got.Began.Equal(began.Time) || len(k.Status.Deorbit.Retained) != 1 {
					t.Errorf("it is notified %+v, began %s, retained %v", got.Recorded, got.Began, k.Status.Deorbit.Retained)
				}
			}
			f.respond(nil)
			f.restart()
			if f.turn(k); f.store.Find(k) {
				t.Errorf("it is not released: %+v", k.Status.Deorbit)
			}
		})
	}
}

// TestWriteFirst checks that nothing is deleted that was not recorded.
func TestWriteFirst(t *testing.T) {
	k := deleted("k")
	f := newFlow(t, k, secretOf("k-secret"))
	f.store.Fault = func(int, kubetest.Write) error { return errDown }
	request := func() error { _, err := f.r.Reconcile(t.Context(), requestFor(k)); return err }
	for range 3 {
		if err := request(); err == nil {
			t.Fatal("the rejected write is no error")
		}
	}
	f.store.Fault = nil
	f.lost = errDown
	if err := request(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a former leader writes: %v", err)
	}
	if f.stages() != "" || f.reported() != "" {
		t.Errorf("stages = %s", f.stages())
	}
	f.lost = nil
	if f.turn(k); f.stages() != allStages {
		t.Errorf("stages = %s", f.stages())
	}
	if text := f.reported(); strings.Count(text, eventStarted) != 1 {
		t.Errorf("events: %s", text)
	}
}

// TestUnreachable checks that a workload cluster that keeps failing is given up after a while, and that OpenStack is cleaned up
// without it.
func TestUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		setup  func(f *flow)
		reason string
	}{
		"the API server fails": {func(f *flow) {
			f.respond(func(_ context.Context, c call) (stage.Report, error) {
				if isInCluster(c.stage) {
					return stage.Report{}, errDown
				}
				return stage.Report{}, nil
			})
		}, "Unreachable"},
		"it does not specify which one it is": {func(f *flow) {
			f.id = func(context.Context) (types.UID, error) { return "", errDown }
		}, "Unreachable"},
		"no kubeconfig": {func(f *flow) {
			s := secretOf("k-secret")
			f.store.Change(s, func() { delete(s.Data, "kubeconfig") })
		}, "NoCredentials"},
	} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k")
			f := newFlow(t, k, secretOf("k-secret"))
			c.setup(f)
			f.turn(k)
			f.is(k, freeze, "False/"+c.reason)
			if !k.Status.Deorbit.UnreachableSince.Time.Equal(epoch) || testutil.ToFloat64(f.r.meters.failures.WithLabelValues("Freeze", c.reason)) != 1 {
				t.Errorf("got %+v", k.Status.Deorbit)
			}
			f.after(time.Minute, k)
			f.is(k, freeze, "False/"+c.reason)
			if f.after(time.Minute, k); f.store.Find(k) {
				t.Errorf("it is not released: %+v", k.Status.Deorbit)
			}
			if text := f.reported(); !strings.Contains(text, "Warning ClusterUnreachable") || !strings.Contains(text, "Warning "+c.reason) || strings.Contains(f.stages(), "Pods") {
				t.Errorf("events %s, looks %s", text, f.stages())
			}
		})
	}
}

// TestCloudRejectsCredentials checks that rejected credentials are retried, immediately when the Secret changes, and that the
// timeout ends this with a list of the last known resources.
func TestCloudRejectsCredentials(t *testing.T) {
	k := deleted("k")
	secret := secretOf("k-secret")
	f := newFlow(t, k, secret)
	f.openErr = cloudRejection()
	wait := f.turn(k)
	f.is(k, verify, "False/CredentialsRefused")
	if wait < time.Minute {
		t.Errorf("they are tried again in %s", wait)
	}
	f.openErr = nil
	f.remains(verify, kubernikusv1.DeorbitObject{Kind: "Volume", ID: "v", Reason: "attached"})
	f.store.Change(secret, func() { secret.Data["openstack-password"] = []byte("new") })
	f.turn(k)
	f.is(k, verify, "False/Verify")
	f.openErr = cloudRejection()
	f.store.Change(k, func() { k.Annotations = map[string]string{kubernikusv1.SelfDestructAnnotation: "now"} })
	if f.turn(k); f.store.Find(k) {
		t.Fatalf("it is not released: %+v", k.Status.Deorbit)
	}
	text := f.reported()
	for _, want := range []string{"Warning SelfDestruct", "Warning Leftover left over: Volume v: attached", "Warning Leftover left over: Project: it could not be checked"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the events:\n%s", want, text)
		}
	}
	if got := testutil.ToFloat64(f.r.meters.finished.WithLabelValues("self-destruct")); got != 1 {
		t.Errorf("%v ended by the annotation", got)
	}
}

// TestLeftovers checks that one final check is made after the timeout, and that all leftover resources are reported, a limited
// number per event.
func TestLeftovers(t *testing.T) {
	k := deleted("k", func(k *kubernikusv1.Kluster) { k.Finalizers = append(k.Finalizers, "somebody/else") })
	f := newFlow(t, k, secretOf("k-secret"))
	var left []kubernikusv1.DeorbitObject
	for i := range maxEvents + 5 {
		left = append(left, kubernikusv1.DeorbitObject{Kind: "Volume", ID: fmt.Sprint(i), Reason: "attached"})
	}
	f.remains(verify, left...)
	f.turn(k)
	f.is(k, verify, "False/Verify")
	f.reported()
	f.after(24*time.Hour, k)
	f.is(k, release, "False/Release")
	ended := testutil.ToFloat64(f.r.meters.finished.WithLabelValues("leftovers"))
	counted := testutil.ToFloat64(f.r.meters.leftovers.WithLabelValues("Volume"))
	f.restart()
	f.lost = errDown
	if _, err := f.r.Reconcile(t.Context(), requestFor(k)); err == nil {
		t.Error("a former leader writes")
	}
	f.lost = nil
	f.turn(k) // others keep it: the next reconciliation reports that it is released
	f.is(k, release, "True/Leftovers")
	if k.HasDeorbiter() || len(k.Status.Deorbit.Remaining) != len(left) {
		t.Errorf("finalizers %v, %d left", k.Finalizers, len(k.Status.Deorbit.Remaining))
	}
	text := f.reported()
	if got := strings.Count(text, "Warning Leftover left over"); got != maxEvents || !strings.Contains(text, "25 things are left over, 5 of them") || !strings.Contains(text, "Warning SelfDestruct") {
		t.Errorf("%d leftovers are notified:\n%s", got, text)
	}
	if counted != 25 || ended != 1 {
		t.Errorf("%v leftovers of %v klusters", counted, ended)
	}
	f.store.ResetLog()
	if f.turn(k); f.store.Count() != 0 || f.reported() != "" {
		t.Error("it is not left alone")
	}
}

// TestNothingInstalled checks that a Kluster without a cloud and without a kubeconfig is deleted immediately.
func TestNothingInstalled(t *testing.T) {
	for name, secrets := range map[string]bool{"without a Secret": false, "with one that leads nowhere": true} {
		k := deleted("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
		f := newFlow(t, k)
		if secrets {
			if err := f.store.Create(t.Context(), klustertest.Secret("k-secret", "", "", "", "", nil)); err != nil {
				t.Fatal(err)
			}
		}
		once, again := string(drain), string(drain) // in its own stage, and in Release
		if f.turn(k); f.store.Find(k) || f.stages() != once+" "+again {
			t.Errorf("%s: looks %s, %+v", name, f.stages(), k.Status.Deorbit)
		}
	}
	k := deleted("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
	f := newFlow(t, k, secretOf("k-secret"))
	if f.turn(k); f.store.Find(k) || f.stages() != "Drain Freeze Pods Snapshots Claims Services Wait Drain" {
		t.Errorf("with a workload cluster: looks %s", f.stages())
	}
}

// TestListedDrivers checks that the drivers and classes of the configuration count in clusters without OpenStack only: nothing looks for
// their volumes and load balancers there.
func TestListedDrivers(t *testing.T) {
	for name, noCloud := range map[string]bool{"on OpenStack": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = noCloud })
			f := newFlow(t, k, secretOf("k-secret"))
			f.r.config.Deorbit.CSIDrivers, f.r.config.Deorbit.LoadBalancerClasses = []string{"ebs.csi.aws.com"}, []string{"service.k8s.aws/nlb"}
			seen := false
			f.respond(func(_ context.Context, c call) (stage.Report, error) {
				if !isInCluster(c.stage) {
					return stage.Report{}, nil
				}
				seen = true
				if listed := len(c.work.Drivers) == 1 && len(c.work.LoadBalancerClasses) == 1; listed != noCloud {
					t.Errorf("%s: drivers = %v, classes = %v", c.stage, c.work.Drivers, c.work.LoadBalancerClasses)
				}
				return stage.Report{}, nil
			})
			if f.turn(k); !seen {
				t.Error("nothing was checked")
			}
		})
	}
}

// TestAnnouncedLate checks that, if a Kluster is deleted while it is being announced, an announcement after Drain is withdrawn
// before the finalizer is removed.
func TestAnnouncedLate(t *testing.T) {
	for name, cloud := range map[string]bool{"with a cloud": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			k := deleted("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = !cloud })
			f := newFlow(t, k, secretOf("k-secret"))
			drains := 0
			f.respond(func(_ context.Context, c call) (stage.Report, error) {
				if c.stage != drain {
					return stage.Report{}, nil
				}
				if drains++; drains == 2 {
					return stage.Report{Remaining: things("DiscoveryBackend", "b")}, nil
				}
				return stage.Report{}, nil
			})
			f.turn(k)
			f.is(k, release, "False/Release")
			if !slices.Equal(k.Status.Deorbit.Remaining, things("DiscoveryBackend", "b")) {
				t.Errorf("it waits for %+v", k.Status.Deorbit.Remaining)
			}
			if f.after(20*time.Second, k); f.store.Find(k) || drains != 3 {
				t.Errorf("%d withdrawals: %+v", drains, k.Status.Deorbit)
			}
		})
	}
}
