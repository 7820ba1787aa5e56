// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func ruleFor(verbs string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"core.gardener.cloud"}, Verbs: strings.Split(verbs, ","), Resources: resources}
}

func TestOpens(t *testing.T) {
	named := ruleFor("manage-members", "projects")
	named.ResourceNames = []string{"dev"}
	everywhere := ruleFor("*", "*")
	everywhere.APIGroups = []string{"*"}
	elsewhere := ruleFor("manage-members", "projects")
	elsewhere.APIGroups = []string{"example.com"}
	for name, test := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  bool
	}{
		"nothing":                         {nil, false},
		"that of artifacts/membership":    {[]rbacv1.PolicyRule{ruleFor("get,list,watch,update,patch,delete,manage-members", "projects")}, true},
		"all verbs of projects":           {[]rbacv1.PolicyRule{ruleFor("*", "projects", "quotas")}, true},
		"one project":                     {[]rbacv1.PolicyRule{named}, false},
		"readers":                         {[]rbacv1.PolicyRule{ruleFor("get,list,watch", "projects")}, false},
		"another group":                   {[]rbacv1.PolicyRule{elsewhere}, false},
		"administrators, one rule":        {[]rbacv1.PolicyRule{ruleFor("*", "projects", "projects/any")}, false},
		"administrators, two rules":       {[]rbacv1.PolicyRule{ruleFor("*", "projects"), ruleFor("manage-members", "projects/any")}, false},
		"administrators, any of all":      {[]rbacv1.PolicyRule{ruleFor("*", "projects", "*/any")}, false},
		"administrators of the cluster":   {[]rbacv1.PolicyRule{everywhere}, false},
		"readers of projects of others":   {[]rbacv1.PolicyRule{ruleFor("manage-members", "projects"), ruleFor("get", "projects/any")}, true},
		"only projects of others":         {[]rbacv1.PolicyRule{ruleFor("manage-members", "projects/any")}, false},
		"only the status, or a different": {[]rbacv1.PolicyRule{ruleFor("*", "projects/status", "quotas")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := opens(test.rules); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestBindingsOf(t *testing.T) {
	role := func(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	}
	binding := func(name, role string, groups ...string) *rbacv1.ClusterRoleBinding {
		b := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}}
		for _, group := range groups {
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: group})
		}
		return b
	}
	objects := []runtime.Object{
		role("open", ruleFor("*", "projects")), role("closed", ruleFor("get", "projects")),
		binding("b", "open", "employees", "partners"), binding("a", "open", "x"), binding("none", "open"), binding("c", "closed", "x"), binding("d", "missing", "x"),
	}
	client := fake.NewClientset(objects...)
	got, err := BindingsOf(client.RbacV1())(t.Context())
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].String() != "ClusterRoleBinding b (ClusterRole open, Group employees, Group partners)" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, action := range client.Actions() { // thousands of objects of single Projects are not read
		if selector := action.(clienttesting.ListAction).GetListRestrictions().Labels.String(); selector != "!project.gardener.cloud/name" {
			t.Errorf("listed %s with %q", action.GetResource().Resource, selector)
		}
	}
	forbidden := apierrors.NewForbidden(rbacv1.Resource("x"), "", errors.New("no"))
	for name, test := range map[string]struct {
		resource string
		err      error
		want     string
	}{
		"roles are unknown":    {"clusterroles", forbidden, "artifacts/rbac"},
		"bindings are unknown": {"clusterrolebindings", forbidden, "artifacts/rbac"},
		"no RBAC":              {"clusterroles", apierrors.NewNotFound(rbacv1.Resource("clusterroles"), ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(objects...)
			client.PrependReactor("list", test.resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
			got, err := BindingsOf(client.RbacV1())(t.Context())
			if len(got) > 0 || (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
