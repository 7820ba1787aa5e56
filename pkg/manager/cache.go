// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// cacheOptions puts together what the controllers require of the cache they share.
func cacheOptions(controllers []controller, config *v1alpha1.ControllersConfiguration, scheme *runtime.Scheme) (cache.Options, error) {
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// A read of objects without a watch is a mistake that would fill the cache with a whole kind.
		ReaderFailOnMissingInformer: true,
		DefaultWatchErrorHandler:    watchFailed,
		ByObject:                    map[client.Object]cache.ByObject{},
	}
	by := map[schema.GroupVersionKind]string{}
	var whole []*resourcewatch.Cached
	for _, c := range controllers {
		if c.whole != nil {
			whole = append(whole, c.whole)
		}
		if c.cache == nil {
			continue
		}
		restricted, err := c.cache(config)
		if err != nil {
			return cache.Options{}, fmt.Errorf("controller %s: %w", c.name, err)
		}
		for object, restriction := range restricted {
			kind, err := apiutil.GVKForObject(object, scheme)
			if err != nil {
				return cache.Options{}, fmt.Errorf("controller %s: %w", c.name, err)
			}
			// The second one would not see what the first leaves out, or the other way round.
			if other, ok := by[kind]; ok {
				return cache.Options{}, fmt.Errorf("controllers %s and %s both restrict the cache of %s", other, c.name, kind.Kind)
			}
			by[kind] = c.name
			options.ByObject[object] = restriction
		}
	}
	options.NewInformer = resourcewatch.NewInformer(whole...)
	return options, nil
}

// watchFailed logs that a watch failed. That a server is away for a while, as at each of its rollouts, is no error: the watch is repeated.
func watchFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	if apierrors.IsServiceUnavailable(err) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) {
		klog.FromContext(ctx).Info("Lost a watch, which is repeated", "type", r.TypeDescription(), "cause", err.Error())
		return
	}
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

// newClient returns a client that reads from the cache and sees there what it wrote itself.
func newClient(config *rest.Config, options client.Options) (client.Client, error) {
	informers, ok := options.Cache.Reader.(cache.Cache)
	if !ok {
		return nil, fmt.Errorf("%T is not a cache", options.Cache.Reader)
	}
	options.Cache.Reader = watchedOnly{informers}
	options.Cache.EnableReadYourWritesConsistency = new(true)
	return client.New(config, options)
}

// watchedOnly is the cache as the client sees it: only of kinds that a controller watches. To see its own writes the client
// requests an informer of everything it reads or writes, past ReaderFailOnMissingInformer, and so one write of a Secret would keep
// all Secrets of the cluster in memory.
type watchedOnly struct{ cache.Cache }

// GetInformer implements cache.Informers.
func (w watchedOnly) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	probe, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", object)
	}
	// The name does not matter: the question is whether there is an informer that could have it.
	err := w.Get(ctx, client.ObjectKey{Name: "any"}, probe)
	if missing := (*cache.ErrResourceNotCached)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("no controller watches it, so read it live, or write it with client.DisableReadYourWritesConsistency: %w", err)
	}
	return w.Cache.GetInformer(ctx, object, options...)
}

// ownAPI is a group version of Groundskeeper, with a resource of it.
type ownAPI struct {
	resource schema.GroupVersionResource
	register func(*runtime.Scheme) error
}

func ownAPIs() []ownAPI {
	return []ownAPI{
		{gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), gardenerv1beta1.AddToScheme},
		{kubernikusv1.SchemeGroupVersion.WithResource("klusters"), kubernikusv1.AddToScheme},
		{midonetv1.SchemeGroupVersion.WithResource("translations"), midonetv1.AddToScheme},
		{gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), gimbalv1.AddToScheme},
	}
}

// useProtobuf makes clients use protobuf for Groundskeeper's kinds: of groups that it does not know to have it, controller-runtime
// talks JSON. A group whose kinds are custom resources rejects protobuf, and is talked to in JSON.
func useProtobuf(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("API server %s: %w", config.Host, err)
	}
	for _, api := range ownAPIs() {
		if rejectsProtobuf(ctx, client.RESTClient(), api.resource) {
			logr.FromContextOrDiscard(ctx).Info("Using JSON for kinds that are custom resources", "group", api.resource.Group)
			continue
		}
		if err := apiutil.AddToProtobufScheme(api.register); err != nil {
			return fmt.Errorf("register types: %w", err)
		}
	}
	return nil
}

// rejectsProtobuf requests one object. Any other response than a rejection, an error too, does not exclude protobuf.
func rejectsProtobuf(ctx context.Context, client rest.Interface, resource schema.GroupVersionResource) bool {
	err := client.Get().AbsPath("/apis", resource.Group, resource.Version, resource.Resource).Param("limit", "1").
		SetHeader("Accept", runtime.ContentTypeProtobuf).Do(ctx).Error()
	return apierrors.IsNotAcceptable(err)
}
