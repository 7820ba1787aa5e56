// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/pkg/registry"
	"groundskeeper.io/groundskeeper/pkg/registry/claims"
	"groundskeeper.io/groundskeeper/pkg/registry/gardener/project"
	"groundskeeper.io/groundskeeper/pkg/registry/gimbal/discoverybackend"
	"groundskeeper.io/groundskeeper/pkg/registry/kubernikus/kluster"
	"groundskeeper.io/groundskeeper/pkg/registry/midonet/translation"
)

// api is what the server serves: the types, how they are written, and which names they claim.
type api struct {
	scheme   *runtime.Scheme
	codecs   serializer.CodecFactory
	versions []schema.GroupVersion
	// membership restricts Projects to their members; nil where roles do.
	membership *membership.Server
}

// newAPI registers the types once as the version that is served and once as the hub that everything converts to:
// the same Go type, so that nothing is converted.
func newAPI() (api, error) {
	s, err := newScheme()
	if err != nil {
		return api{}, err
	}
	scheme.AddHubToScheme(s)
	return api{scheme: s, codecs: serializer.NewCodecFactory(s), versions: known()}, nil
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, unversioned)
	s.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{},
		&metav1.APIResourceList{})
	return s, scheme.AddToScheme(s)
}

// definitionNamer names types in OpenAPI by the versions that clients see: in the server's scheme every type would
// have two names.
func definitionNamer() (*openapi.DefinitionNamer, error) {
	s, err := newScheme()
	if err != nil {
		return nil, err
	}
	return openapi.NewDefinitionNamer(s), nil
}

func (a api) served() []schema.GroupVersion { return a.versions }

// claimRules returns the names that only one object may hold.
func claimRules() map[schema.GroupResource]claims.Rule {
	return map[schema.GroupResource]claims.Rule{
		gardenerv1beta1.Resource("projects"):   project.ClaimRule(),
		gimbalv1.Resource("discoverybackends"): discoverybackend.ClaimRule(),
	}
}

// groups returns the API groups that are served, with the storage of their kinds.
func (a api) groups(options generic.RESTOptionsGetter) ([]*genericapiserver.APIGroupInfo, error) {
	var groups []*genericapiserver.APIGroupInfo
	for _, kind := range []struct {
		version schema.GroupVersion
		open    func(generic.RESTOptionsGetter) (map[string]rest.Storage, error)
	}{
		{gardenerv1beta1.SchemeGroupVersion, a.projects},
		{kubernikusv1.SchemeGroupVersion, storageOf(a, kluster.Kind())},
		{midonetv1.SchemeGroupVersion, storageOf(a, translation.Kind())},
		{gimbalv1.SchemeGroupVersion, storageOf(a, discoverybackend.Kind())},
	} {
		if !slices.Contains(a.versions, kind.version) {
			continue
		}
		storage, err := kind.open(options)
		if err != nil {
			return nil, err
		}
		group := genericapiserver.NewDefaultAPIGroupInfo(kind.version.Group, a.scheme, metav1.ParameterCodec, a.codecs)
		group.VersionedResourcesStorageMap[kind.version.Version] = storage
		groups = append(groups, &group)
	}
	return groups, nil
}

// storageOf returns a function that opens the storage of a kind.
func storageOf[T registry.Object](a api, kind registry.Kind[T]) func(generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	return func(options generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
		return registry.NewStorage(kind, a.scheme, options)
	}
}

// projects returns the storage of Projects, restricted to their members where membership decides.
func (a api) projects(options generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	if a.membership == nil {
		return registry.NewStorage(project.Kind(), a.scheme, options)
	}
	storage, err := registry.NewStorage(membership.Indexed(project.Kind()), a.scheme, options)
	if err != nil {
		return nil, err
	}
	return storage, a.membership.Restrict(storage)
}

// resummarize gives the objects that an earlier version stored the conditions Ready, Reconciling and Stalled of this one: without
// them, a client that waits for Ready would wait for the next change.
func resummarize(ctx context.Context, groups []*genericapiserver.APIGroupInfo) {
	for _, group := range groups {
		for _, storages := range group.VersionedResourcesStorageMap {
			for resource, storage := range storages {
				status, ok := storage.(*registry.StatusREST)
				if !ok {
					continue
				}
				switch written, err := status.Resummarize(ctx); {
				case ctx.Err() != nil:
					return
				case err != nil:
					klog.FromContext(ctx).Error(err, "Failed to summarize the conditions of all objects, retrying at the next start", "resource", resource)
				case written > 0:
					klog.FromContext(ctx).Info("Summarized the conditions of objects of an earlier version", "resource", resource, "objects", written)
				}
			}
		}
	}
}
