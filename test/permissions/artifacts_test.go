// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func load(t *testing.T) *Roles {
	t.Helper()
	all, err := Load("../../artifacts")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each role in the manifests has a comment, and so has each rule of the roles of Groundskeeper's processes.
func TestRolesDocumentReasons(t *testing.T) {
	all := load(t)
	if _, err := NewUse(all); err != nil {
		t.Error(err)
	}
	for _, role := range all.Roles {
		if role.Why == "" && (role.IsOwn() || strings.HasPrefix(role.File, "rbac/")) {
			t.Errorf("%s: %s has no comment above it", role.File, role.ID())
		}
		for i, rule := range role.Rules {
			if rule.Why == "" && role.IsOwn() {
				t.Errorf("%s: %s, rule %d has no comment: %+v", role.File, role.ID(), i, rule.PolicyRule)
			}
		}
	}
	for _, b := range all.Foreign {
		if b.Why == "" {
			t.Errorf("%s: %s %s has no comment above it", b.File, b.Kind, b.Name)
		}
	}
}

// Installations with fewer components only remove permissions.
func TestPatchesOnlyRevokePermissions(t *testing.T) {
	all := load(t)
	for file, id := range map[string]string{
		"install/controllers-only/permissions.yaml": "ClusterRole groundskeeper-controller-manager",
		"install/cert-manager/permissions.yaml":     "Role groundskeeper-controller-manager-certificate",
	} {
		text, err := os.ReadFile("../../artifacts/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var patch []struct {
			Path  string
			Value []rbacv1.PolicyRule
		}
		if err := yaml.Unmarshal(text, &patch); err != nil || len(patch) != 1 || patch[0].Path != "/rules" {
			t.Fatalf("%s: %+v, %v", file, patch, err)
		}
		whole := all.Roles[slices.IndexFunc(all.Roles, func(r Role) bool { return r.ID() == id })]
		less := Role{Kind: whole.Kind, Name: whole.Name, Namespace: whole.Namespace}
		for _, rule := range patch[0].Value {
			less.Rules = append(less.Rules, Rule{PolicyRule: rule})
		}
		for _, permission := range permissionsOf(t, less) {
			if !slices.Contains(permissionsOf(t, whole), permission) {
				t.Errorf("%s adds the permission %s", file, permission)
			}
		}
	}
}

// permissionsOf returns the permissions of a role, without the numbers of their rules.
func permissionsOf(t *testing.T, role Role) []Right {
	t.Helper()
	permissions, err := role.Permissions()
	if err != nil {
		t.Fatal(err)
	}
	for i := range permissions {
		permissions[i].Rule = 0
	}
	return permissions
}

func TestPermissionsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Page(load(t)), string(page)); diff != "" {
		t.Errorf("docs/permissions.md is stale, run \"go run ./hack/permissions\" (-want +got):\n%s", diff)
	}
}
