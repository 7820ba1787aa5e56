// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const foreignFinalizer = "example.com/foreign"

// subjectsIn lists which bindings have a subject, sorted.
func (c *cluster) subjectsIn(name string) []string {
	c.t.Helper()
	var found []string
	has := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Name == name })
	}
	cluster, namespaced := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	for _, list := range []client.ObjectList{cluster, namespaced} {
		if err := c.store.List(c.t.Context(), list); err != nil {
			c.t.Fatal(err)
		}
	}
	for i := range cluster.Items {
		if has(cluster.Items[i].Subjects) {
			found = append(found, "cluster/"+cluster.Items[i].Name)
		}
	}
	for i := range namespaced.Items {
		if has(namespaced.Items[i].Subjects) {
			found = append(found, "namespace/"+namespaced.Items[i].Name)
		}
	}
	slices.Sort(found)
	return found
}

// phases returns the situations in which a Project is not simply provided for.
func phases() map[string]func(*cluster, *gardenerv1beta1.Project) {
	namespace := func(edit func(*corev1.Namespace)) func(*cluster, *gardenerv1beta1.Project) {
		return func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, existing(*p.Spec.Namespace, nil, nil), edit)
		}
	}
	occupied := func(c *cluster, p *gardenerv1beta1.Project) {
		c.store.Add(kluster(*p.Spec.Namespace, "x"))
		c.store.Remove(c.current("dev"))
	}
	return map[string]func(*cluster, *gardenerv1beta1.Project){
		"ready": func(*cluster, *gardenerv1beta1.Project) {},
		"paused": func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, p, func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
		},
		"terminating, the namespace is in use": occupied,
		"terminating and paused": func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, p, func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
			occupied(c, p)
		},
		"terminating, the contents are unknown": func(c *cluster, p *gardenerv1beta1.Project) {
			c.store.Remove(c.current("dev"))
			c.servedErr = errors.New("discovery fails")
		},
		"terminating, the namespace is deleted": func(c *cluster, _ *gardenerv1beta1.Project) {
			c.store.Remove(c.current("dev"))
			c.settle("dev")
		},
		"terminating, another client's finalizer keeps it": func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, p, func(p *gardenerv1beta1.Project) { p.Finalizers = append(p.Finalizers, foreignFinalizer) })
			c.store.Remove(c.current("dev"))
			c.settle("dev")
			c.finishDeletion(*p.Spec.Namespace)
			c.settle("dev")
		},
		"failed, the quota is rejected": func(c *cluster, _ *gardenerv1beta1.Project) {
			c.reconciler.quotas = mustRules(c.t, quotaConfig(limits("pods", "5"), nil))
			c.store.Fault = failing("resource quota")
		},
		"failed, the namespace cannot be written": func(c *cluster, p *gardenerv1beta1.Project) {
			namespace(func(ns *corev1.Namespace) {
				ns.OwnerReferences, ns.Annotations[gardenerv1beta1.AnnotationProjectUID] = nil, ""
			})(c, p)
			change(c, existing(*p.Spec.Namespace, nil, nil), func(ns *corev1.Namespace) { delete(ns.Annotations, gardenerv1beta1.AnnotationProjectUID) })
			c.store.Fault = failing("patch namespace")
		},
		"waits for its namespace":      func(c *cluster, p *gardenerv1beta1.Project) { c.store.Remove(existing(*p.Spec.Namespace, nil, nil)) },
		"the namespace was taken back": namespace(func(ns *corev1.Namespace) { delete(ns.Labels, gardenerv1beta1.LabelProjectName) }),
		"the namespace was given to another": namespace(func(ns *corev1.Namespace) {
			ns.Annotations[gardenerv1beta1.AnnotationProjectUID] = "another"
		}),
		"the namespace was taken back, paused": func(c *cluster, p *gardenerv1beta1.Project) {
			namespace(func(ns *corev1.Namespace) { ns.Labels = nil })(c, p)
			change(c, p, func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
		},
	}
}

func failing(part string) func(int, kubetest.Write) error {
	return func(_ int, w kubetest.Write) error {
		write := w.String()
		if strings.Contains(write, part) {
			return errors.New("refused")
		}
		return nil
	}
}

// TestMembersAreRevokedInEveryPhase checks that a former member loses all roles, even if something else blocks the reconciliation.
func TestMembersAreRevokedInEveryPhase(t *testing.T) {
	for name, enter := range phases() {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			project := c.project("dev", withMembers(member("mallory", "admin", "uam", "viewer", "serviceaccountmanager", "extension:x")))
			c.settle("dev")
			if got := c.subjectsIn("mallory"); len(got) != 7 {
				t.Fatalf("bindings of the member = %q, want 7", got)
			}
			enter(c, project)
			for range 3 {
				_, _ = c.reconcile("dev")
			}
			change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = p.Spec.Members[:1], 2 })
			for range 3 {
				_, _ = c.reconcile("dev")
			}
			if got := c.subjectsIn("mallory"); len(got) != 0 {
				t.Errorf("bindings of a member that was removed = %q, want none", got)
			}
		})
	}
}

// TestMembersAreRevokedFromBindingsOutsideTheCache checks that a binding that lost Groundskeeper's label, and is therefore not in
// the cache, is revoked.
func TestMembersAreRevokedFromBindingsOutsideTheCache(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("mallory", "admin")))
	c.settle("dev")
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: *project.Spec.Namespace, Name: namespaceRoleMember}}
	change(c, binding, func(b *rbacv1.RoleBinding) { b.Labels = nil })
	change(c, project, func(p *gardenerv1beta1.Project) {
		p.Annotations, p.Spec.Members = map[string]string{kit.AnnotationPaused: "true"}, p.Spec.Members[:1]
	})
	c.settle("dev")
	if got := c.subjectsIn("mallory"); len(got) != 0 {
		t.Errorf("bindings of a member that was removed = %q, want none", got)
	}
}

// TestBindingsAreDeletedFromDetachedNamespace checks that, if the namespace no longer belongs to the Project, Groundskeeper's
// bindings in it are deleted, whatever their labels and annotations are, and nothing else.
func TestBindingsAreDeletedFromDetachedNamespace(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("bob", "viewer", "extension:x")))
	c.settle("dev")
	namespace := *project.Spec.Namespace
	own := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "made-by-a-member", Labels: map[string]string{gardenerv1beta1.LabelProjectName: "dev"}}}
	c.store.Add(own)
	viewer := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespaceRoleViewer}}
	change(c, viewer, func(b *rbacv1.RoleBinding) { b.Labels[gardenerv1beta1.LabelProjectName] = "another" })
	accounts := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespaceRoleServiceAccountManager}}
	change(c, accounts, func(b *rbacv1.RoleBinding) { createdForAnother(b) })
	change(c, existing(namespace, nil, nil), func(ns *corev1.Namespace) { ns.Labels = nil })
	c.settle("dev")
	for name, want := range map[string]bool{
		namespaceRoleMember: false, extensionRoleName(project, "x"): false,
		"made-by-a-member": true, namespaceRoleViewer: false, namespaceRoleServiceAccountManager: false,
	} {
		if got := c.exists(namespace, name, &rbacv1.RoleBinding{}); got != want {
			t.Errorf("role binding %s exists = %t, want %t", name, got, want)
		}
	}
	// Who has the namespace now may use the same names.
	c.store.Add(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespaceRoleViewer},
		RoleRef: clusterRoleRef(namespaceRoleViewer), Subjects: []rbacv1.Subject{user("theirs")}})
	c.settle("dev")
	if got := c.subjectsIn("theirs"); len(got) != 1 {
		t.Errorf("the bindings of the next owner = %q, want one", got)
	}
	role := &rbacv1.ClusterRole{}
	c.read("", roleMember+":dev", role)
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "namespaces") {
			t.Errorf("the members still have %v on a namespace that is not theirs", rule)
		}
	}
	change(c, existing(namespace, nil, nil), func(ns *corev1.Namespace) { ns.Labels = projectLabels(project) })
	c.settle("dev")
	if !c.exists(namespace, namespaceRoleMember, &rbacv1.RoleBinding{}) || c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Error("the bindings do not come back with the namespace")
	}
}

// createdForAnother makes an object one of a Project of the same name and another uid.
func createdForAnother(object client.Object) {
	object.SetAnnotations(map[string]string{annotationProjectUID: "another"})
	object.SetOwnerReferences(nil)
}

// A member who may edit bindings in the namespace cannot keep a role by removing the annotation with its subject.
func TestMembersCannotDisownTheirBindings(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("mallory", "admin")))
	c.settle("dev")
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: *project.Spec.Namespace, Name: namespaceRoleMember}}
	change(c, binding, func(b *rbacv1.RoleBinding) { b.Annotations, b.Labels, b.OwnerReferences = nil, nil, nil })
	change(c, project, func(p *gardenerv1beta1.Project) {
		p.Annotations, p.Spec.Members = map[string]string{kit.AnnotationPaused: "true"}, p.Spec.Members[:1]
	})
	c.settle("dev")
	if got := c.subjectsIn("mallory"); len(got) != 0 {
		t.Errorf("bindings of a member that was removed = %q, want none", got)
	}
}

// TestRolesOfANamesakeAreLeftAlone checks that a Project that is paused or being deleted does not adopt roles of another Project
// with the same name.
func TestRolesOfANamesakeAreLeftAlone(t *testing.T) {
	for _, name := range []string{"paused", "terminating, the namespace is in use", "the namespace was taken back"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			project := c.project("dev", withMembers(member("bob", "viewer")))
			c.settle("dev")
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleViewer + ":dev"}}
			phases()[name](c, project)
			c.settle("dev")
			change(c, binding, func(b *rbacv1.ClusterRoleBinding) { createdForAnother(b) })
			change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = p.Spec.Members[:1], 2 })
			c.settle("dev")
			c.read("", binding.Name, binding)
			if binding.Annotations[annotationProjectUID] != "another" || len(binding.Subjects) != 1 {
				t.Errorf("the binding of another Project was changed: %+v", binding)
			}
		})
	}
}

// TestBindingsStayWhenTheCacheIsStale checks that an outdated cache does not cause deletions of bindings.
func TestBindingsStayWhenTheCacheIsStale(t *testing.T) {
	c := newCluster(t)
	c.project("dev")
	c.settle("dev")
	c.store.Reset()
	if err := (&execution{reconciler: c.reconciler, project: c.current("dev")}).withdrawBindings(t.Context()); !kit.IsConcurrentChange(err) {
		t.Errorf("error = %v, want one that requests another try", err)
	}
	if c.store.Count() > 0 {
		t.Errorf("writes = %q, want none", c.store.Writes())
	}
}

// TestPauseCreatesNothing checks that a paused Project neither grants roles nor revokes those of members.
func TestPauseCreatesNothing(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev")
	c.settle("dev")
	c.store.Remove(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: *project.Spec.Namespace, Name: namespaceRoleMember}})
	change(c, project, func(p *gardenerv1beta1.Project) {
		p.Annotations = map[string]string{kit.AnnotationPaused: "true"}
		withMembers(member("bob", "extension:x"))(p)
	})
	c.settle("dev")
	if c.exists(*project.Spec.Namespace, namespaceRoleMember, &rbacv1.RoleBinding{}) || len(c.subjectsIn("bob")) > 0 {
		t.Errorf("a pause created bindings: %q", c.store.Writes())
	}
	if got := c.subjectsIn("alice"); len(got) != 3 {
		t.Errorf("bindings of the owner = %q, want 3", got)
	}
}

// TestObservedGenerationWaitsForTheRoles checks that observedGeneration is updated only after exactly the members of that
// generation have their roles.
func TestObservedGenerationWaitsForTheRoles(t *testing.T) {
	for name, enter := range phases() {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			project := c.project("dev", withMembers(member("mallory", "admin")))
			c.settle("dev")
			enter(c, project)
			before := c.current("dev").Status.ObservedGeneration
			change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = p.Spec.Members[:1], 2 })
			c.store.Fault = failing("role binding")
			for range 3 {
				_, _ = c.reconcile("dev")
			}
			if got := c.current("dev").Status.ObservedGeneration; got != before {
				t.Errorf("observedGeneration = %d while %q still name a member that was removed, want %d", got, c.subjectsIn("mallory"), before)
			}
		})
	}
}
