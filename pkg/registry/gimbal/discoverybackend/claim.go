// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackend

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// ClaimRule makes names of DiscoveryBackends unique over all namespaces, and lets none be a dash-prefix of another:
// what is discovered is called <backend>-<service>, so "us" and "us-east" could want one name.
func ClaimRule() claims.Rule {
	return claims.Rule{
		Separator: "-",
		Name: func(obj runtime.Object) string {
			if backend, ok := obj.(*gimbalv1.DiscoveryBackend); ok {
				return backend.Name
			}
			return ""
		},
		Rejection: rejection,
	}
}

// rejection is the error for a name that is not free.
func rejection(obj runtime.Object, held string) error {
	backend, ok := obj.(*gimbalv1.DiscoveryBackend)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T claims no name", obj))
	}
	if backend.Name == held {
		return apierrors.NewForbidden(gimbalv1.Resource("discoverybackends"), backend.Name,
			fmt.Errorf("metadata.name: a DiscoveryBackend %q exists in another namespace: choose a name that no other one has", held))
	}
	return apierrors.NewForbidden(gimbalv1.Resource("discoverybackends"), backend.Name,
		fmt.Errorf("metadata.name: DiscoveryBackend %q exists, and services of the two could have the same name: choose a name that neither starts with %q nor is a prefix of it", held, held+"-"))
}
