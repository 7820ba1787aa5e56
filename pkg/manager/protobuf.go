// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

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
