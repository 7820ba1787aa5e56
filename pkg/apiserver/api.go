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

// groups returns the API groups with the storage of their kinds.
func (a api) groups(options generic.RESTOptionsGetter) ([]*genericapiserver.APIGroupInfo, error) {
	var groups []*genericapiserver.APIGroupInfo
	add := func(version schema.GroupVersion, storage map[string]rest.Storage, err error) error {
		if err != nil {
			return err
		}
		if !slices.Contains(a.versions, version) {
			for _, unused := range storage {
				unused.Destroy()
			}
			return nil
		}
		group := genericapiserver.NewDefaultAPIGroupInfo(version.Group, a.scheme, metav1.ParameterCodec, a.codecs)
		group.VersionedResourcesStorageMap[version.Version] = storage
		groups = append(groups, &group)
		return nil
	}
	projects, err := a.projects(options)
	if err := add(gardenerv1beta1.SchemeGroupVersion, projects, err); err != nil {
		return nil, err
	}
	klusters, err := registry.NewStorage(kluster.Kind(), a.scheme, options)
	if err := add(kubernikusv1.SchemeGroupVersion, klusters, err); err != nil {
		return nil, err
	}
	translations, err := registry.NewStorage(translation.Kind(), a.scheme, options)
	if err := add(midonetv1.SchemeGroupVersion, translations, err); err != nil {
		return nil, err
	}
	backends, err := registry.NewStorage(discoverybackend.Kind(), a.scheme, options)
	if err := add(gimbalv1.SchemeGroupVersion, backends, err); err != nil {
		return nil, err
	}
	return groups, nil
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
