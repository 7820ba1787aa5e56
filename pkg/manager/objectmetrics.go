// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/objectstate"
)

// registerObjectMetrics adds the configured metrics of single objects, of the kinds that controllers watch: nothing is watched for
// metrics alone. Without kinds it removes those of an earlier manager.
func registerObjectMetrics(shared cache.Cache, controllers []controller, config v1alpha1.ObjectMetricsConfiguration) error {
	from := caches{shared: shared}
	for _, c := range controllers {
		if c.own != nil {
			from.own = append(from.own, c.own)
		}
	}
	kinds, err := objectstate.Cached(from, config.Kinds)
	if err != nil {
		return err
	}
	return objectstate.Register(metrics.Registry, int(*config.Limit), kinds...)
}

// ownCache is the additional cache of a controller, which is set when the controller is added to a manager.
type ownCache struct{ cache atomic.Pointer[cache.Cache] }

// set notes the cache; nil: there is none.
func (o *ownCache) set(c cache.Cache) {
	if c == nil {
		o.cache.Store(nil)
		return
	}
	o.cache.Store(&c)
}

// caches are all of a manager.
type caches struct {
	shared cache.Cache
	own    []*ownCache
}

// GetInformer returns the informer of the cache that has the kind of an object.
func (c caches) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	for _, o := range c.own {
		own := o.cache.Load()
		if own == nil {
			continue
		}
		if informer, err := (watchedOnly{*own}).GetInformer(ctx, object, options...); err == nil {
			return informer, nil
		}
	}
	return watchedOnly{c.shared}.GetInformer(ctx, object, options...)
}
