// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestAppliedRolesReplaceOldOnes checks that server-side apply removes roles that are no longer in the manifest. With a keyed list
// of members an old role would remain in `role`, which no applier owns.
func TestAppliedRolesReplaceOldOnes(t *testing.T) {
	projects := client(t, 0, asJSON).GardenerV1beta1().Projects()
	object := name(t, "roles")
	apply := func(member string) gardenerv1beta1.ProjectMember {
		t.Helper()
		body := fmt.Sprintf(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project","metadata":{"name":%q},
			"spec":{"members":[{"kind":"User","name":"a",%s}]}}`, object, member)
		project, err := projects.Patch(t.Context(), object, types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "gitops"})
		if err != nil {
			t.Fatal(err)
		}
		return project.Spec.Members[0]
	}
	for _, step := range []struct {
		applied string
		want    []string
	}{
		{`"roles":["viewer"]`, []string{"viewer"}},
		{`"roles":["uam"]`, []string{"uam"}},
		{`"roles":["admin","uam"]`, []string{"admin", "uam"}},
		{`"roles":["uam"]`, []string{"uam"}},
		{`"role":"admin"`, []string{"admin"}},
		{`"role":"viewer","roles":["viewer","extension:x"]`, []string{"viewer", "extension:x"}},
		{`"roles":[]`, []string{"viewer"}},
	} {
		member := apply(step.applied)
		if !slices.Equal(member.AllRoles(), step.want) || member.Role != step.want[0] {
			t.Errorf("after applying %s: role %q, roles %v; want %v", step.applied, member.Role, member.Roles, step.want)
		}
	}
}

// TestServerChoicesSurviveAReplacedManifest checks that fields that the server set survive a replaced or applied manifest without
// them.
func TestServerChoicesSurviveAReplacedManifest(t *testing.T) {
	ctx, projects := t.Context(), client(t, 0, asJSON).GardenerV1beta1().Projects()
	owner := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "olivia"}
	manifest := &gardenerv1beta1.Project{ObjectMeta: created(name(t, "kept")), Spec: gardenerv1beta1.ProjectSpec{Description: new("as written")}}
	full := manifest.DeepCopy()
	full.Spec.Owner, full.Spec.CreatedBy = &owner, &owner
	made, err := projects.Create(ctx, full, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := gardenerv1beta1.GeneratedNamespace(made.Name, made.UID); made.NamespaceName() != want {
		t.Errorf("namespace %q, want %q", made.NamespaceName(), want)
	}
	replaced, err := projects.Update(ctx, manifest, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made.Spec, replaced.Spec); diff != "" || replaced.Generation != 1 {
		t.Errorf("the replaced manifest changed the generation to %d and the spec (-before +after):\n%s", replaced.Generation, diff)
	}
	moved := manifest.DeepCopy()
	moved.Spec.Namespace = new("garden-elsewhere")
	if _, err := projects.Update(ctx, moved, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a change of the namespace: %v", err)
	}
}

// TestProjectsAreSelectedByNamespace checks that Projects can be selected by their namespace, in the watch cache and in etcd.
func TestProjectsAreSelectedByNamespace(t *testing.T) {
	ctx, projects := t.Context(), client(t, 0, asProtobuf).GardenerV1beta1().Projects()
	made, err := projects.Create(ctx, &gardenerv1beta1.Project{ObjectMeta: created(name(t, "sel"))}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := projects.List(ctx, metav1.ListOptions{FieldSelector: gardenerv1beta1.ProjectNamespaceField + "=" + made.NamespaceName()})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Name != made.Name {
		t.Errorf("selected %v", list.Items)
	}
	if _, err := projects.List(ctx, metav1.ListOptions{FieldSelector: "spec.owner=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
}
