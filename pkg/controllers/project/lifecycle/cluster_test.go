// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoapply "k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// namespaceFinalizer stands for the work that Kubernetes does before a deleted namespace has been deleted.
const namespaceFinalizer = "test/contents"

// cluster is a reconciler on a store that behaves like an API server where the reconciler depends on it: uids,
// preconditions, namespaces that terminate, and a cache that holds the labelled objects only. It counts writes and
// can fail each of them.
type cluster struct {
	t *testing.T
	// store is the truth, past the cache and the counting.
	store      client.Client
	reconciler *reconciler
	recorder   *events.FakeRecorder
	time       time.Time
	followed   *followed
	served     map[schema.GroupResource]bool
	// servedErr is the response of a discovery that fails.
	servedErr error
	// fault may fail the write with the given number, counted from 0 since the last call of reset.
	fault func(number int, write string) error
	// unseen are the names of objects that the cache does not have yet.
	unseen map[string]bool
	// lost lets a write that returns an error succeed, as if only the response was lost.
	lost bool

	faults sync.Mutex
	mu     sync.Mutex
	writes []string
	uids   int
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, rbacv1.AddToScheme, gardenerv1beta1.AddToScheme, kubernikusv1.AddToScheme, gimbalv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&gardenerv1beta1.Project{}).
		WithTypeConverters(projectConverter(t), clientgoapply.NewTypeConverter(scheme), managedfields.NewDeducedTypeConverter()).
		WithIndex(&rbacv1.ClusterRole{}, extensionRoleIndex, indexExtensionRole).
		Build()
	outcomes, err := registerOutcomes(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	timeToReady, err := registerTimeToReady(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, store: store, recorder: events.NewFakeRecorder(100), served: map[schema.GroupResource]bool{}}
	c.time = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	cached := interceptor.NewClient(store, interceptor.Funcs{
		Get: c.get, Create: c.create, Patch: c.patch, Delete: c.delete, SubResourceApply: c.applyStatus,
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("the reconciler patches, it does not update")
		},
	})
	c.followed = &followed{cluster: c, known: store, live: store}
	c.reconciler = &reconciler{client: cached, live: store, contents: contents{c.followed}, recorder: c.recorder, outcomes: outcomes, timeToReady: timeToReady,
		now: func() time.Time { return c.time }}
	for _, resource := range blockingResources()[:2] {
		c.served[resource] = true
	}
	return c
}

// get reads as from a cache that was built with CacheOptions.
func (c *cluster) get(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := store.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if c.unseen[key.Name] {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, key.Name)
	}
	restricted, err := CacheOptions()
	if err != nil {
		return err
	}
	for like, by := range restricted {
		if fmt.Sprintf("%T", like) == fmt.Sprintf("%T", object) && !by.Label.Matches(labels.Set(object.GetLabels())) {
			return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, key.Name)
		}
	}
	return nil
}

func (c *cluster) create(ctx context.Context, store client.WithWatch, object client.Object, options ...client.CreateOption) error {
	return c.write("create", object, func() error {
		if object.GetNamespace() != "" {
			namespace := &corev1.Namespace{}
			if err := store.Get(ctx, client.ObjectKey{Name: object.GetNamespace()}, namespace); err != nil {
				return err
			}
			if !namespace.DeletionTimestamp.IsZero() {
				return terminating(namespace.Name)
			}
		}
		c.prepare(object)
		return store.Create(ctx, object, options...)
	})
}

// prepare gives an object what the API server gives it.
func (c *cluster) prepare(object client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uids++
	object.SetUID(types.UID(fmt.Sprintf("uid-%d", c.uids)))
	if _, ok := object.(*corev1.Namespace); ok {
		object.SetFinalizers(append(object.GetFinalizers(), namespaceFinalizer))
	}
}

func terminating(namespace string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "rolebindings"}, "x", errors.New("namespace is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace " + namespace + " is being terminated", Field: "metadata.namespace"})
	return err
}

func (c *cluster) patch(ctx context.Context, store client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.write("patch", object, func() error {
		data, err := patch.Data(object)
		if err != nil {
			return err
		}
		if !strings.Contains(string(data), `"resourceVersion"`) {
			return fmt.Errorf("a patch of %s has no resourceVersion: %s", describe(object), data)
		}
		return store.Patch(ctx, object, patch, options...)
	})
}

func (c *cluster) delete(ctx context.Context, store client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	return c.write("delete", object, func() error {
		parsed := (&client.DeleteOptions{}).ApplyOptions(options)
		if parsed.Preconditions == nil || parsed.Preconditions.UID == nil || parsed.Preconditions.ResourceVersion == nil {
			return fmt.Errorf("a deletion of %s has no preconditions", describe(object))
		}
		found := object.DeepCopyObject().(client.Object)
		if err := store.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
			return err
		}
		if found.GetUID() != *parsed.Preconditions.UID {
			return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, object.GetName(), errors.New("the uid differs"))
		}
		return store.Delete(ctx, object, options...)
	})
}

func (c *cluster) applyStatus(ctx context.Context, store client.Client, sub string, applied runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	project := &gardenerv1beta1.Project{}
	project.Name = *applied.(interface{ GetName() *string }).GetName()
	return c.write("apply "+sub+" of", project, func() error {
		if err := store.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err // the store would create it
		}
		return store.SubResource(sub).Apply(ctx, applied, options...)
	})
}

// write counts a write, and fails it when it is to fail.
func (c *cluster) write(verb string, object client.Object, do func() error) error {
	c.mu.Lock()
	number, name := len(c.writes), verb+" "+describe(object)
	c.writes = append(c.writes, name)
	c.mu.Unlock()
	if err := c.failing(number, name); err != nil {
		if c.lost {
			_ = do()
		}
		return err
	}
	return do()
}

func (c *cluster) failing(number int, write string) error {
	c.faults.Lock()
	defer c.faults.Unlock()
	if c.fault == nil {
		return nil
	}
	return c.fault(number, write)
}

// reset discards the writes and faults so far.
func (c *cluster) reset() {
	c.writes, c.fault, c.lost = nil, nil, false
}

// project makes a Project as the API server would.
func (c *cluster) project(name string, change ...func(*gardenerv1beta1.Project)) *gardenerv1beta1.Project {
	c.t.Helper()
	project := testProject(name)
	for _, f := range change {
		f(project)
	}
	if err := c.store.Create(c.t.Context(), project); err != nil {
		c.t.Fatal(err)
	}
	return project
}

// reconcile reconciles once and reports what it returned.
func (c *cluster) reconcile(project string) (reconcile.Result, error) {
	return c.reconciler.Reconcile(c.t.Context(), requestFor(project))
}

// settle passes until nothing is written any more, and returns how many writes that took.
func (c *cluster) settle(project string) int {
	c.t.Helper()
	c.reset()
	for range 20 {
		before := len(c.writes)
		if _, err := c.reconcile(project); err == nil && len(c.writes) == before {
			return before
		}
	}
	c.t.Fatalf("the reconciler never stops to write: %q", c.writes)
	return 0
}

// current reads a Project from the store.
func (c *cluster) current(name string) *gardenerv1beta1.Project {
	c.t.Helper()
	project := &gardenerv1beta1.Project{}
	c.read("", name, project)
	return project
}

func (c *cluster) read(namespace, name string, into client.Object) {
	c.t.Helper()
	if err := c.store.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into); err != nil {
		c.t.Fatal(err)
	}
}

// exists reports whether an object is in the store.
func (c *cluster) exists(namespace, name string, like client.Object) bool {
	c.t.Helper()
	err := c.store.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, like)
	if client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	return err == nil
}

// change edits an object manually.
func change[T client.Object](c *cluster, object T, edit func(T)) {
	c.t.Helper()
	c.read(object.GetNamespace(), object.GetName(), object)
	edit(object)
	if err := c.store.Update(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// add puts an object into the store manually.
func (c *cluster) add(object client.Object) {
	c.t.Helper()
	c.prepare(object)
	if err := c.store.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// remove takes an object out of the store manually.
func (c *cluster) remove(object client.Object) {
	c.t.Helper()
	if err := c.store.Delete(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// finishDeletion ends the termination of a namespace, with what is in it.
func (c *cluster) finishDeletion(name string) {
	c.t.Helper()
	for _, list := range []client.ObjectList{&rbacv1.RoleBindingList{}, &corev1.ResourceQuotaList{}} {
		if err := c.store.List(c.t.Context(), list, client.InNamespace(name)); err != nil {
			c.t.Fatal(err)
		}
		switch list := list.(type) {
		case *rbacv1.RoleBindingList:
			for i := range list.Items {
				c.remove(&list.Items[i])
			}
		case *corev1.ResourceQuotaList:
			for i := range list.Items {
				c.remove(&list.Items[i])
			}
		}
	}
	change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(ns *corev1.Namespace) { ns.Finalizers = nil })
}

// events are the events since the last call, as "Type Reason Message".
func (c *cluster) events() []string {
	var all []string
	for {
		select {
		case event := <-c.recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

// condition is a condition of a Project, as "Status Reason: Message".
func (c *cluster) condition(project string, kind gardenerv1beta1.ConditionType) string {
	c.t.Helper()
	found := condition(c.current(project).Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

func hasPrefix(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s is %q, want %q…", what, got, want)
	}
}

// testProject is a Project as the API server stores it at creation.
func testProject(name string) *gardenerv1beta1.Project {
	uid := types.UID("project-" + name)
	return &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, Generation: 1, Finalizers: []string{gardenerv1beta1.FinalizerName}},
		Spec: gardenerv1beta1.ProjectSpec{
			Namespace: new(gardenerv1beta1.GeneratedNamespace(name, uid)),
			Owner:     new(user("alice")),
			Members: []gardenerv1beta1.ProjectMember{
				{Subject: user("alice"), Role: gardenerv1beta1.ProjectMemberAdmin, Roles: []string{gardenerv1beta1.ProjectMemberOwner}},
			},
		},
	}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func member(name string, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: user(name)}
	m.SetRoles(roles)
	return m
}

func withMembers(members ...gardenerv1beta1.ProjectMember) func(*gardenerv1beta1.Project) {
	return func(project *gardenerv1beta1.Project) {
		project.Spec.Members = append(project.Spec.Members, members...)
	}
}
