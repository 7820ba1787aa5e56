// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	basecompatibility "k8s.io/component-base/compatibility"

	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/registry"
	"groundskeeper.io/groundskeeper/pkg/registry/etcd"
	"groundskeeper.io/groundskeeper/pkg/registry/gardener/project"
	"groundskeeper.io/groundskeeper/pkg/registry/gimbal/discoverybackend"
	"groundskeeper.io/groundskeeper/pkg/registry/kubernikus/kluster"
	"groundskeeper.io/groundskeeper/pkg/registry/midonet/translation"
)

// OpenStore opens what a server with these options stores, with the same keys, encoding, encryption and claims, but
// without a server: nothing is cached, nothing compacted. The function that it returns closes it.
func OpenStore(ctx context.Context, options *genericoptions.EtcdOptions) (*backup.Store, func(), error) {
	client, err := etcd.NewClient(ctx, options.StorageConfig.Transport)
	if err != nil {
		return nil, nil, err
	}
	resources, destroy, err := openResources(options)
	if err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	closeAll := func() { destroy(); _ = client.Close() }
	return &backup.Store{KV: client.KV, Prefix: options.StorageConfig.Prefix, Resources: resources}, closeAll, nil
}

// Resources returns what a server stores, without their storage.
func Resources() ([]backup.Resource, error) {
	a, err := newAPI()
	if err != nil {
		return nil, err
	}
	all, _, err := a.resources(noStorage{})
	return all, err
}

// noStorage gives resources their keys, but nothing to read or write.
type noStorage struct{}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (noStorage) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	decorator := func(
		*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
		storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		return nil, func() {}, nil
	}
	return generic.RESTOptions{
		StorageConfig: &storagebackend.ConfigForResource{}, Decorator: decorator, ResourcePrefix: groupedStorage{}.ResourcePrefix(resource),
	}, nil
}

// openResources opens the storage of every kind.
func openResources(options *genericoptions.EtcdOptions) ([]backup.Resource, func(), error) {
	a, err := newAPI()
	if err != nil {
		return nil, nil, err
	}
	o := NewOptions()
	own := *options
	own.EnableWatchCache, own.SkipHealthEndpoints = false, true
	own.StorageConfig.CompactionInterval, own.StorageConfig.CountMetricPollPeriod = 0, 0
	o.Etcd = &own
	config := genericapiserver.NewRecommendedConfig(a.codecs)
	config.EffectiveVersion = o.ServerRun.ComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	if err := o.applyStorage(a, config, nil); err != nil {
		return nil, nil, err
	}
	return a.resources(config.RESTOptionsGetter)
}

// resources returns all kinds, with the storage that the options lead to, and a function that closes it.
func (a api) resources(options generic.RESTOptionsGetter) ([]backup.Resource, func(), error) {
	var all []backup.Resource
	destroy := func() {
		for _, resource := range all {
			resource.Store.DestroyFunc()
		}
	}
	for _, open := range []func(generic.RESTOptionsGetter) (backup.Resource, error){
		opener(a, project.Kind()), opener(a, discoverybackend.Kind()), opener(a, translation.Kind()), opener(a, kluster.Kind()),
	} {
		resource, err := open(options)
		if err != nil {
			destroy()
			return nil, nil, err
		}
		all = append(all, resource)
	}
	return all, destroy, nil
}

// opener returns a function that opens the storage of one kind.
func opener[T registry.Object](a api, kind registry.Kind[T]) func(generic.RESTOptionsGetter) (backup.Resource, error) {
	return func(options generic.RESTOptionsGetter) (backup.Resource, error) {
		served, err := registry.NewStorage(kind, a.scheme, options)
		if err != nil {
			return backup.Resource{}, err
		}
		objects, ok := served[kind.Resource].(*registry.REST[T])
		if !ok {
			return backup.Resource{}, fmt.Errorf("%s has an unknown storage", kind.Resource)
		}
		gvks, _, err := a.scheme.ObjectKinds(kind.New())
		if err != nil {
			return backup.Resource{}, err
		}
		return backup.Resource{
			GroupVersionKind: kind.GroupVersion.WithKind(gvks[0].Kind),
			Store:            objects.Store.Store,
			Codec:            a.codecs.LegacyCodec(kind.GroupVersion),
			Decoder:          serializer.NewCodecFactory(a.scheme, serializer.EnableStrict).UniversalDecoder(kind.GroupVersion),
		}, nil
	}
}
