// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	kubernikusapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

// TestPreconditions checks that a controller cannot overwrite or delete a version that it did not read.
func TestPreconditions(t *testing.T) {
	s := kubetest.New(t)
	c, ctx := s.Client(), t.Context()
	object := configMap("a")
	if err := c.Create(ctx, object); err != nil || object.UID == "" || object.Generation != 1 {
		t.Fatalf("created %+v, %v", object, err)
	}
	before := object.DeepCopy()
	s.Change(object, func() { object.Data = map[string]string{"by": "a user"} })
	if object.Generation != 2 {
		t.Errorf("generation = %d, want 2", object.Generation)
	}
	s.Change(object, func() { object.Labels = map[string]string{"a": "b"} })
	if object.Generation != 2 {
		t.Errorf("generation after a change of metadata = %d, want 2", object.Generation)
	}
	uid, other := object.UID, object.UID+"x"
	for what, err := range map[string]error{
		"an update":                 c.Update(ctx, before),
		"a patch without a version": c.Patch(ctx, before.DeepCopy(), client.MergeFrom(&corev1.ConfigMap{})),
		"a patch of what was read":  c.Patch(ctx, before.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"resourceVersion":"1"},"data":{"x":"y"}}`))),
		"a deletion of whatever":    c.Delete(ctx, object, client.Preconditions{UID: &uid}),
		"a deletion of another one": c.Delete(ctx, object, client.Preconditions{UID: &other, ResourceVersion: &object.ResourceVersion}),
		"a deletion of what was":    c.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &before.ResourceVersion}),
	} {
		if err == nil {
			t.Errorf("%s succeeds", what)
		}
	}
	if err := c.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &object.ResourceVersion}); err != nil || s.Find(object) {
		t.Errorf("it is not deleted: %v", err)
	}
}

// TestApply checks that conditions are merged by type, and that applying the status of an object that does not exist fails.
func TestApply(t *testing.T) {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	s := kubetest.New(t, k)
	condition := func(kind string) *metaapply.ConditionApplyConfiguration {
		return metaapply.Condition().WithType(kind).WithStatus("True").WithReason("A").WithMessage("").WithLastTransitionTime(metav1.Now())
	}
	apply := func(name, uid, owner, kind string) error {
		applied := kubernikusapply.Kluster(name, "shop").WithUID(k.UID).WithStatus(kubernikusapply.KlusterStatus().WithConditions(condition(kind)))
		if uid != "" {
			applied.WithUID("2")
		}
		return s.Client().Status().Apply(t.Context(), applied, client.FieldOwner(owner), client.ForceOwnership)
	}
	for owner, kind := range map[string]string{"a": "A", "b": "B"} {
		if err := apply("web", "", owner, kind); err != nil {
			t.Fatal(err)
		}
	}
	if s.Find(k); len(k.Status.Conditions) != 2 {
		t.Errorf("conditions = %+v, want those of both", k.Status.Conditions)
	}
	if err := apply("other", "", "a", "A"); !apierrors.IsNotFound(err) {
		t.Errorf("the status of nothing: %v", err)
	}
	if err := apply("web", "2", "a", "A"); !apierrors.IsConflict(err) {
		t.Errorf("the status of another one: %v", err)
	}
	if err := s.Client().Apply(t.Context(), corev1apply.ConfigMap("a", "shop"), client.FieldOwner("a")); err != nil {
		t.Fatal(err)
	}
	if made := configMap("a"); !s.Find(made) || made.UID == "" {
		t.Errorf("made %+v, want a uid", made)
	}
}

func TestFaults(t *testing.T) {
	s := kubetest.New(t)
	failure := errors.New("failed")
	s.Fault = func(number int, _ kubetest.Write) error {
		if number == 1 {
			return failure
		}
		return nil
	}
	if err := s.Client().Create(t.Context(), configMap("a")); err != nil {
		t.Error(err)
	}
	if err := s.Client().Create(t.Context(), configMap("b")); !errors.Is(err, failure) || s.Find(configMap("b")) {
		t.Errorf("the second write: %v", err)
	}
	if want := []string{"create ConfigMap a", "create ConfigMap b"}; !slices.Equal(s.Writes(), want) {
		t.Errorf("writes = %q, want %q", s.Writes(), want)
	}
	s.Reset()
	s.Fault, s.Lost = func(int, kubetest.Write) error { return failure }, true
	if err := s.Client().Create(t.Context(), configMap("c")); !errors.Is(err, failure) || !s.Find(configMap("c")) {
		t.Errorf("the write whose response is lost: %v", err)
	}
	s.Read = func(verb string, _ runtime.Object) error { return errors.New(verb) }
	if err := s.Live().Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, configMap("a")); err == nil || err.Error() != "get" {
		t.Errorf("a read that fails: %v", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Finalizers: []string{"a/b"}}}
	s.Reset()
	s.Add(namespace)
	s.Remove(namespace)
	if err := s.Client().Create(t.Context(), configMap("d")); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("in a namespace that terminates: %v", err)
	}
}

func TestLateCache(t *testing.T) {
	seen, old := configMap("seen"), configMap("old")
	s := kubetest.New(t, seen, old)
	s.Hold(seen, old, configMap("new"))
	s.Change(seen, func() { seen.Data = map[string]string{"a": "b"} })
	s.Remove(old)
	s.Add(configMap("new"))
	names := func(c client.Reader) string {
		list := &corev1.ConfigMapList{}
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, item := range list.Items {
			all = append(all, item.Name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	cached := configMap("")
	if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(seen), cached); err != nil || len(cached.Data) > 0 {
		t.Errorf("the cache has %v, %v", cached.Data, err)
	}
	if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(old), cached); err != nil {
		t.Errorf("the cache does not have what is deleted: %v", err)
	}
	if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(configMap("new")), cached); !apierrors.IsNotFound(err) {
		t.Errorf("the cache has what is new: %v", err)
	}
	if got := names(s.Client()); got != "old seen" {
		t.Errorf("the cache lists %q", got)
	}
	if got := names(s.Live()); got != "new seen" {
		t.Errorf("the server lists %q", got)
	}
	s.CatchUp()
	if got := names(s.Client()); got != "new seen" {
		t.Errorf("a cache that caught up lists %q", got)
	}
}

// TestFreeze checks that a frozen cache has neither what was created later nor what was changed or deleted, and that writes and live
// reads are of now.
func TestFreeze(t *testing.T) {
	s := kubetest.New(t, configMap("changed"), configMap("deleted"))
	s.Freeze()
	changed := configMap("changed")
	s.Change(changed, func() { changed.Data = map[string]string{"a": "b"} })
	s.Remove(configMap("deleted"))
	if err := s.Client().Create(t.Context(), configMap("new")); err != nil {
		t.Fatal(err)
	}
	read := func(c client.Reader) string {
		list := &corev1.ConfigMapList{}
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, item := range list.Items {
			all = append(all, item.Name+item.Data["a"])
		}
		return strings.Join(all, " ")
	}
	if got := read(s.Client()); got != "changed deleted" {
		t.Errorf("the cache lists %q", got)
	}
	if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(configMap("new")), configMap("")); !apierrors.IsNotFound(err) {
		t.Errorf("the cache has what is new: %v", err)
	}
	if got := read(s.Live()); got != "changedb new" {
		t.Errorf("the server lists %q", got)
	}
	s.Freeze(&corev1.ConfigMap{})
	s.Remove(configMap("new"))
	if got := read(s.Client()); got != "changedb" {
		t.Errorf("a cache of which only other kinds are frozen lists %q", got)
	}
	s.Freeze()
	s.Remove(configMap("changed"))
	s.CatchUp()
	if got := read(s.Client()); got != "" {
		t.Errorf("a cache that caught up lists %q", got)
	}
}
