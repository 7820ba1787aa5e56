// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"path"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// Store is where a server keeps its objects.
type Store struct {
	// KV reaches etcd.
	KV clientv3.KV
	// Prefix is the prefix of all keys of the server (--etcd-prefix).
	Prefix string
	// Resources are all resources of the server.
	Resources []Resource
}

// key returns the etcd key of what storage calls key.
func (s Store) key(key string) string { return path.Join("/", s.Prefix, key) }

// Resource is the storage of one kind.
type Resource struct {
	schema.GroupVersionKind
	// Store knows the storage, the keys in it, and the rules of creation.
	Store *genericregistry.Store
	// Codec writes objects as the API shows them.
	Codec runtime.Encoder
	// Decoder reads them. It rejects a field that it does not know: it would be lost.
	Decoder runtime.Decoder
}

// name returns the plural of the kind.
func (r Resource) name() string { return r.Store.DefaultQualifiedResource.Resource }

func (r Resource) storage() storage.Interface { return r.Store.Storage.Storage }

// root returns what all storage keys of the resource begin with.
func (r Resource) root() string {
	return r.Store.KeyRootFunc(genericapirequest.WithNamespace(context.Background(), "")) + "/"
}

// storageKey returns where an object belongs. The library rejects paths in names only: the API has no object in a namespace that is one.
func (r Resource) storageKey(ctx context.Context, namespace, name string) (string, error) {
	if problems := content.IsPathSegmentName(namespace); len(problems) > 0 {
		return "", fmt.Errorf("namespace %q %s", namespace, strings.Join(problems, ", "))
	}
	return r.Store.KeyFunc(genericapirequest.WithNamespace(ctx, namespace), name)
}

// validate returns the errors with which a creation of the object would be rejected.
func (r Resource) validate(ctx context.Context, namespace string, obj runtime.Object) field.ErrorList {
	ctx = genericapirequest.WithNamespace(ctx, namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: r.Group, APIVersion: r.Version, Resource: r.name(),
	})
	return rest.ValidateCreate(ctx, obj, r.Store.CreateStrategy)
}
