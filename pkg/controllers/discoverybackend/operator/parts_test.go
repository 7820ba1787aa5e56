// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"testing"

	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Only a backend of administrators is bound in all namespaces.
func TestPermissions(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace            string
		missing              gimbalv1.MissingNamespacePolicy
		bindings, everywhere []string
	}{
		"admin":               {adminNamespace, gimbalv1.MissingNamespaceWait, []string{roleBackend}, []string{roleServices}},
		"admin who creates":   {adminNamespace, gimbalv1.MissingNamespaceCreate, []string{roleBackend}, []string{roleServices, roleNamespaces}},
		"elsewhere":           {"shop", gimbalv1.MissingNamespaceWait, []string{roleBackend, roleServices}, nil},
		"elsewhere, creating": {"shop", gimbalv1.MissingNamespaceCreate, []string{roleBackend, roleServices}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			backend := testBackend(tc.namespace, "east")
			backend.Cluster.Namespaces.Missing = tc.missing
			var bindings, everywhere []string
			for _, part := range permissions(backend, []string{adminNamespace}) {
				switch binding := part.desired.(type) {
				case *rbacapply.RoleBindingApplyConfiguration:
					bindings = append(bindings, *binding.RoleRef.Name)
					if *binding.Namespace != tc.namespace || *binding.Subjects[0].Namespace != tc.namespace {
						t.Errorf("a binding in namespace %s", *binding.Namespace)
					}
				case *rbacapply.ClusterRoleBindingApplyConfiguration:
					everywhere = append(everywhere, *binding.RoleRef.Name)
				}
			}
			if !slices.Equal(bindings, tc.bindings) || !slices.Equal(everywhere, tc.everywhere) {
				t.Errorf("%q, and everywhere %q", bindings, everywhere)
			}
		})
	}
}
