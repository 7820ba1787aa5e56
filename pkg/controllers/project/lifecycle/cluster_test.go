// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// namespaceFinalizer stands for the work that Kubernetes does before a deleted namespace has been deleted.
const namespaceFinalizer = "test/contents"

// cluster is a reconciler on an API server, whose cache has the labelled objects only.
type cluster struct {
	t          *testing.T
	store      *kubetest.Server
	reconciler *reconciler
	recorder   *events.FakeRecorder
	time       time.Time
	followed   *followed
	// forbidden is set if the controller is not allowed to list the kinds in which it looks for finalizers.
	forbidden bool
	served    map[schema.GroupResource]bool
	// servedErr is the response of a discovery that fails.
	servedErr error
	// unseen are the names of objects that the cache does not have yet.
	unseen map[string]bool
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	store := kubetest.Build(t, func(builder *fake.ClientBuilder) {
		builder.WithIndex(&rbacv1.ClusterRole{}, extensionRoleIndex, indexExtensionRole)
	}, objects...)
	meters, err := newMeters(prometheus.NewRegistry(), store)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, store: store, recorder: events.NewFakeRecorder(100), served: map[schema.GroupResource]bool{}}
	c.time = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	store.Cached, store.Admit = c.cached, terminates
	store.Describe = func(w kubetest.Write) string {
		if object, ok := w.Object.(client.Object); ok {
			return w.Verb + " " + describe(object)
		}
		return w.Verb + " of " + describe(&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: w.Name}})
	}
	c.followed = &followed{cluster: c, known: store, live: store.Live()}
	c.reconciler = &reconciler{client: store.Client(), live: store.Live(), contents: contents{c.followed}, servers: agreed{membership: true}, recorder: c.recorder, meters: meters,
		now: func() time.Time { return c.time }}
	c.reconciler.holders = holders{c.kinds, c.mayList, c.listed}
	for _, resource := range blockingResources()[:2] {
		c.served[resource] = true
	}
	return c
}

// cached reports whether a cache that was built with CacheOptions has an object.
func (c *cluster) cached(object client.Object) bool {
	c.t.Helper()
	restricted, err := CacheOptions()
	if err != nil {
		c.t.Fatal(err)
	}
	for like, by := range restricted {
		if fmt.Sprintf("%T", like) == fmt.Sprintf("%T", object) && !by.Label.Matches(labels.Set(object.GetLabels())) {
			return false
		}
	}
	return !c.unseen[object.GetName()]
}

// terminates has a namespace stay until finishDeletion when it is deleted.
func terminates(object client.Object) {
	if _, ok := object.(*corev1.Namespace); ok {
		object.SetFinalizers(append(object.GetFinalizers(), namespaceFinalizer))
	}
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
	c.store.Reset()
	for range 20 {
		before := c.store.Count()
		if _, err := c.reconcile(project); err == nil && c.store.Count() == before {
			return before
		}
	}
	c.t.Fatalf("the reconciler never stops to write: %q", c.store.Writes())
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
				c.store.Remove(&list.Items[i])
			}
		case *corev1.ResourceQuotaList:
			for i := range list.Items {
				c.store.Remove(&list.Items[i])
			}
		}
	}
	change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(ns *corev1.Namespace) { ns.Finalizers = nil })
}

// events returns the events since the last call, as "Type Reason Message".
func (c *cluster) events() []string { return kubetest.Events(c.recorder) }

// condition returns a condition of a Project, as "Status Reason: Message".
func (c *cluster) condition(project string, kind gardenerv1beta1.ConditionType) string {
	c.t.Helper()
	found := conditions.Find(c.current(project).Status.Conditions, kind)
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

// testProject returns a Project as the API server stores it at creation.
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
