// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

const (
	pauses    = `{"metadata":{"annotations":{"groundskeeper.io/paused":"yes"}}}` // not what another test or phase specifies
	detaches  = `{"metadata":{"annotations":{"groundskeeper.io/detach":"true"}}}`
	destructs = `{"metadata":{"annotations":{"kubernikus.sap.cc/self-destruct":"now"}}}`
	protects  = `{"metadata":{"annotations":{"kubernikus.cloud.sap/termination-protection":"true"}}}`
	forces    = `{"metadata":{"annotations":{"confirmation.gardener.cloud/force-deletion":"true"}}}`
	holds     = `{"metadata":{"finalizers":["example.com/hold"],"labels":null,"annotations":null}}`
	keeps     = `{"metadata":{"finalizers":["example.com/hold"]}}`
	unkeeps   = `{"metadata":{"finalizers":null}}`
	// disowns gives an object an owner that does not exist: the garbage collector would delete it.
	disowns = `{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"},
		"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"00000000-0000-0000-0000-000000000000"}]}}`
)

// phase is a situation of a Project, and what it changes about what its members is allowed to do.
type phase struct {
	name  string
	enter func(t *testing.T, e estate)
	// deleting is set when the Project and its Kluster are being deleted, so that only finalizers keep them.
	deleting bool
	// leaving is set when the namespace and its Kluster are being deleted.
	leaving bool
	// homeless is set when the namespace is not the Project's any more.
	homeless bool
	// unobserved is set when observedGeneration stays.
	unobserved bool
}

func phases() []phase {
	return []phase{
		{name: "Ready", enter: func(*testing.T, estate) {}},
		{name: "Ready and paused", unobserved: true, enter: func(t *testing.T, e estate) {
			accepted(t, admin(t).Patch(t.Context(), copyOf(e.project), mergePatch(`{"metadata":{"annotations":{"groundskeeper.io/paused":"true"}}}`)))
			contains(t, e.project, "Ready", "Paused", "True", "PausedByAnnotation", "")
		}},
		{name: "Terminating", deleting: true, enter: terminates()},
		{name: "Terminating in the foreground", deleting: true, enter: terminates(client.PropagationPolicy(metav1.DeletePropagationForeground))},
		{name: "Terminating and orphaning", deleting: true, enter: terminates(client.PropagationPolicy(metav1.DeletePropagationOrphan))},
		{name: "Failed, the namespace was taken back", homeless: true, enter: func(t *testing.T, e estate) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.project.NamespaceName()}}
			change(t, namespace, func(ns *corev1.Namespace) { delete(ns.Labels, gardenerv1beta1.LabelProjectName) })
			contains(t, e.project, "Failed", "NamespaceReady", "False", "NamespaceNotLabelled", "")
		}},
		{name: "Pending, the namespace is being deleted", leaving: true, enter: func(t *testing.T, e estate) {
			e.leave(t)
			contains(t, e.project, "Pending", "NamespaceReady", "False", "NamespaceTerminating", "is being deleted")
		}},
		{name: "Terminating, the namespace is being deleted", deleting: true, leaving: true, enter: func(t *testing.T, e estate) {
			terminates()(t, e)
			e.leave(t)
			contains(t, e.project, "Terminating", "RBACReady", "False", "NamespaceTerminating", "")
		}},
	}
}

// leave deletes the namespace, which the Kluster holds, and waits until Kubernetes has deleted the bindings in it, which their finalizers
// hold: whoever has a finalizer on his binding keeps his permissions until the binding is emptied.
func (e estate) leave(t *testing.T) {
	t.Helper()
	deleted(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.project.NamespaceName()}})
	for _, name := range e.bindings() {
		binding := &rbacv1.RoleBinding{ObjectMeta: e.in(name)}
		eventually(t, func(ctx context.Context) error {
			if err := admin(t).Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil || binding.DeletionTimestamp != nil {
				return err
			}
			return fmt.Errorf("role binding %s is not being deleted", binding.Name)
		})
	}
}

// terminates deletes the Kluster, which is not released on the shared plane, and the Project, which waits for it.
func terminates(options ...client.DeleteOption) func(*testing.T, estate) {
	return func(t *testing.T, e estate) {
		accepted(t, admin(t).Delete(t.Context(), klusterIn(e.project.NamespaceName(), "k", ""), options...))
		accepted(t, admin(t).Delete(t.Context(), copyOf(e.project), options...))
		contains(t, e.project, "Terminating", "Deletable", "False", "NamespaceNotEmpty", "Kluster k")
	}
}

// inNamespace returns the roles with the permissions of members in the namespace.
func (p phase) inNamespace() []string {
	if p.homeless {
		return []string{}
	}
	return []string{owner, admins}
}

func patches(object client.Object, body string) request {
	return func(ctx context.Context, c client.WithWatch) error {
		return c.Patch(ctx, copyOf(object), mergePatch(body), client.DryRunAll)
	}
}

// privilegesInNamespace returns what kube-apiserver serves of what a member could do.
func (e estate) privilegesInNamespace(p phase) []right {
	return []right{
		{"list the secrets", p.inNamespace(), toList(&corev1.SecretList{}, e.project.NamespaceName())},
		{"hold a binding of the members", p.inNamespace(), patches(&rbacv1.RoleBinding{ObjectMeta: e.in(memberBinding)}, holds)},
	}
}

// privileges returns what a member could do to the others, and who is allowed to.
func (e estate) privileges(p phase) []right {
	members, managers, anonymous, inNamespace := []string{owner, admins}, []string{owner, uam}, []string{}, p.inNamespace()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: e.project.Name}}
	kluster := klusterIn(e.project.NamespaceName(), "k", "")
	created := func(key string) client.Object {
		k := klusterIn(e.project.NamespaceName(), "k2", "1.36.3")
		k.Annotations = map[string]string{key: "true"}
		return k
	}
	deletes := func(object client.Object, propagation metav1.DeletionPropagation) request {
		return func(ctx context.Context, c client.WithWatch) error {
			return c.Delete(ctx, copyOf(object), client.DryRunAll, client.PropagationPolicy(propagation))
		}
	}
	joins := func(role string) request {
		return func(ctx context.Context, c client.WithWatch) error {
			next := &gardenerv1beta1.Project{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(project), next); err != nil {
				return err
			}
			next.Spec.Members = append(next.Spec.Members, member("ServiceAccount", e.project.NamespaceName()+"/robot", role))
			return c.Update(ctx, next, client.DryRunAll)
		}
	}
	all := []right{
		{"get the project", []string{owner, admins, uam, viewer}, toGet(project)},
		{"list the project by its name", []string{owner, admins, uam, viewer}, toListNamed(project.Name)},
		{"watch the project by its name", []string{owner, admins, uam, viewer}, toWatchNamed(project.Name)},
		{"create a project", []string{creator}, toCreate(&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "more"}})},
		{"force the deletion of the project", []string{owner, admins, uam}, patches(project, forces)},
		{"pause the project", anonymous, patches(project, pauses)},
		{"have the project deleted by the garbage collector", members, patches(project, disowns)},
		{"make a service account a viewer", []string{owner, admins, uam}, joins("viewer")},
		{"make a service account manage service accounts", managers, joins("serviceaccountmanager")},
		{"give a service account the role of an extension", managers, joins("extension:x")},
		{"make a service account manage members", managers, joins("uam")},
		{"pause the kluster", anonymous, patches(kluster, pauses)},
		{"detach the kluster", inNamespace, patches(kluster, detaches)},
		{"end the deorbit of the kluster", inNamespace, patches(kluster, destructs)},
		{"protect the kluster", inNamespace, patches(kluster, protects)},
		{"have the kluster deleted by the garbage collector", inNamespace, patches(kluster, disowns)},
		{"register a paused kluster", anonymous, toCreate(created("groundskeeper.io/paused"))},
		{"register a detached kluster", inNamespace, toCreate(created(kubernikusv1.DetachAnnotation))},
		{"delete all klusters", inNamespace, func(ctx context.Context, c client.WithWatch) error {
			return c.DeleteAllOf(ctx, copyOf(kluster), client.InNamespace(kluster.Namespace), client.DryRunAll)
		}},
	}
	for _, propagation := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		all = append(all,
			right{fmt.Sprintf("delete the project (%s)", propagation), members, deletes(project, propagation)},
			right{fmt.Sprintf("delete the kluster (%s)", propagation), inNamespace, deletes(kluster, propagation)})
	}
	if p.deleting {
		all = append(all, right{"remove the finalizer of the project", anonymous, patches(project, unkeeps)})
	}
	if p.deleting || p.leaving {
		all = append(all, right{"remove the finalizer of the kluster", anonymous, patches(kluster, unkeeps)})
		// A namespace that is being deleted takes nothing new.
		all = slices.DeleteFunc(all, func(r right) bool { return r.what == "register a detached kluster" })
	}
	return all
}

// TestPrivileges checks each role with each privilege, in each phase and by each kind of deletion. Then it removes all members
// except the owner, and checks that they have no permissions left, although one of them has tried to keep them.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	roles := everyRole()
	for _, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t)
			e.hold(t)
			p.enter(t, e)
			for _, role := range roles {
				judge(t, as(t, e.user(role)), role, append(e.privileges(p), e.privilegesInNamespace(p)...))
				direct := shared.DirectConfig(1) // past the kube-apiserver
				direct.Impersonate.UserName, direct.Impersonate.Groups = e.user(role), []string{"system:authenticated"}
				judge(t, clientOf(t, direct), role, e.privileges(p))
			}
			change(t, e.project, func(p *gardenerv1beta1.Project) {
				p.Spec.Members = []gardenerv1beta1.ProjectMember{member("User", e.user(owner), "owner")}
			})
			for _, role := range roles[1:] {
				e.hasNothing(t, role)
			}
			if p.homeless {
				e.hasNothingInTheNamespace(t, owner)
			}
			eventually(t, func(ctx context.Context) error {
				if err := admin(t).Get(ctx, client.ObjectKeyFromObject(e.project), e.project); err != nil {
					return err
				}
				if observed := e.project.Status.ObservedGeneration == e.project.Generation; observed == p.unobserved {
					return fmt.Errorf("observedGeneration = %d of %d", e.project.Status.ObservedGeneration, e.project.Generation)
				}
				return nil
			})
		})
	}
}

// judge sends all requests, and complains about each that a role is allowed to send and cannot, or the other way round.
func judge(t *testing.T, c client.WithWatch, role string, permissions []right) {
	t.Helper()
	for _, right := range permissions {
		if right.isOf(role) {
			eventually(t, func(ctx context.Context) error {
				if err := right.request(ctx, c); err != nil {
					return fmt.Errorf("%s: %s: %w", role, right.what, err)
				}
				return nil
			})
		}
	}
	for _, right := range permissions {
		if right.isOf(role) {
			continue
		}
		// In some phases a role loses something, which a server may remember for a while.
		eventually(t, func(ctx context.Context) error {
			if err := right.request(ctx, c); !apierrors.IsForbidden(err) {
				return fmt.Errorf("%s: %s: got %s, want it forbidden", role, right.what, fmt.Sprint(err))
			}
			return nil
		})
	}
}

// hasNothing waits until a role has lost all that any role gives.
func (e estate) hasNothing(t *testing.T, role string) {
	t.Helper()
	e.hasNothingInTheNamespace(t, role)
	lacks(t, as(t, e.user(role)), role, toGet(&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: e.project.Name}}),
		toGet(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.project.NamespaceName()}}))
}

func (e estate) hasNothingInTheNamespace(t *testing.T, role string) {
	t.Helper()
	namespace := e.project.NamespaceName()
	lacks(t, as(t, e.user(role)), role, toList(&kubernikusv1.KlusterList{}, namespace), toList(&corev1.SecretList{}, namespace),
		toList(&corev1.ConfigMapList{}, namespace), toList(&corev1.PodList{}, namespace), toDelete(&corev1.ServiceAccount{ObjectMeta: e.in("a")}))
}

func lacks(t *testing.T, c client.WithWatch, role string, requests ...request) {
	t.Helper()
	for i, request := range requests {
		eventually(t, func(ctx context.Context) error {
			if err := request(ctx, c); !isRejected(err) {
				return errors.Join(fmt.Errorf("%s was removed, request %d is not rejected", role, i), err)
			}
			return nil
		})
	}
}

// TestFinalizersNeedTheirVerb checks that only Groundskeeper's controllers and users with the verb for it can remove their
// finalizers, whatever other permissions a client has.
func TestFinalizersNeedTheirVerb(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	manager, groups := account("groundskeeper-system", "groundskeeper-controller-manager")
	// The release of a backend waits for the pods of its discoverer.
	pod := &corev1.Pod{ObjectMeta: e.in("discoverer"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	pod.Labels = map[string]string{"app.kubernetes.io/name": "groundskeeper-discoverer", "app.kubernetes.io/instance": e.backend}
	eventually(t, func(ctx context.Context) error { return admin(t).Create(ctx, pod) }) // its service account has to be there
	for _, right := range finalizing {
		t.Run(right.Resource, func(t *testing.T) {
			object := map[string]client.Object{
				"projects": e.other, "klusters": klusterIn(e.other.NamespaceName(), "k", ""),
				"translations": &midonetv1.Translation{ObjectMeta: e.in("t")}, "discoverybackends": backend(e.in(e.backend)),
			}[right.Resource]
			if err := remove(t.Context(), admin(t), object); err != nil {
				t.Fatal(err)
			}
			unkept := func(ctx context.Context, c client.WithWatch) error {
				return c.Patch(ctx, copyOf(object), mergePatch(unkeeps), client.DryRunAll)
			}
			for user, verbs := range map[string][]string{
				name(t, "editor"):   {"get", "list", "update", "patch", "delete", "deletecollection"},
				name(t, "releaser"): {"patch", "manage-finalizers"},
			} {
				role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
					APIGroups: []string{right.Group}, Resources: []string{right.Resource, right.Resource + "/status", right.Resource + "/finalizers"}, Verbs: verbs}}}
				inTheCluster(t, role)
				inTheCluster(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
					Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
				c := as(t, user)
				if slices.Contains(verbs, right.Verb) {
					eventually(t, func(ctx context.Context) error { return unkept(ctx, c) })
					continue
				}
				eventually(t, func(ctx context.Context) error { return toPatch(object)(ctx, c) })
				rejected(t, unkept(t.Context(), c), `without the verb "manage-finalizers"`)
			}
			if right.Resource != "klusters" { // the shared plane has no controllers of Klusters, and not their role
				accepted(t, unkept(t.Context(), as(t, manager, groups...)))
			}
		})
	}
}
