// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestNormalizedFormIsStored checks that the normalized manifest has the same members and owner as the stored object, so that an
// apply of the same manifest changes nothing.
func TestNormalizedFormIsStored(t *testing.T) {
	user := func(fields ...any) map[string]any {
		member := map[string]any{"kind": "User", "name": "anna"}
		for i := 0; i < len(fields); i += 2 {
			member[fields[i].(string)] = fields[i+1]
		}
		return member
	}
	list := func(names ...any) []any { return names }
	for name, member := range map[string]map[string]any{
		"nothing":            user(),
		"role":               user("role", "uam"),
		"roles":              user("roles", list("viewer")),
		"several":            user("roles", list("admin", "uam", "owner")),
		"role and roles":     user("role", "uam", "roles", list("viewer", "uam", "viewer")),
		"an empty role":      user("role", "", "roles", list("viewer")),
		"empty roles":        user("role", "viewer", "roles", list()),
		"an empty entry":     user("roles", list("", "viewer")),
		"null":               user("role", nil, "roles", nil),
		"a group":            user("kind", "Group"),
		"an empty API group": user("apiGroup", ""),
		"a service account":  user("kind", "ServiceAccount", "namespace", "a"),
		"stored":             user("apiGroup", "rbac.authorization.k8s.io", "role", "viewer"),
	} {
		t.Run(name, func(t *testing.T) {
			owner := map[string]any{"kind": "User", "name": "olivia"}
			object := map[string]any{"spec": map[string]any{"owner": owner, "members": []any{member}}}
			project := &gardenerv1beta1.Project{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, project); err != nil {
				t.Fatal(err)
			}
			gardenerv1beta1.NormalizeProject(project)
			stored, err := runtime.DefaultUnstructuredConverter.ToUnstructured(project)
			if err != nil {
				t.Fatal(err)
			}
			normalizeProject(object)
			if diff := cmp.Diff(stored["spec"], object["spec"]); diff != "" {
				t.Errorf("(-stored +applied):\n%s", diff)
			}
			if normalizeProject(object) {
				t.Error("it is changed again")
			}
		})
	}
}
