// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects the API server is queried for at a time.
const pageSize = 500

// page is a part of a listing.
type page interface {
	GetContinue() string
	GetResourceVersion() string
}

// errNoAPIServer is the failure of what responds, but not as an API server of Kubernetes.
var errNoAPIServer = errors.New("what responds is no API server of Kubernetes")

// whole lists all objects of a kind, page by page, and keeps of each what keep returns. It is whole, or an error.
func whole[L page, O, K any](
	ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), items func(L) []O, keep func(*O) (K, bool),
) ([]K, error) {
	options := metav1.ListOptions{Limit: pageSize}
	var kept []K
	for {
		part, err := list(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Limit > 0 {
			// The listing took longer than the API server remembers: all concurrently then.
			options, kept = metav1.ListOptions{}, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if part.GetResourceVersion() == "" {
			return nil, errNoAPIServer // every listing has one: what is decoded into nothing is not an empty cluster
		}
		objects := items(part)
		for i := range objects {
			if k, ok := keep(&objects[i]); ok {
				kept = append(kept, k)
			}
		}
		if options.Continue = part.GetContinue(); options.Continue == "" {
			return kept, nil
		}
	}
}

// all makes a function that keeps every object.
func all[O, K any](keep func(*O) K) func(*O) (K, bool) {
	return func(object *O) (K, bool) { return keep(object), true }
}

// listed ends a listing of a resource that every cluster has. A 404 means that this one does not, if its own list of resources
// reports so too: otherwise it is not the API server that responds.
func (c *Connection) listed(ctx context.Context, path, resource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return c.failed("list "+resource, err)
	}
	served, discovery := c.served(ctx, path)
	if discovery != nil {
		return discovery
	}
	if served[resource] {
		return c.failed("list "+resource, err)
	}
	return nil
}

// coreAPI is where every API server has what it is made for.
const coreAPI = "/api/v1"

// served returns the resources of a group and version, none when the cluster does not have it. That is taken only from what is an
// API server: a proxy in front of one that has been deleted responds 404 too.
func (c *Connection) served(ctx context.Context, path string) (map[string]bool, error) {
	list := &metav1.APIResourceList{}
	err := c.kube.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Into(list)
	if apierrors.IsNotFound(err) && path != coreAPI {
		_, err := c.served(ctx, coreAPI)
		return nil, err
	}
	if err != nil {
		return nil, c.failed("get "+path, err)
	}
	resources := map[string]bool{}
	for _, r := range list.APIResources {
		resources[r.Name] = true
	}
	if path == coreAPI && !resources["namespaces"] {
		return nil, c.failed("get "+path, errNoAPIServer)
	}
	return resources, nil
}
