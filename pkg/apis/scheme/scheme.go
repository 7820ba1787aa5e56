// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package scheme registers the four kinds of Groundskeeper with schemes.
package scheme

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// AddToScheme registers the versions that clients see.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(
		gardenerv1beta1.AddToScheme,
		kubernikusv1.AddToScheme,
		midonetv1.AddToScheme,
		gimbalv1.AddToScheme,
	)
	return builder.AddToScheme(scheme)
}

// AddHubToScheme registers the same Go types once more as the internal version of their groups: a kind with a single
// version is its own hub, and needs no conversion.
func AddHubToScheme(scheme *runtime.Scheme) {
	hub := func(group string, types ...runtime.Object) {
		scheme.AddKnownTypes(schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}, types...)
	}
	hub(gardenerv1beta1.GroupName, &gardenerv1beta1.Project{}, &gardenerv1beta1.ProjectList{})
	hub(kubernikusv1.GroupName, &kubernikusv1.Kluster{}, &kubernikusv1.KlusterList{})
	hub(midonetv1.GroupName, &midonetv1.Translation{}, &midonetv1.TranslationList{})
	hub(gimbalv1.GroupName, &gimbalv1.DiscoveryBackend{}, &gimbalv1.DiscoveryBackendList{})
}
