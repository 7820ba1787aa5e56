// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package objectstate

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// informers are those of a cache. An informer of a kind that no controller watches is an error.
type informers interface {
	GetInformer(ctx context.Context, object client.Object, options ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error)
}

// stored is an informer with a store, as all of this process are.
type stored interface{ GetStore() cache.Store }

// examples returns an object of each kind, by name.
func examples() map[string]client.Object {
	return map[string]client.Object{
		"Project": &gardenerv1beta1.Project{}, "Kluster": &kubernikusv1.Kluster{},
		"DiscoveryBackend": &gimbalv1.DiscoveryBackend{}, "Translation": &midonetv1.Translation{},
	}
}

// Cached returns kinds whose objects are those in a cache. They are read where the cache stores them: a list of the cache would copy
// all, and hold all Translations unpacked.
func Cached(from informers, names []string) ([]Kind, error) {
	var kinds []Kind
	for _, name := range names {
		example, ok := examples()[name]
		if !ok {
			return nil, fmt.Errorf("there are no metrics of kind %s", name)
		}
		kinds = append(kinds, Kind{Name: name, List: func(ctx context.Context) ([]any, error) {
			informer, err := from.GetInformer(ctx, example)
			if err != nil {
				return nil, err
			}
			with, ok := informer.(stored)
			if !ok {
				return nil, fmt.Errorf("the informer of %s has no store", name)
			}
			return with.GetStore().List(), nil
		}})
	}
	return kinds, nil
}
