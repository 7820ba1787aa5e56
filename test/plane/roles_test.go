// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	projectNamespace = "garden-roles"
	otherNamespace   = "garden-other"
)

// access is one question: may who do what, and the response.
type access struct {
	who                             user
	verb, group, resource, sub, obj string
	namespace                       string
	allowed                         bool
}

// testRoles queries kube-apiserver what the roles in artifacts/ allow, after kube-controller-manager has aggregated them.
func testRoles(t *testing.T, p *Plane) {
	c := client(t, p)
	member, viewer, accounts, stranger := user{name: "member"}, user{name: "viewer"}, user{name: "accounts"}, user{name: "stranger"}
	administrator, auditor := user{name: "administrator"}, user{name: "auditor"}
	for _, namespace := range []string{projectNamespace, otherNamespace} {
		if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for role, who := range map[string]user{"project-member": member, "project-viewer": viewer, "project-serviceaccountmanager": accounts} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gardener.cloud:system:" + role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who.name}},
		}
		if _, err := c.RbacV1().RoleBindings(projectNamespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for role, who := range map[string]user{"administrators": administrator, "viewers": auditor} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gardener.cloud:system:" + role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who.name}},
		}
		if _, err := c.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	server, manager := serviceAccount(apiserverName), serviceAccount(managerName)
	in := func(a access) access { a.namespace = projectNamespace; return a }
	questions := []access{
		// A member: klusters in full; what reaches beyond the namespace only to read.
		in(access{who: member, verb: "create", group: "kubernikus.sap.cc", resource: "klusters", allowed: true}),
		in(access{who: member, verb: "deletecollection", group: "kubernikus.sap.cc", resource: "klusters", allowed: true}),
		in(access{who: member, verb: "update", group: "kubernikus.sap.cc", resource: "klusters", sub: "status"}),
		in(access{who: member, verb: "list", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true}),
		in(access{who: member, verb: "create", group: "gimbal.heptio.com", resource: "discoverybackends"}),
		in(access{who: member, verb: "watch", group: "midonet.org", resource: "translations", allowed: true}),
		in(access{who: member, verb: "patch", group: "midonet.org", resource: "translations"}),
		in(access{who: member, verb: "get", resource: "secrets", allowed: true}),
		in(access{who: member, verb: "update", resource: "configmaps", allowed: true}),
		in(access{who: member, verb: "create", resource: "serviceaccounts"}),
		in(access{who: member, verb: "create", resource: "serviceaccounts", sub: "token"}),
		in(access{who: member, verb: "update", resource: "resourcequotas"}),
		in(access{who: member, verb: "list", group: "events.k8s.io", resource: "events", allowed: true}),
		in(access{who: member, verb: "create", group: rbacv1.GroupName, resource: "rolebindings", allowed: true}),
		in(access{who: member, verb: "bind", group: rbacv1.GroupName, resource: "clusterroles"}),
		in(access{who: member, verb: "delete", resource: "namespaces", obj: projectNamespace}),
		{who: member, verb: "get", group: "kubernikus.sap.cc", resource: "klusters", namespace: otherNamespace},
		{who: member, verb: "list", group: "core.gardener.cloud", resource: "projects"},
		// A viewer: everything but Secrets, to read.
		in(access{who: viewer, verb: "get", group: "kubernikus.sap.cc", resource: "klusters", allowed: true}),
		in(access{who: viewer, verb: "update", group: "kubernikus.sap.cc", resource: "klusters"}),
		in(access{who: viewer, verb: "list", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true}),
		in(access{who: viewer, verb: "list", group: "midonet.org", resource: "translations", allowed: true}),
		in(access{who: viewer, verb: "list", resource: "configmaps", allowed: true}),
		in(access{who: viewer, verb: "get", resource: "secrets"}),
		in(access{who: viewer, verb: "list", resource: "secrets"}),
		in(access{who: viewer, verb: "create", group: rbacv1.GroupName, resource: "rolebindings"}),
		// A manager of service accounts: these and nothing else.
		in(access{who: accounts, verb: "create", resource: "serviceaccounts", allowed: true}),
		in(access{who: accounts, verb: "create", resource: "serviceaccounts", sub: "token", allowed: true}),
		in(access{who: accounts, verb: "get", resource: "secrets"}),
		in(access{who: accounts, verb: "get", group: "kubernikus.sap.cc", resource: "klusters"}),
		in(access{who: stranger, verb: "get", group: "kubernikus.sap.cc", resource: "klusters"}),
		// Those who manage everything.
		in(access{who: administrator, verb: "create", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true}),
		{who: administrator, verb: "manage-members", group: "core.gardener.cloud", resource: "projects", obj: "p", allowed: true},
		in(access{who: administrator, verb: "get", resource: "secrets", allowed: true}),
		in(access{who: auditor, verb: "list", group: "kubernikus.sap.cc", resource: "klusters", allowed: true}),
		{who: auditor, verb: "delete", group: "core.gardener.cloud", resource: "projects", obj: "p"},
		in(access{who: auditor, verb: "get", resource: "secrets"}),
		// Groundskeeper's API server.
		{who: server, verb: "list", resource: "namespaces", allowed: true},
		{who: server, verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews", allowed: true},
		{who: server, verb: "create", group: "authentication.k8s.io", resource: "tokenreviews", allowed: true},
		{who: server, verb: "get", resource: "configmaps", obj: "extension-apiserver-authentication", namespace: "kube-system", allowed: true},
		{who: server, verb: "list", group: "admissionregistration.k8s.io", resource: "mutatingadmissionpolicies", allowed: true},
		{who: server, verb: "update", resource: "configmaps", obj: "groundskeeper-store", namespace: systemNamespace, allowed: true},
		{who: server, verb: "update", resource: "configmaps", obj: "other", namespace: systemNamespace},
		{who: server, verb: "delete", resource: "configmaps", obj: "groundskeeper-store", namespace: systemNamespace},
		{who: server, verb: "patch", resource: "configmaps", obj: "groundskeeper-apiservers", namespace: systemNamespace, allowed: true},
		{who: server, verb: "patch", resource: "configmaps", obj: "other", namespace: systemNamespace},
		in(access{who: server, verb: "get", resource: "secrets"}),
		{who: server, verb: "create", resource: "namespaces"},
		// Groundskeeper's controller manager.
		{who: manager, verb: "delete", resource: "namespaces", obj: projectNamespace, allowed: true},
		{who: manager, verb: "escalate", group: rbacv1.GroupName, resource: "clusterroles", allowed: true},
		{who: manager, verb: "bind", group: rbacv1.GroupName, resource: "clusterroles", allowed: true},
		in(access{who: manager, verb: "patch", group: rbacv1.GroupName, resource: "rolebindings", allowed: true}),
		in(access{who: manager, verb: "patch", resource: "resourcequotas", allowed: true}),
		in(access{who: manager, verb: "create", resource: "events", allowed: true}),
		{who: manager, verb: "patch", group: "core.gardener.cloud", resource: "projects", sub: "status", obj: "p", allowed: true},
		// It owns nothing by owner references that block, and removes its own finalizer.
		{who: manager, verb: "update", group: "core.gardener.cloud", resource: "projects", sub: "finalizers", obj: "p"},
		{who: manager, verb: "manage-finalizers", group: "core.gardener.cloud", resource: "projects", obj: "p", allowed: true},
		{who: manager, verb: "list", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true},
		{who: manager, verb: "update", group: "coordination.k8s.io", resource: "leases", obj: managerName, namespace: systemNamespace, allowed: true},
		{who: manager, verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: "kube-system"},
		{who: manager, verb: "get", resource: "configmaps", obj: "groundskeeper-apiservers", namespace: systemNamespace, allowed: true},
		{who: manager, verb: "patch", resource: "configmaps", obj: "groundskeeper-apiservers", namespace: systemNamespace},
		{who: manager, verb: "create", group: "core.gardener.cloud", resource: "projects"},
		in(access{who: manager, verb: "get", resource: "secrets"}),
		in(access{who: manager, verb: "list", resource: "secrets"}),
		// It releases backends that are deleted, and runs no discoverers.
		in(access{who: manager, verb: "patch", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true}),
		in(access{who: manager, verb: "patch", group: "gimbal.heptio.com", resource: "discoverybackends", sub: "status", allowed: true}),
		in(access{who: manager, verb: "delete", group: "gimbal.heptio.com", resource: "discoverybackends"}),
		in(access{who: manager, verb: "delete", group: "apps", resource: "deployments", allowed: true}),
		in(access{who: manager, verb: "create", group: "apps", resource: "deployments"}),
		in(access{who: manager, verb: "patch", group: "apps", resource: "deployments"}),
		in(access{who: manager, verb: "delete", resource: "services", allowed: true}),
		in(access{who: manager, verb: "create", resource: "services"}),
		in(access{who: manager, verb: "delete", group: "discovery.k8s.io", resource: "endpointslices", allowed: true}),
		in(access{who: manager, verb: "delete", resource: "pods"}),
		in(access{who: manager, verb: "update", group: "networking.k8s.io", resource: "ingresses", allowed: true}),
		in(access{who: manager, verb: "create", resource: "serviceaccounts"}),
		in(access{who: manager, verb: "escalate", group: rbacv1.GroupName, resource: "roles"}),
	}
	review(t, c, questions)
}

// testKlusterRoles queries what the roles in artifacts/kluster allow besides, where Klusters are managed.
func testKlusterRoles(t *testing.T, p *Plane) {
	out, err := exec.CommandContext(t.Context(), p.Kubectl(), "--kubeconfig", p.AdminKubeconfig(), "apply", "-k", "../../artifacts/kluster").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	manager := serviceAccount(managerName)
	in := func(a access) access { a.who, a.namespace = manager, projectNamespace; return a }
	review(t, client(t, p), []access{
		// Their finalizers and their status, and nothing else of them.
		in(access{verb: "patch", group: "kubernikus.sap.cc", resource: "klusters", allowed: true}),
		in(access{verb: "patch", group: "kubernikus.sap.cc", resource: "klusters", sub: "status", allowed: true}),
		in(access{verb: "delete", group: "kubernikus.sap.cc", resource: "klusters"}),
		in(access{verb: "create", group: "kubernikus.sap.cc", resource: "klusters"}),
		in(access{verb: "update", group: "kubernikus.sap.cc", resource: "klusters"}),
		// Their Secrets, and which cluster it runs in itself.
		in(access{verb: "get", resource: "secrets", allowed: true}),
		in(access{verb: "patch", resource: "secrets", allowed: true}),
		in(access{verb: "update", resource: "secrets"}),
		{who: manager, verb: "get", resource: "namespaces", obj: "kube-system", allowed: true},
		// Their announcements.
		in(access{verb: "delete", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true}),
		in(access{verb: "create", group: "gimbal.heptio.com", resource: "discoverybackends", allowed: true}),
		in(access{verb: "delete", resource: "pods"}),
	})
}

// It sends requests, and compares the responses.
func review(t *testing.T, c kubernetes.Interface, questions []access) {
	t.Helper()
	// The API server knows roles and bindings a moment after they were made: what is allowed is waited for, and each of them
	// allows something.
	slices.SortStableFunc(questions, func(a, b access) int {
		switch {
		case a.allowed == b.allowed:
			return 0
		case a.allowed:
			return -1
		default:
			return 1
		}
	})
	for _, q := range questions {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: q.who.name, Groups: q.who.groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: q.verb, Group: q.group, Resource: q.resource, Subresource: q.sub, Name: q.obj, Namespace: q.namespace, Version: "*",
			},
		}}
		allowed := false
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			response, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, review.DeepCopy(), metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			allowed = response.Status.Allowed
			return allowed || !q.allowed, nil
		})
		if err != nil && !wait.Interrupted(err) {
			t.Fatal(err)
		}
		if allowed != q.allowed {
			t.Errorf("%s %s %s/%s %s in %q: allowed is %v", q.who.name, q.verb, q.resource, q.sub, q.obj, q.namespace, allowed)
		}
	}
}
