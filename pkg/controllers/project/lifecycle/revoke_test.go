// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
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

// marks are the changes of metadata with which a member could try to keep a binding.
func marks() map[string]func(*rbacv1.RoleBinding) {
	finalizer := func(b *rbacv1.RoleBinding) { b.Finalizers = []string{foreignFinalizer} }
	unmarked := func(b *rbacv1.RoleBinding) { b.Labels, b.Annotations = nil, nil }
	return map[string]func(*rbacv1.RoleBinding){
		"a finalizer":             finalizer,
		"no label":                func(b *rbacv1.RoleBinding) { b.Labels = nil },
		"no label, no annotation": unmarked,
		"marks of another": func(b *rbacv1.RoleBinding) {
			createdForAnother(b)
			b.Labels[gardenerv1beta1.LabelProjectName] = "another"
		},
		"a finalizer, without any mark":     func(b *rbacv1.RoleBinding) { finalizer(b); unmarked(b) },
		"a finalizer, deleted already":      finalizer,
		"no mark, a finalizer, and deleted": func(b *rbacv1.RoleBinding) { finalizer(b); unmarked(b) },
	}
}

func inNamespaceOnly(binding string) bool { return strings.HasPrefix(binding, "namespace/") }

// TestRevocation checks that a member loses the permissions in the namespace however they are withdrawn, whatever the
// metadata of the bindings is, and that a revocation that is complete writes nothing more.
func TestRevocation(t *testing.T) {
	ways := map[string]func(*cluster, *gardenerv1beta1.Project){
		"removed": func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, p, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = p.Spec.Members[:1], 2 })
		},
		"taken back": func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, existing(*p.Spec.Namespace, nil, nil), func(ns *corev1.Namespace) { ns.Labels = nil })
		},
		"deleted, and the namespace is kept": func(c *cluster, p *gardenerv1beta1.Project) {
			change(c, existing(*p.Spec.Namespace, nil, nil), func(ns *corev1.Namespace) {
				ns.Annotations[gardenerv1beta1.AnnotationKeepNamespace] = "true"
			})
			c.store.Remove(c.current("dev"))
		},
	}
	for mark, edit := range marks() {
		for way, revoke := range ways {
			for _, membership := range []bool{false, true} {
				t.Run(mark+", "+way+", by membership "+strconv.FormatBool(membership), func(t *testing.T) {
					c := newCluster(t)
					c.reconciler.byMembership = membership
					project := c.project("dev", withMembers(member("mallory", "admin", "viewer", "serviceaccountmanager", "extension:x")))
					c.settle("dev")
					names := []string{namespaceRoleMember, namespaceRoleViewer, namespaceRoleServiceAccountManager, extensionRoleName(project, "x")}
					for _, name := range names {
						binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: *project.Spec.Namespace, Name: name}}
						change(c, binding, edit)
						if mark == "a finalizer, deleted already" || mark == "no mark, a finalizer, and deleted" {
							c.store.Remove(binding)
						}
					}
					revoke(c, project)
					c.settle("dev")
					// Who is still a member may have ClusterRoleBindings for the Project.
					if got := c.subjectsIn("mallory"); slices.ContainsFunc(got, inNamespaceOnly) || way != "taken back" && len(got) != 0 {
						t.Errorf("bindings of the former member = %q, want none", got)
					}
					c.store.Reset()
					if wrote := c.settle("dev"); wrote != 0 {
						t.Errorf("%d writes when nothing changed: %q", wrote, c.store.Writes())
					}
				})
			}
		}
	}
}

// TestRevocationIsNotOutrun checks that a member cannot keep a binding by changing it before each write of the controller.
func TestRevocationIsNotOutrun(t *testing.T) {
	for _, name := range []string{namespaceRoleMember, "gardener.cloud:extension:project:dev:x"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			project := c.project("dev", withMembers(member("mallory", "admin", "extension:x")))
			c.settle("dev")
			change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = p.Spec.Members[:1], 2 })
			key := client.ObjectKey{Namespace: *project.Spec.Namespace, Name: name}
			c.store.Fault = func(i int, _ kubetest.Write) error {
				binding := &rbacv1.RoleBinding{}
				if err := c.store.Get(t.Context(), key, binding); err != nil {
					return client.IgnoreNotFound(err)
				}
				binding.Annotations["example.com/note"] = strconv.Itoa(i)
				return c.store.Update(t.Context(), binding)
			}
			if _, err := c.reconcile("dev"); err != nil && !kit.IsConcurrentChange(err) {
				t.Fatal(err)
			}
			if got := c.subjectsIn("mallory"); len(got) != 0 {
				t.Errorf("bindings of the former member = %q, want none", got)
			}
		})
	}
}

// TestFailedRevocationIsReported checks that no condition is True and no generation is observed while a former member is in a binding.
func TestFailedRevocationIsReported(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("mallory", "extension:x")))
	c.settle("dev")
	change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = p.Spec.Members[:1], 2 })
	c.store.Fault = failing("patch role binding")
	if _, err := c.reconcile("dev"); err == nil {
		t.Error("error = nil, want one")
	}
	hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False RolesFailed: update role binding ")
	if got := c.current("dev").Status.ObservedGeneration; got != 1 {
		t.Errorf("observedGeneration = %d, want 1", got)
	}
}

// TestStaleProjectRevokesNothing checks that the members of an outdated cache do not revoke what those of now have.
func TestStaleProjectRevokesNothing(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("bob", "viewer")))
	c.settle("dev")
	stale := c.current("dev")
	change(c, project, func(p *gardenerv1beta1.Project) {
		withMembers(member("bob", "viewer"), member("eve", "extension:x"))(p)
		p.Generation = 2
	})
	c.settle("dev")
	for name, edit := range map[string]func(){"its members": func() {}, "its uid": func() { stale.Generation, stale.UID = 2, "another" }} {
		t.Run(name, func(t *testing.T) {
			edit()
			c.store.Reset()
			namespace := &corev1.Namespace{}
			c.read("", *project.Spec.Namespace, namespace)
			x := &execution{reconciler: c.reconciler, project: stale}
			_ = x.revokeUnused(t.Context(), namespace, x.desired())
			if got := c.subjectsIn("eve"); len(got) != 1 || c.store.Count() > 0 {
				t.Errorf("bindings = %q, writes = %q, want one and none", got, c.store.Writes())
			}
		})
	}
}

func TestIsBindingOf(t *testing.T) {
	project := inNamespace("garden-dev")
	remembering := project.DeepCopy()
	remembering.Status.Conditions = []gardenerv1beta1.Condition{
		{Type: gardenerv1beta1.ProjectRBACReady, Status: "True", Reason: reasonRolesReconciled},
	}
	rejected := project.DeepCopy()
	rejected.Status.Conditions = []gardenerv1beta1.Condition{
		{Type: gardenerv1beta1.ProjectRBACReady, Status: "False", Reason: reasonNamespaceMissing},
	}
	claimed := newNamespace(project)
	unlabelled, of := existing("garden-dev", nil, nil), newNamespace(project)
	of.Annotations[gardenerv1beta1.AnnotationProjectUID], of.Labels = "another", nil
	const extension = "gardener.cloud:extension:project:dev:x"
	created := map[string]string{annotationProjectUID: string(project.UID)}
	for name, test := range map[string]struct {
		project     *gardenerv1beta1.Project
		namespace   *corev1.Namespace
		name, role  string
		annotations map[string]string
		want        bool
	}{
		"in its namespace":                               {project, claimed, namespaceRoleMember, namespaceRoleMember, created, true},
		"in its namespace, without mark":                 {project, claimed, namespaceRoleMember, namespaceRoleMember, nil, true},
		"extension, without mark":                        {project, claimed, extension, extension, nil, true},
		"extension by membership, without mark":          {project, claimed, extension, roleSharedExtension + "x", nil, true},
		"extension, without mark, of another role":       {project, claimed, extension, roleSharedExtension + "y", nil, false},
		"extension of another Project":                   {project, claimed, "gardener.cloud:extension:project:other:x", extension, nil, false},
		"another name":                                   {project, claimed, "made-by-a-member", namespaceRoleMember, created, false},
		"another role":                                   {project, claimed, namespaceRoleMember, "view", nil, false},
		"taken back, with the mark":                      {rejected, unlabelled, namespaceRoleMember, namespaceRoleMember, created, true},
		"taken back, remembered":                         {remembering, unlabelled, namespaceRoleMember, namespaceRoleMember, nil, true},
		"a namespace that was never the project's":       {rejected, unlabelled, namespaceRoleMember, namespaceRoleMember, nil, false},
		"a namespace of which nothing is known":          {project, unlabelled, namespaceRoleMember, namespaceRoleMember, nil, false},
		"given to another":                               {remembering, of, namespaceRoleMember, namespaceRoleMember, nil, false},
		"given to another, with the mark":                {remembering, of, namespaceRoleMember, namespaceRoleMember, created, true},
		"given to another, an extension":                 {remembering, of, extension, extension, nil, true},
		"given to another, an extension, not remembered": {rejected, of, extension, extension, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			binding := &rbacv1.RoleBinding{RoleRef: clusterRoleRef(test.role)}
			binding.Name, binding.Annotations = test.name, test.annotations
			if got := isBindingOf(test.project, test.namespace, binding); got != test.want {
				t.Errorf("isBindingOf = %t, want %t", got, test.want)
			}
		})
	}
}
