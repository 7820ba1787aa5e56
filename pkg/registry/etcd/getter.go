// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package etcd builds the storage of a resource: an etcd client, the library's store, the claims of
// the names its objects hold, and the watch cache. The library's own factory (k8s.io/apiserver
// pkg/storage/storagebackend/factory) offers no place for the claims, which belong between client
// and store; everything else here follows it.
package etcd

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// Getter hands out the REST options of each resource, with Groundskeeper's storage in place of the library's. One Getter serves all
// resources of one server.
type Getter struct {
	next      generic.RESTOptionsGetter
	options   *genericoptions.EtcdOptions
	rules     map[schema.GroupResource]claims.Rule
	written   func(revision int64)
	compactor compactor
}

// NewGetter returns a Getter.
//
//   - next is what EtcdOptions.ApplyWithStorageFactoryTo put into the server's configuration: it knows
//     codecs, encryption and etcd servers of each resource.
//   - options are those same options; they report which resources have a watch cache.
//   - rules are the names that objects take, for the resources that have any.
//   - written, unless nil, is called with the revision of every write and every deletion of an object
//     by this process, concurrently and not in order.
func NewGetter(next generic.RESTOptionsGetter, options *genericoptions.EtcdOptions, rules map[schema.GroupResource]claims.Rule, written func(revision int64)) *Getter {
	return &Getter{next: next, options: options, rules: rules, written: written}
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g *Getter) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := g.next.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	options.Decorator = g.decorate
	return options, nil
}

// decorate builds the storage of one resource, from the client up to the watch cache. The function
// it returns destroys all of it; calling that again does nothing, as subresources share a storage.
func (g *Getter) decorate(config *storagebackend.ConfigForResource, resourcePrefix string, keyFunc func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	cached, err := g.hasWatchCache(config.GroupResource)
	if err != nil {
		return nil, nil, err
	}
	store, held, destroy, err := g.store(config, resourcePrefix, newFunc, newListFunc)
	if err != nil {
		return nil, nil, fmt.Errorf("storage of %s: %w", config.GroupResource, err)
	}
	if cached {
		watchCache, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage: store, Versioner: storage.APIObjectVersioner{}, GroupResource: config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow, ResourcePrefix: resourcePrefix, KeyFunc: keyFunc,
			NewFunc: newFunc, NewListFunc: newListFunc, GetAttrsFunc: attributes, IndexerFuncs: triggers, Indexers: indexers,
			Codec: config.Codec,
		})
		if err != nil {
			destroy()
			return nil, nil, fmt.Errorf("watch cache of %s: %w", config.GroupResource, err)
		}
		delegator, below := cacher.NewCacheDelegator(watchCache, store), destroy
		store, destroy = delegator, func() { delegator.Stop(); watchCache.Stop(); below() }
	}
	store = available{store}
	if held != nil {
		store = held.Checked(store)
	}
	return store, sync.OnceFunc(destroy), nil
}

// store builds the storage below the watch cache. The claims are nil when the resource has no rule.
func (g *Getter) store(config *storagebackend.ConfigForResource, resourcePrefix string, newFunc, newListFunc func() runtime.Object) (storage.Interface, *claims.Claims, func(), error) {
	if config.Type != storagebackend.StorageTypeUnset && config.Type != storagebackend.StorageTypeETCD3 {
		return nil, nil, nil, fmt.Errorf("unknown storage type %q (--storage-backend)", config.Type)
	}
	client, err := NewClient(context.Background(), config.Transport)
	if err != nil {
		return nil, nil, nil, err
	}
	client.KV = etcd3.NewETCDLatencyTracker(client.KV)
	compactor, stopCompactor, err := g.compactor.start(config.Transport, config.CompactionInterval)
	if err != nil {
		_ = client.Close()
		return nil, nil, nil, err
	}
	closeAll := func() { stopCompactor(); _ = client.Close() }

	transformer, versioner := config.Transformer, storage.APIObjectVersioner{}
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	decoder := etcd3.NewDefaultDecoder(config.Codec, versioner)
	unsafeDeletion := utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
	if unsafeDeletion {
		transformer = etcd3.WithCorruptObjErrorHandlingTransformer(transformer)
		decoder = etcd3.WithCorruptObjErrorHandlingDecoder(decoder)
	}
	var held *claims.Claims
	if rule, ok := g.rules[config.GroupResource]; ok {
		held = claims.New(claims.Config{Rule: rule, KV: client.KV, Prefix: config.Prefix, Resource: config.GroupResource,
			Transformer: transformer, Decoder: decoder, NewFunc: newFunc})
		client.Kubernetes = held.Client(client.Kubernetes)
	}
	if g.written != nil {
		client.Kubernetes = observed{Interface: client.Kubernetes, written: g.written}
	}
	raw, err := etcd3.New(client, compactor, config.Codec, newFunc, newListFunc, config.Prefix, resourcePrefix, config.GroupResource,
		transformer, config.LeaseManagerConfig, decoder, versioner)
	if err != nil {
		closeAll()
		return nil, nil, nil, err
	}
	var store storage.Interface = raw
	if held != nil {
		store = held.Storage(store)
	}
	if unsafeDeletion {
		store = etcd3.NewStoreWithUnsafeCorruptObjectDeletion(store, config.GroupResource)
	}
	return store, held, func() { raw.Close(); closeAll() }, nil
}

// hasWatchCache follows --watch-cache and --watch-cache-sizes, as the library's REST options do.
func (g *Getter) hasWatchCache(resource schema.GroupResource) (bool, error) {
	if !g.options.EnableWatchCache {
		return false, nil
	}
	sizes, err := genericoptions.ParseWatchCacheSizes(g.options.WatchCacheSizes)
	if err != nil {
		return false, fmt.Errorf("--watch-cache-sizes=%s: %w", strings.Join(g.options.WatchCacheSizes, ","), err)
	}
	size, given := sizes[resource]
	return !given || size > 0, nil
}

// observed reports the revision of every write.
type observed struct {
	kubernetes.Interface
	written func(revision int64)
}

func (o observed) OptimisticPut(ctx context.Context, key string, value []byte, revision int64, opts kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	response, err := o.Interface.OptimisticPut(ctx, key, value, revision, opts)
	if err == nil && response.Succeeded {
		o.written(response.Revision)
	}
	return response, err
}

func (o observed) OptimisticDelete(ctx context.Context, key string, revision int64, opts kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	response, err := o.Interface.OptimisticDelete(ctx, key, revision, opts)
	if err == nil && response.Succeeded {
		o.written(response.Revision)
	}
	return response, err
}
