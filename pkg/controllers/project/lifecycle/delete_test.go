// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// deleting returns a cluster with a Project that was ready and is being deleted.
func deleting(t *testing.T, prepare ...func(*cluster, string)) (*cluster, *gardenerv1beta1.Project) {
	t.Helper()
	c := newCluster(t)
	project := c.project("dev")
	c.settle("dev")
	for _, f := range prepare {
		f(c, *project.Spec.Namespace)
	}
	c.store.Remove(c.current("dev"))
	c.store.Reset()
	c.events()
	return c, project
}

func (c *cluster) hasProject() bool { return c.exists("", "dev", &gardenerv1beta1.Project{}) }

func editNamespace(edit func(*corev1.Namespace)) func(*cluster, string) {
	return func(c *cluster, name string) { change(c, existing(name, nil, nil), edit) }
}

// What Kubernetes reports of a namespace that it cannot delete is what the conditions report.
func TestDeletionOfHeldNamespace(t *testing.T) {
	const finalizers = "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
	for kind, want := range map[corev1.NamespaceConditionType]string{
		corev1.NamespaceFinalizersRemaining:         "False NamespaceHeld: ",
		corev1.NamespaceDeletionContentFailure:      "False NamespaceHeld: ",
		corev1.NamespaceDeletionDiscoveryFailure:    "False NamespaceHeld: ",
		corev1.NamespaceContentRemaining:            "True NamespaceEmpty: ", // it is deleted without the help of others
		corev1.NamespaceDeletionGVParsingFailure:    "True NamespaceEmpty: ",
		corev1.NamespaceConditionType("SomethingX"): "True NamespaceEmpty: ",
	} {
		t.Run(string(kind), func(t *testing.T) {
			c, project := deleting(t)
			c.settle("dev")
			namespace := existing(*project.Spec.Namespace, nil, nil)
			c.store.ChangeStatus(namespace, func() {
				namespace.Status.Conditions = []corev1.NamespaceCondition{{Type: kind, Status: corev1.ConditionTrue, Message: finalizers}}
			})
			c.settle("dev")
			got := c.condition("dev", gardenerv1beta1.ProjectDeletable)
			if hasPrefix(t, "Deletable", got, want); strings.HasPrefix(want, "False") && !strings.Contains(got, finalizers) {
				t.Errorf("Deletable = %q, want that it contains %q", got, finalizers)
			}
			hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False NamespaceTerminating: ")
			c.store.ChangeStatus(namespace, func() { namespace.Status.Conditions[0].Status = corev1.ConditionFalse })
			c.settle("dev")
			hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "True NamespaceEmpty: ")
		})
	}
}

// TestNamespaceThatSomebodyElseDeleted checks that the conditions report a namespace that is being deleted while an object blocks the
// deletion of the Project.
func TestNamespaceThatSomebodyElseDeleted(t *testing.T) {
	c, project := deleting(t, func(c *cluster, namespace string) {
		c.store.Add(kluster(namespace, "x"))
		c.store.Remove(existing(namespace, nil, nil))
	})
	c.settle("dev")
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "False NamespaceNotEmpty: ")
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "False NamespaceTerminating: ")
	hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False NamespaceTerminating: ")
	c.store.Remove(kluster(*project.Spec.Namespace, "x"))
	c.settle("dev")
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "True NamespaceEmpty: ")
}

func TestDeletion(t *testing.T) {
	c, project := deleting(t)
	result, err := c.reconcile("dev")
	if err != nil || result.RequeueAfter != waitPeriod {
		t.Errorf("%+v, %v", result, err)
	}
	want := []string{`delete namespace "` + *project.Spec.Namespace + `"`, `apply status of project "dev"`}
	if diff := cmp.Diff(want, c.store.Writes()); diff != "" {
		t.Error(diff)
	}
	if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Normal NamespaceMarkedForDeletion ") {
		t.Errorf("events %q", events)
	}
	if phase := c.current("dev").Status.Phase; phase != gardenerv1beta1.ProjectTerminating {
		t.Errorf("phase %s", phase)
	}
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "False NamespaceTerminating: ")
	hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False NamespaceTerminating: ")
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "True NamespaceEmpty: ")
	// As long as it exists, the Project does, too.
	if wrote := c.settle("dev"); wrote != 0 || !c.hasProject() {
		t.Errorf("waiting writes: %q", c.store.Writes())
	}
	c.finishDeletion(*project.Spec.Namespace)
	c.store.Reset()
	if result, err := c.reconcile("dev"); err != nil || !result.IsZero() {
		t.Errorf("%+v, %v", result, err)
	}
	// The roles go before the finalizer, bindings first.
	var kinds []string
	for _, write := range c.store.Writes() {
		kind, _, _ := strings.Cut(write, ` "`)
		if kind == "patch cluster role binding" { // its subjects, see TestRevocation
			continue
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
	}
	if diff := cmp.Diff([]string{"delete cluster role binding", "delete cluster role", "patch project"}, kinds); diff != "" || c.hasProject() {
		t.Error(diff)
	}
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("a Project that has been deleted is written: %q", c.store.Writes())
	}
}

func TestDeletionWaitsForObjectsInNamespace(t *testing.T) {
	for name, object := range map[string]client.Object{"a Kluster": kluster("", "x"), "a DiscoveryBackend": backend("", "x")} {
		for _, cached := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				c, project := deleting(t, func(c *cluster, namespace string) {
					object := object.DeepCopyObject().(client.Object)
					object.SetNamespace(namespace)
					c.store.Add(object)
				})
				if !cached { // only the API server knows
					c.followed.known = newCluster(t).store
				}
				result, err := c.reconcile("dev")
				if err != nil || result.RequeueAfter != waitPeriod {
					t.Errorf("%+v, %v", result, err)
				}
				if diff := cmp.Diff([]string{`apply status of project "dev"`}, c.store.Writes()); diff != "" {
					t.Error(diff)
				}
				if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning NamespaceNotEmpty ") {
					t.Errorf("events %q", events)
				}
				hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "False NamespaceNotEmpty: ")
				if phase := c.current("dev").Status.Phase; phase != gardenerv1beta1.ProjectTerminating {
					t.Errorf("phase %s", phase)
				}
				if wrote := c.settle("dev"); wrote != 0 || c.events() != nil {
					t.Errorf("it is reported again: %q", c.store.Writes())
				}
				finishDeletion := object.DeepCopyObject().(client.Object)
				finishDeletion.SetNamespace(*project.Spec.Namespace)
				c.store.Remove(finishDeletion)
				c.settle("dev")
				c.finishDeletion(*project.Spec.Namespace)
				c.settle("dev")
				if c.hasProject() {
					t.Error("it does not continue when the namespace is empty")
				}
			})
		}
	}
}

func TestDeletionIsNotAllowedWithoutKnowing(t *testing.T) {
	rejected := errors.New("refused")
	for name, prepare := range map[string]func(*cluster){
		"discovery fails": func(c *cluster) { c.servedErr = rejected },
		"a listing fails": func(c *cluster) {
			c.store.Read = func(verb string, _ runtime.Object) error { return map[string]error{"list": rejected}[verb] }
		},
		"the namespace cannot be read": func(c *cluster) {
			c.store.Read = func(verb string, _ runtime.Object) error { return map[string]error{"get": rejected}[verb] }
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, project := deleting(t)
			prepare(c)
			for range 2 {
				if _, err := c.reconcile("dev"); !errors.Is(err, rejected) {
					t.Errorf("got %v", err)
				}
			}
			if diff := cmp.Diff([]string{`apply status of project "dev"`}, c.store.Writes()); diff != "" {
				t.Error(diff)
			}
			hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "Unknown ContentsUnknown: ")
			if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning NamespaceDeletionFailed ") {
				t.Errorf("events %q", events)
			}
			namespace := &corev1.Namespace{}
			c.read("", *project.Spec.Namespace, namespace)
			if !namespace.DeletionTimestamp.IsZero() || !c.hasProject() {
				t.Error("it was deleted")
			}
		})
	}
}

func TestRejectedDeletion(t *testing.T) {
	c, _ := deleting(t)
	c.store.Fault = func(_ int, w kubetest.Write) error {
		write := w.String()
		if strings.HasPrefix(write, "delete namespace") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "x", errors.New("a webhook denies it"))
		}
		return nil
	}
	if _, err := c.reconcile("dev"); err == nil {
		t.Error("no error")
	}
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "False NamespaceDeletionFailed: delete namespace ")
	if phase := c.current("dev").Status.Phase; phase != gardenerv1beta1.ProjectFailed {
		t.Errorf("phase %s", phase)
	}
	if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning NamespaceDeletionFailed ") {
		t.Errorf("events %q", events)
	}
}

// TestDeletionHasPreconditions checks that exactly the checked namespace is deleted: not another one with the same name, and not
// one that was marked to be retained meanwhile.
func TestDeletionHasPreconditions(t *testing.T) {
	for name, meanwhile := range map[string]func(c *cluster, name string){
		"kept meanwhile": editNamespace(annotated(gardenerv1beta1.AnnotationKeepNamespace, "true")),
		"recreated meanwhile": func(c *cluster, name string) {
			namespace := &corev1.Namespace{}
			c.read("", name, namespace)
			c.store.Remove(namespace)
			c.finishDeletion(name)
			c.store.Add(existing(name, nil, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, project := deleting(t)
			c.store.Fault = func(_ int, w kubetest.Write) error {
				write := w.String()
				if strings.HasPrefix(write, "delete namespace") {
					c.store.Fault = nil
					meanwhile(c, *project.Spec.Namespace)
				}
				return nil
			}
			if _, err := c.reconcile("dev"); !kit.IsConcurrentChange(err) {
				t.Errorf("error = %v, want one that requests another try", err)
			}
			c.settle("dev")
			namespace := &corev1.Namespace{}
			c.read("", *project.Spec.Namespace, namespace)
			if !namespace.DeletionTimestamp.IsZero() || c.hasProject() {
				t.Errorf("deleted at %v, Project there: %t", namespace.DeletionTimestamp, c.hasProject())
			}
		})
	}
}

func TestNamespaceIsRetained(t *testing.T) {
	unmarked := func(ns *corev1.Namespace) {
		ns.Labels, ns.Annotations, ns.OwnerReferences = map[string]string{"team": "a"}, map[string]string{"b": "c"}, nil
	}
	for name, test := range map[string]struct {
		before func(*corev1.Namespace)
		// after is what the deletion of the Project changes in it.
		after func(*corev1.Namespace)
		wrote int
	}{
		"kept":                      {annotated(gardenerv1beta1.AnnotationKeepNamespace, "true"), unmarked, 2},
		"adopted":                   {adopted, unmarked, 2},
		"labels removed, not owned": {func(ns *corev1.Namespace) { ns.Labels = nil }, func(*corev1.Namespace) {}, 1},
		"labels removed, owned": {func(ns *corev1.Namespace) {
			ns.Labels = nil
			ownedByProject("dev", "project-dev")(ns)
		}, func(ns *corev1.Namespace) { ns.OwnerReferences = nil }, 2},
		"given to another project, not owned": {func(ns *corev1.Namespace) {
			annotated(gardenerv1beta1.AnnotationProjectUID, "z")(ns)
		}, func(*corev1.Namespace) {}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, project := deleting(t, editNamespace(func(ns *corev1.Namespace) {
				labelled("team", "a")(ns)
				annotated("b", "c")(ns)
				test.before(ns)
			}))
			want := &corev1.Namespace{}
			c.read("", *project.Spec.Namespace, want)
			test.after(want)
			c.settle("dev")
			// Roles and bindings leave a namespace that is not owned by Groundskeeper, which members_test.go is about.
			wrote := slices.DeleteFunc(c.store.Writes(), func(write string) bool { return strings.Contains(write, " role ") })
			if len(wrote) != test.wrote || c.hasProject() {
				t.Errorf("%d writes: %q", len(wrote), wrote)
			}
			got := &corev1.Namespace{}
			c.read("", *project.Spec.Namespace, got)
			want.ResourceVersion, want.ManagedFields = got.ResourceVersion, got.ManagedFields
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDeletionOfARejectedProject checks that a Project whose namespace was rejected is deleted immediately, whatever others have
// there.
func TestDeletionOfARejectedProject(t *testing.T) {
	c := newCluster(t)
	c.store.Add(existing("garden-x", nil, nil))
	c.store.Add(kluster("garden-x", "a"))
	project := c.project("dev", wanting("garden-x"))
	c.settle("dev")
	c.servedErr = errors.New("no response")
	c.followed.known = newCluster(t).store
	c.store.Remove(project)
	if wrote := c.settle("dev"); wrote != 1 || c.hasProject() {
		t.Errorf("%q", c.store.Writes())
	}
	namespace := &corev1.Namespace{}
	c.read("", "garden-x", namespace)
	if !namespace.DeletionTimestamp.IsZero() || len(namespace.Labels) > 0 {
		t.Errorf("the namespace was touched: %+v", namespace.ObjectMeta)
	}
}

func TestDeletionWithoutFinalizerIsIgnored(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev")
	c.settle("dev")
	change(c, project, func(p *gardenerv1beta1.Project) { p.Finalizers = []string{"somebody/else"} })
	c.store.Remove(project)
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("%q", c.store.Writes())
	}
	if _, err := c.reconcile("never-there"); err != nil {
		t.Error(err)
	}
}

// TestRolesStayAsLongAsTheProject checks that, while other finalizers retain a Project, its members have their roles;
// Groundskeeper's finalizer is removed last, after the roles.
func TestRolesStayAsLongAsTheProject(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", func(p *gardenerv1beta1.Project) { p.Finalizers = append(p.Finalizers, "somebody/else") })
	c.settle("dev")
	c.store.Remove(c.current("dev"))
	c.settle("dev")
	c.finishDeletion(*project.Spec.Namespace)
	c.settle("dev")
	roles := slices.DeleteFunc(desiredRBAC(project), func(object client.Object) bool { return object.GetNamespace() != "" })
	for _, object := range roles {
		if !c.exists("", object.GetName(), object) {
			t.Errorf("%s was deleted before its Project", describe(object))
		}
	}
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "True WaitingForFinalizers: ")
	if diff := cmp.Diff([]string{"gardener", "somebody/else"}, c.current("dev").Finalizers); diff != "" {
		t.Error(diff)
	}
	change(c, project, func(p *gardenerv1beta1.Project) { p.Finalizers = []string{"gardener"} })
	c.settle("dev")
	for _, object := range roles {
		if c.exists("", object.GetName(), object) {
			t.Errorf("%s outlives its Project", describe(object))
		}
	}
	if c.hasProject() {
		t.Error("the Project is still there")
	}
}

// TestDeletionWithALateCache checks that an extension role that was removed from the Project before the cache had it is deleted with the
// Project.
func TestDeletionWithALateCache(t *testing.T) {
	c := newCluster(t)
	c.store.Freeze(&gardenerv1beta1.Project{})
	reconciled := func() {
		t.Helper()
		if _, err := c.reconcile("dev"); err != nil {
			t.Fatal(err)
		}
	}
	project := c.project("dev", withMembers(member("bob", "extension:a")))
	reconciled()
	role := extensionRoleName(project, "a")
	if !c.exists("", role, &rbacv1.ClusterRole{}) {
		t.Fatal("the extension role does not exist")
	}
	change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members = p.Spec.Members[:1] })
	c.store.Remove(c.current("dev"))
	reconciled()
	c.finishDeletion(*project.Spec.Namespace)
	reconciled()
	if c.hasProject() || c.exists("", role, &rbacv1.ClusterRole{}) {
		t.Errorf("project exists = %t, extension role exists = %t, want neither", c.hasProject(), c.exists("", role, &rbacv1.ClusterRole{}))
	}
}

// TestDeletionLeavesRolesOfOthers checks that roles with the same names that belong to another Project or client are not deleted.
func TestDeletionLeavesRolesOfOthers(t *testing.T) {
	for name, edit := range map[string]func(client.Object){
		"of a namesake": func(object client.Object) { object.SetAnnotations(map[string]string{annotationProjectUID: "another"}) },
		"of no client":  func(object client.Object) { object.SetAnnotations(nil) },
		"owned by a namesake": func(object client.Object) {
			object.SetAnnotations(nil)
			object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Project", Name: "dev", UID: "another"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, project := deleting(t)
			role := &rbacv1.ClusterRole{}
			c.read("", roleMember+":dev", role)
			edit(role)
			if err := c.store.Update(t.Context(), role); err != nil {
				t.Fatal(err)
			}
			c.settle("dev")
			c.finishDeletion(*project.Spec.Namespace)
			c.settle("dev")
			if c.hasProject() || !c.exists("", role.Name, role) {
				t.Errorf("project is there = %t, role is there = %t, want the role only", c.hasProject(), c.exists("", role.Name, role))
			}
		})
	}
}

// TestProjectWaitsForItsRoles checks that an object that cannot be deleted retains the Project, so that nothing is left behind.
func TestProjectWaitsForItsRoles(t *testing.T) {
	c, project := deleting(t)
	c.settle("dev")
	c.finishDeletion(*project.Spec.Namespace)
	c.store.Fault = func(_ int, w kubetest.Write) error {
		write := w.String()
		if strings.HasPrefix(write, "delete cluster role ") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, "x", errors.New("no"))
		}
		return nil
	}
	if _, err := c.reconcile("dev"); err == nil || !c.hasProject() {
		t.Errorf("error = %v, project is there = %t", err, c.hasProject())
	}
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "False RolesFailed: ")
	c.store.Fault = nil
	c.settle("dev")
	if c.hasProject() {
		t.Error("the Project is still there")
	}
}

// TestProjectWaitsForRevocations checks that a Project stays while a former member may have a role.
func TestProjectWaitsForRevocations(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("mallory", "admin")))
	c.settle("dev")
	c.store.Remove(c.current("dev"))
	c.settle("dev")
	c.finishDeletion(*project.Spec.Namespace)
	change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members = p.Spec.Members[:1] })
	var once sync.Once
	c.store.Fault = func(i int, w kubetest.Write) (err error) {
		if fault := failing("patch cluster role binding")(i, w); fault != nil {
			once.Do(func() { err = fault })
		}
		return err
	}
	if _, err := c.reconcile("dev"); err == nil || !c.hasProject() {
		t.Errorf("error = %v, project is there = %t, want an error and the project", err, c.hasProject())
	}
	hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False RolesFailed: ")
	c.store.Fault = nil
	c.settle("dev")
	if c.hasProject() {
		t.Error("the Project is still there")
	}
}
