// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// ClaimRule lets one Project hold a namespace.
func ClaimRule() claims.Rule {
	return claims.Rule{
		Separator: "/", // in no namespace: only equal names exclude each other
		Name: func(obj runtime.Object) string {
			if project, ok := obj.(*gardenerv1beta1.Project); ok {
				return project.NamespaceName()
			}
			return ""
		},
		Rejection: rejection,
	}
}

// rejection is the error for a Project whose namespace another one holds.
func rejection(obj runtime.Object, held string) error {
	project, ok := obj.(*gardenerv1beta1.Project)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T claims no namespace", obj))
	}
	return apierrors.NewForbidden(gardenerv1beta1.Resource("projects"), project.Name,
		fmt.Errorf("spec.namespace: namespace %q is already in-use by another project: choose another one", held))
}
