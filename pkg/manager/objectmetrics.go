// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/objectstate"
)

// registerObjectMetrics adds the configured metrics of single objects, of the kinds that controllers watch: nothing is watched for
// metrics alone. Without kinds it removes those of an earlier manager.
func registerObjectMetrics(from cache.Cache, config v1alpha1.ObjectMetricsConfiguration) error {
	kinds, err := objectstate.Cached(watchedOnly{from}, config.Kinds)
	if err != nil {
		return err
	}
	return objectstate.Register(metrics.Registry, int(*config.Limit), kinds...)
}
