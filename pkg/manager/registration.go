// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/lifecycle"
)

// controllers is the list of all controllers, in the order they are added.
func controllers() []controller {
	return []controller{
		{
			name:  lifecycle.ControllerName,
			apis:  []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion},
			cache: lifecycle.CacheOptions,
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				return lifecycle.AddToManager(mgr, config.Project)
			},
		},
	}
}
