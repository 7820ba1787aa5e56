// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestDeletion checks that the Secret of a Kluster that is being deleted is retained and checked until the Kluster is released.
func TestDeletion(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Finalizers = append(k.Finalizers, "somebody/else") })
	f := newFlow(t, k)
	secret, stays := f.secret("k-secret"), f.secret("other-secret")
	stays.Finalizers = []string{"somebody/else"}
	f.store.Add(secret, stays)
	f.settled(k)
	for _, object := range []client.Object{secret, k} {
		f.store.Remove(object)
	}
	f.settled(k)
	if k.Status.Phase != kubernikusv1.KlusterTerminating || klustertest.Condition(k, kubernikusv1.ConditionDeorbited) != "" {
		t.Errorf("got %+v", k.Status)
	}
	wantConditions(t, k, "True/Reachable", "True/Reachable")
	if !f.store.Find(secret) {
		t.Fatal("the Secret has been deleted before the Kluster")
	}
	f.Requests()
	f.store.Change(k, func() { k.Finalizers = []string{"somebody/else"} })
	f.reconcile("k")
	if f.store.Find(secret) {
		t.Errorf("the Secret stays: %v", secret.Finalizers)
	}
	if !f.store.Find(stays) || len(f.Requests()) > 0 || len(f.r.memory.states) != 0 {
		t.Errorf("something else was touched, or checked: %v", f.r.memory.states)
	}
}

// moved makes a Kluster use other Secrets, and reconciles what its event requests.
func (f *flow) moved(k *kubernikusv1.Kluster, change func()) {
	f.t.Helper()
	before := k.DeepCopy()
	f.store.Change(k, change)
	f.settled(k)
	queue := klustertest.Queue(f.t)
	abandoned(f.t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: k}, queue)
	for queue.Len() > 0 {
		request, _ := queue.Get()
		if _, err := f.r.Reconcile(f.t.Context(), request); err != nil {
			f.t.Fatal(err)
		}
		queue.Done(request)
	}
}

// TestSecretOfAnother checks that a Secret is released when the Kluster uses another one, and retained while any Kluster uses it.
func TestSecretOfAnother(t *testing.T) {
	k, sibling := klustertest.Kluster("k"), klustertest.Kluster("s", func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = "k-secret" })
	f := newFlow(t, k, sibling)
	first, second := f.secret("k-secret"), f.secret("new-secret")
	f.store.Add(first, second)
	f.settled(k)
	f.moved(k, func() { k.Spec.SecretRef.Name, k.Generation = "new-secret", 2 })
	if f.store.Find(first); !isHeld(first) {
		t.Error("the sibling's Secret is let go")
	}
	f.moved(sibling, func() { sibling.Spec.SecretRef.Name, sibling.Generation = "new-secret", 2 })
	if f.store.Find(first); isHeld(first) {
		t.Error("a Secret that no client uses is held")
	}
	if f.store.Find(second); !isHeld(second) {
		t.Error("the new Secret is not held")
	}
	if requests := f.r.usersOf(t.Context(), second); len(requests) != 2 {
		t.Errorf("its users are %v", requests)
	}
}

// TestReleaseRechecks checks that the users of a Secret are read live, because the cache may be outdated.
func TestReleaseRechecks(t *testing.T) {
	f := newFlow(t)
	secret := f.secret("k-secret")
	secret.Finalizers = []string{kubernikusv1.SecretInUseFinalizer}
	f.store.Add(secret)
	f.r.live = klustertest.NewStore(t, klustertest.Kluster("k"), secret.DeepCopy())
	if err := f.r.releaseSecrets(t.Context(), klustertest.Namespace); err != nil {
		t.Fatal(err)
	}
	if f.store.Find(secret); !isHeld(secret) {
		t.Error("the Secret of a new Kluster is let go")
	}
	// A request without a name manages one that no client uses, also if a Kluster has the name of the Secret.
	if requests := f.r.usersOf(t.Context(), secret); len(requests) != 1 || requests[0].Name != "" || requests[0].Namespace != secret.Namespace {
		t.Errorf("who manages it: %v", requests)
	}
	f.r.live = f.store
	f.reconcile("")
	if f.store.Find(secret); isHeld(secret) {
		t.Error("it is held indefinitely")
	}
}

// A Secret for another OpenStack project has no effect until a user accepts it. Results of the former project are then discarded.
func TestAnotherProject(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.AddRouter("garden", f.network) // a second one: the network is found, and no router
	secret := f.secret("k-secret")
	f.store.Add(secret)
	if found := f.settled(k).Status.Openstack; found.RouterID != "" || found.NetworkID != f.network {
		t.Errorf("first %+v", found)
	}
	f.AddUser("mover", "password", "elsewhere")
	f.AddRouter("elsewhere", f.AddNetwork("10.9.0.0/24"))
	f.store.Change(secret, func() {
		secret.Data["openstack-username"], secret.Data["openstack-project-id"] = []byte("mover"), []byte("elsewhere")
	})
	registered := f.settled(k).Status
	c := meta.FindStatusCondition(registered.Conditions, kubernikusv1.ConditionOpenStackReachable)
	if found := registered.Openstack; found.ProjectID != "garden" || found.NetworkID != f.network || c.Status != metav1.ConditionFalse || c.Reason != kubernikusv1.ReasonCloudChanged {
		t.Errorf("not accepted: %+v, condition %+v", found, c)
	}
	_, accepted, _ := strings.Cut(c.Message, kubernikusv1.AcceptCloudAnnotation+"=")
	f.store.Change(k, func() {
		k.Annotations = map[string]string{kubernikusv1.AcceptCloudAnnotation: strings.TrimSpace(strings.TrimSuffix(accepted, ")"))}
	})
	if found := f.settled(k).Status.Openstack; found.ProjectID != "elsewhere" || found.RouterID == "" || found.NetworkID == f.network {
		t.Errorf("accepted: %+v", found)
	}
}

// The controller's own writes of the status trigger nothing.
func TestChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kubernikusv1.Kluster)
		want   bool
	}{
		"status":      {in(kubernikusv1.KlusterRunning), false},
		"a resync":    {func(k *kubernikusv1.Kluster) { k.ResourceVersion = "1" }, true},
		"spec":        {func(k *kubernikusv1.Kluster) { k.Generation++ }, true},
		"annotations": {klustertest.Annotated("groundskeeper.io/paused"), true},
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
}

// A Kluster without a cloud causes no request to one.
func TestNoCloud(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret"))
	wantConditions(t, f.settled(k), "True/Reachable", "")
	if requests := f.Requests(); len(requests) > 0 || k.Status.Phase != kubernikusv1.KlusterRunning {
		t.Errorf("%v, %s", requests, k.Status.Phase)
	}
}

// TestGeneration checks that results of an earlier generation are not reported for a later one.
func TestGeneration(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret"))
	f.settled(k)
	f.store.Change(k, func() { k.Generation = 2 })
	free := make(chan struct{})
	f.Inject(fake.Fault{Path: "/network", Times: 1, Do: func() { <-free }})
	f.reconcile("k")
	observed := func() int64 {
		f.store.Find(k)
		return meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionOpenStackReachable).ObservedGeneration
	}
	if got := observed(); got != 1 {
		t.Errorf("before the check it is of generation %d", got)
	}
	close(free)
	f.settled(k)
	if got := observed(); got != 2 {
		t.Errorf("after the check it is of generation %d", got)
	}
}

// TestStuckCloud checks that an unresponsive cloud does not delay the condition of the API server.
func TestStuckCloud(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret"))
	free := make(chan struct{})
	f.Inject(fake.Fault{Path: "/identity", Times: 1, Do: func() { <-free }})
	f.reconcile("k")
	request, _ := f.queue.Get()
	f.queue.Done(request)
	f.reconcile(request.Name)
	f.store.Find(k)
	wantConditions(t, k, "True/Reachable", "")
	close(free)
	wantConditions(t, f.settled(k), "True/Reachable", "True/Reachable")
}
