// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// With the API server as an authorization webhook, `kubectl auth can-i` knows the members of Projects.
func TestProjectAuthorizationWebhook(t *testing.T) {
	t.Parallel()
	p := startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, ProjectWebhook: true, APIServerFlags: []string{"--project-authorization=membership"},
	})
	admin := clientOf(t, p.Config())
	applied(t, admin, artifact("membership", "access.yaml"), artifact("membership", "webhook", "access.yaml"))
	reader := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "projects-reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{gardenerv1beta1.GroupName}, Resources: []string{"projects", "projects/any"}, Verbs: []string{"get", "list", "watch"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: reader.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	project := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "lea", "viewer"), member("Group", "staff", "uam")}},
	}
	for _, object := range []client.Object{reader, binding, project} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	allowed := func(who identity, verb, name string) error {
		return canI(t, impersonating(t, p.Config(), who), verb, name, true)
	}
	forbidden := func(who identity, verb, name string) error {
		return canI(t, impersonating(t, p.Config(), who), verb, name, false)
	}
	lea, nina, rolf := identity{name: "lea"}, identity{name: "nina"}, identity{name: "rolf", groups: []string{"readers"}}
	for what, check := range map[string]func() error{
		"a viewer reads":            func() error { return allowed(lea, "get", "shop") },
		"a viewer changes nothing":  func() error { return forbidden(lea, "update", "shop") },
		"the owner changes":         func() error { return allowed(identity{name: "olivia"}, "delete", "shop") },
		"the owner manages members": func() error { return allowed(identity{name: "olivia"}, "manage-members", "shop") },
		"a group manages members": func() error {
			return allowed(identity{name: "sue", groups: []string{"staff"}}, "manage-members", "shop")
		},
		"another user":                  func() error { return forbidden(nina, "get", "shop") },
		"a project that does not exist": func() error { return forbidden(nina, "get", "missing") },
		"all projects":                  func() error { return forbidden(lea, "delete", "") },
		"a list of one's own":           func() error { return allowed(nina, "list", "") },
		"deletecollection":              func() error { return forbidden(identity{name: "olivia"}, "deletecollection", "") },
		"who reads all":                 func() error { return allowed(rolf, "get", "shop") },
		"who reads all changes nothing": func() error { return forbidden(rolf, "update", "shop") },
		"the administrator":             func() error { return canI(t, admin, "update", "shop", true) },
	} {
		t.Run(what, func(t *testing.T) { eventually(t, func(context.Context) error { return check() }) })
	}
	// The requests themselves are decided the same way.
	if err := toGet(project)(t.Context(), impersonating(t, p.Config(), lea)); err != nil {
		t.Errorf("lea gets: %v", err)
	}
	if err := toGet(project)(t.Context(), impersonating(t, p.Config(), nina)); !apierrors.IsForbidden(err) {
		t.Errorf("nina gets: %v", err)
	}
	// Who is removed is no longer allowed.
	eventually(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		project.Spec.Members = project.Spec.Members[:1]
		return admin.Update(ctx, project)
	})
	eventually(t, func(context.Context) error { return forbidden(lea, "get", "shop") })
	// kube-apiserver cannot list what a webhook allows, and reports that.
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
	if err := impersonating(t, p.Config(), nina).Create(t.Context(), rules); err != nil || !rules.Status.Incomplete {
		t.Errorf("rules: incomplete %v, %v", rules.Status.Incomplete, err)
	}
	// Without the API server RBAC decides alone, so that all else continues.
	if err := p.APIServers[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(context.Context) error { return allowed(nina, "get", "shop") })
}

// canI compares what `kubectl auth can-i` would print.
func canI(t *testing.T, c client.Client, verb, name string, want bool) error {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Group: gardenerv1beta1.GroupName, Version: "v1beta1", Resource: "projects", Verb: verb, Name: name,
	}}}
	if err := c.Create(t.Context(), review); err != nil {
		return err
	}
	if review.Status.Allowed != want {
		return fmt.Errorf("%s %q: %+v, want %v", verb, name, review.Status, want)
	}
	return nil
}
