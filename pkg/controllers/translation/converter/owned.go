// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

const (
	// translationsByOwner finds Translations by the buckets of the keys that translationKeys returns. It is an index of the
	// informer itself: one that a client requests has each key twice, with the namespace and without.
	translationsByOwner = ControllerName + "/owner"
	// buckets is how many there are. A dedicated key for each owner takes more memory than a packed Translation does; with 100,000
	// of them a bucket has six.
	buckets = 1 << 14
)

func bucketOf(key string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return strconv.Itoa(int(hash.Sum32() % buckets))
}

// indexTranslations adds the index to a cache that has not begun, and returns what finds Translations by it.
func indexTranslations(ctx context.Context, informers cache.Informers) (func(key string) ([]*midonetv1.Translation, error), error) {
	informer, err := informers.GetInformer(ctx, &midonetv1.Translation{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("the cache of Translations for controller %s: %w", ControllerName, err)
	}
	indexed, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return nil, fmt.Errorf("the cache of Translations for controller %s is a %T, which has no indexes", ControllerName, informer)
	}
	if err := informer.AddIndexers(toolscache.Indexers{translationsByOwner: ownerBuckets}); err != nil {
		return nil, fmt.Errorf("index Translations for controller %s: %w", ControllerName, err)
	}
	return func(key string) ([]*midonetv1.Translation, error) {
		if !informer.HasSynced() {
			return nil, errors.New("the cache of Translations is not filled yet")
		}
		found, err := indexed.GetIndexer().ByIndex(translationsByOwner, bucketOf(key))
		if err != nil {
			return nil, err
		}
		var translations []*midonetv1.Translation
		for _, object := range found {
			keys, err := keysIn(object)
			if err != nil {
				return nil, err
			}
			if slices.Contains(keys, key) {
				translations = append(translations, packed.Of(object))
			}
		}
		return translations, nil
	}, nil
}

func ownerBuckets(object any) ([]string, error) {
	keys, err := keysIn(object)
	for i, key := range keys {
		keys[i] = bucketOf(key)
	}
	return keys, err
}

// keysIn returns the translationKeys of an object of the cache.
func keysIn(object any) ([]string, error) {
	metadata := packed.Metadata(object)
	if metadata == nil {
		return nil, fmt.Errorf("a %T is in the cache of Translations", object)
	}
	return translationKeys(metadata), nil
}
