// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// flow is the controller on a store, whose sessions are only noted, or real.
type flow struct {
	t         *testing.T
	store     *kubetest.Server
	r         *reconciler
	clock     *clocktesting.FakePassiveClock
	queue     workqueue.TypedRateLimitingInterface[reconcile.Request]
	recorder  *events.FakeRecorder
	cluster   *localvolumetest.APIServer
	opened    []*noted
	rejection error
}

// noted is a session that does nothing. It ends when the test lets it.
type noted struct {
	blueprint
	ctx      context.Context
	leave    chan struct{}
	reported *metav1.Condition
	later    time.Duration
}

func (n *noted) condition(*configv1alpha1.LocalVolumeConfiguration) (*metav1.Condition, time.Duration) {
	return n.reported, n.later
}

// management is the identity of the management cluster.
func management(context.Context) (types.UID, error) { return "management", nil }

func newFlow(t *testing.T, objects ...client.Object) *flow {
	t.Helper()
	f := &flow{t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), queue: klustertest.Queue(t), recorder: events.NewFakeRecorder(100)}
	f.cluster = localvolumetest.NewAPIServer(t)
	f.store = klustertest.NewStore(t, objects...)
	f.r = &reconciler{
		client: f.store.Client(), live: f.store.Live(), config: defaults(), recorder: f.recorder,
		memory:  &memory{sessions: map[types.NamespacedName]*session{}},
		options: Options{NodeDeleted: func(types.NamespacedName, types.UID) {}, Fence: func() error { return nil }, Clock: f.clock, ClusterID: management},
	}
	f.r.open = func(ctx context.Context, b blueprint, _ func()) (reporter, func(), error) {
		if f.rejection != nil {
			return nil, nil, f.rejection
		}
		n := &noted{blueprint: b, ctx: ctx, leave: make(chan struct{}, 1)}
		f.opened = append(f.opened, n)
		return n, func() { <-ctx.Done(); <-n.leave }, nil
	}
	if err := f.r.Start(t.Context(), f.queue); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, n := range f.opened {
			close(n.leave)
		}
	})
	return f
}

func (f *flow) reconcile(k *kubernikusv1.Kluster) reconcile.Result {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// secret leads to the cluster.
func (f *flow) secret(name, token string) *corev1.Secret {
	return klustertest.Secret(name, "http://cloud", "u", "p", "project", map[string][]byte{kluster.KeyKubeconfig: f.cluster.Kubeconfig(token)})
}

func (f *flow) condition(k *kubernikusv1.Kluster) string {
	f.t.Helper()
	if err := f.store.Get(f.t.Context(), client.ObjectKeyFromObject(k), k); err != nil {
		f.t.Fatal(err)
	}
	return klustertest.Condition(k, kubernikusv1.ConditionLocalVolumeCleanup)
}

// last returns the session that was opened last, which has to be the nth.
func (f *flow) last(n int) *noted {
	f.t.Helper()
	if len(f.opened) != n {
		f.t.Fatalf("%d sessions were opened, want %d", len(f.opened), n)
	}
	if n == 0 {
		return nil
	}
	return f.opened[n-1]
}

// replaced checks that a session is stopped, that no other one starts before it has ended, and that its end triggers a reconcile.
func (f *flow) replaced(k *kubernikusv1.Kluster, old *noted) {
	f.t.Helper()
	before := len(f.opened)
	f.reconcile(k)
	if old.ctx.Err() == nil {
		f.t.Fatal("the session was not instructed to go")
	}
	f.reconcile(k)
	if len(f.opened) != before {
		f.t.Fatal("another session began before the old one was over")
	}
	old.leave <- struct{}{}
	request, _ := f.queue.Get()
	f.queue.Done(request)
	if request.NamespacedName != client.ObjectKeyFromObject(k) {
		f.t.Fatalf("%s is queued", request)
	}
	f.reconcile(k)
}

// TestSessions checks that a session lives as long as its Kluster, its Secret and its plan remain the same.
func TestSessions(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.reconcile(k)
	f.last(0)
	f.store.Add(f.secret("k-secret", "first"))
	f.reconcile(k)
	first := f.last(1)
	if first.uid != k.UID || !first.nodes || first.volumes != nil || first.again || first.config.BearerToken != "first" {
		t.Errorf("the session is of %+v", first.blueprint)
	}

	// Irrelevant changes.
	secret := f.secret("k-secret", "first")
	f.store.Change(secret, func() { secret.Data["openstack-password"] = []byte("another") })
	f.store.Change(k, func() { k.Spec.Version = "1.36.3"; k.Generation++ })
	f.reconcile(k)
	f.last(1)

	// A new way into the cluster.
	f.store.Change(secret, func() { secret.Data = f.secret("", "second").Data })
	f.replaced(k, first)
	second := f.last(2)
	if second.config.BearerToken != "second" || !second.again {
		t.Errorf("the session is of %+v", second.blueprint)
	}
	// Another plan.
	f.store.Change(k, func() { cleaned("local")(k) })
	f.replaced(k, second)
	third := f.last(3)
	f.store.Change(k, func() { k.Spec.LocalVolumeCleanup.PVCDeletionDelay = &metav1.Duration{Duration: time.Second} })
	f.replaced(k, third)
	fourth := f.last(4)
	// Paused, and on again.
	f.store.Change(k, func() { klustertest.Annotated("groundskeeper.io/paused")(k) })
	f.replaced(k, fourth)
	f.last(4)
	if got := f.condition(k); got != "Unknown/"+ReasonPaused {
		t.Error(got)
	}
	f.store.Change(k, func() { k.Annotations = nil })
	f.reconcile(k)
	fifth := f.last(5)
	// A Secret without a kubeconfig.
	f.store.Change(secret, func() { delete(secret.Data, kluster.KeyKubeconfig) })
	f.replaced(k, fifth)
	f.last(5)
	if got := f.condition(k); got != "False/"+ReasonNotConfigured {
		t.Error(got)
	}
	f.store.Change(secret, func() { secret.Data = f.secret("", "third").Data })
	f.reconcile(k)
	sixth := f.last(6)
	// Another Kluster of the same name.
	f.store.Change(k, func() { k.Finalizers = nil })
	f.store.Remove(k)
	another := klustertest.Kluster("k", func(other *kubernikusv1.Kluster) { other.UID, other.Spec = "another", k.Spec })
	f.store.Add(another)
	f.replaced(another, sixth)
	seventh := f.last(7)
	if seventh.uid != "another" || seventh.again {
		t.Errorf("the session is of %+v", seventh.blueprint)
	}
	// And then none.
	f.store.Change(another, func() { another.Finalizers = nil })
	f.store.Remove(another)
	f.replaced(another, seventh)
	f.last(7)
	if len(f.r.sessions) != 0 {
		t.Errorf("left %v", f.r.sessions)
	}
}

// The condition reports its state, and is written when that changes.
func TestCondition(t *testing.T) {
	k := klustertest.Kluster("k", cleaned("local"))
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret", "first"))
	report := func(status metav1.ConditionStatus, reason string) {
		f.opened[0].reported = &metav1.Condition{Type: kubernikusv1.ConditionLocalVolumeCleanup, Status: status, Reason: reason, Message: "m"}
	}
	f.reconcile(k)
	if got := f.condition(k); got != "" || f.store.Count() != 0 {
		t.Errorf("nothing is known: %q, %d writes", got, f.store.Count())
	}
	for step, want := range []struct {
		status metav1.ConditionStatus
		reason string
		events int
	}{
		{metav1.ConditionTrue, ReasonRunning, 0}, {metav1.ConditionFalse, ReasonUnreachable, 0}, {metav1.ConditionTrue, ReasonRunning, 1},
		{metav1.ConditionFalse, ReasonForbidden, 1}, {metav1.ConditionFalse, ReasonBraked, 1},
	} {
		report(want.status, want.reason)
		for range 3 {
			f.reconcile(k)
		}
		if got := f.condition(k); got != string(want.status)+"/"+want.reason || f.store.Count() != step+1 {
			t.Errorf("%+v: %s, %d writes", want, got, f.store.Count())
		}
		if got := len(f.recorder.Events); got != want.events {
			t.Errorf("%+v: %d events", want, got)
		}
		for len(f.recorder.Events) > 0 {
			<-f.recorder.Events
		}
	}
	f.opened[0].later = 7 * time.Second
	if got := f.reconcile(k).RequeueAfter; got != 7*time.Second {
		t.Errorf("the next check is in %s", got)
	}
	f.store.Change(k, func() { k.Spec.LocalVolumeCleanup = nil })
	f.replaced(k, f.opened[0])
	if got := f.condition(k); got != "" {
		t.Errorf("not requested any more: %s", got)
	}
}

// TestUnusable checks that an unusable kubeconfig is reported without any of its content.
func TestUnusable(t *testing.T) {
	k := klustertest.Kluster("k", cleaned("local"))
	f := newFlow(t, k)
	f.store.Add(klustertest.Secret("k-secret", "http://cloud", "u", "p", "project", map[string][]byte{kluster.KeyKubeconfig: []byte("token: hunter2")}))
	f.reconcile(k)
	if got := f.condition(k); got != "False/"+ReasonNotConfigured {
		t.Error(got)
	}
	secret := f.secret("k-secret", "first")
	f.store.Change(secret, func() { secret.Data = f.secret("", "first").Data })
	f.rejection = errors.New("the credentials of the cluster cannot be used")
	f.reconcile(k)
	if got := f.condition(k); got != "False/"+ReasonNotConfigured || !strings.Contains(k.Status.Conditions[0].Message, "cannot be used") {
		t.Error(got, k.Status.Conditions)
	}
	for _, c := range k.Status.Conditions {
		if strings.Contains(c.Message, "hunter2") {
			t.Errorf("the message is %s", c.Message)
		}
	}
}
