// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// TestOrphans checks that a namespace whose Project does not exist is reported with the bindings of its members, and that no other is.
func TestOrphans(t *testing.T) {
	const role = "gardener.cloud:system:project-member"
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: role, Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"},
		Annotations: map[string]string{gardenerv1beta1.AnnotationCreatedForProject: "1"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}}
	shop := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "1"}}
	down := apierrors.NewServiceUnavailable("no endpoints")
	for _, test := range []struct {
		name    string
		objects []client.Object
		fails   map[string]error
		listed  map[string]types.UID
		want    []string
	}{
		{name: "no Project", objects: []client.Object{namespaceOf("1", nil), binding},
			want: []string{"belongs to Project shop with uid 1, which does not exist", "keep the roles of these RoleBindings: " + role}},
		{name: "the Project exists", objects: []client.Object{namespaceOf("1", nil), shop}, listed: map[string]types.UID{"shop": "1"}},
		{name: "a Project that was created after the list", objects: []client.Object{namespaceOf("1", nil), shop}},
		{name: "another Project of its name", objects: []client.Object{namespaceOf("2", nil), shop}, listed: map[string]types.UID{"shop": "1"},
			want: []string{"the Project of this name has uid 1"}},
		{name: "being deleted", objects: []client.Object{namespaceOf("1", deleting(corev1.NamespaceContentRemaining, ""))}},
		{name: "bindings may not be listed", objects: []client.Object{namespaceOf("1", nil), binding}, fails: map[string]error{"RoleBindingList": errForbidden},
			want: []string{"which does not exist", "Which members keep their roles is unknown"}},
		{name: "the Project cannot be read", objects: []client.Object{namespaceOf("1", nil)}, fails: map[string]error{"Project": down},
			want: []string{"get the Project of namespace garden-shop: no endpoints"}},
		{name: "namespaces may not be listed", objects: []client.Object{namespaceOf("1", nil)}, fails: map[string]error{"NamespaceList": errForbidden}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, out := on(t, test.fails, test.objects...)
			r := &report.Report{}
			c.orphans(t.Context(), r, test.listed)
			c.printReport(r)
			if len(test.want) == 0 && out.String() != "" {
				t.Errorf("output = %s, want none", out)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output = %s, want %q in it", out, want)
				}
			}
		})
	}
}
