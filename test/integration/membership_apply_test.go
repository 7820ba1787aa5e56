// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// testApply checks that users who may create Projects can apply them as well, as GitOps tools do, and change no Project of others by it.
func (p *membershipPlane) testApply(t *testing.T) {
	const role, creator = "creates-projects", "creator"
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{gardenerv1beta1.GroupName}, Resources: []string{"projects"}, Verbs: []string{"create"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: creator}}},
		&gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}},
	} {
		if err := p.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(who, name string) error {
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}}
		manifest := client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project","metadata":{"name":"`+name+`"}}`))
		return impersonating(t, p.Config(), identity{name: who}).Patch(t.Context(), project, manifest, client.FieldOwner("gitops"))
	}
	for name, c := range map[string]struct {
		who, project string
		allowed      bool
	}{
		"a new one":                         {creator, "applied", true},
		"a new one, without the permission": {"stranger", "other", false},
		"one of others":                     {creator, "foreign", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := apply(c.who, c.project); c.allowed && err != nil || !c.allowed && !apierrors.IsForbidden(err) {
				t.Errorf("error = %v, want allowed = %t", err, c.allowed)
			}
		})
	}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "missing"}}
	if err := impersonating(t, p.Config(), identity{name: creator}).Get(t.Context(), client.ObjectKeyFromObject(project), project); !apierrors.IsNotFound(err) {
		t.Errorf("error of a name that does not exist = %v, want not found", err)
	}
}
