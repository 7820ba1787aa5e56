// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// serviceOf is how to find a service: construct is one of gophercloud's functions, which may ask the service for its versions.
type serviceOf struct {
	name      string
	construct func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
}

// api are the calls to one service.
type api struct {
	client  *Client
	service serviceOf
}

// BlockStorage are the calls to Cinder.
type BlockStorage struct{ api }

// BlockStorage is Cinder as the client may use it.
func (c *Client) BlockStorage() BlockStorage {
	return BlockStorage{api{c, serviceOf{"block-storage", openstack.NewBlockStorageV3}}}
}

// Network are the calls to Neutron.
type Network struct{ api }

// Network is Neutron as the client may use it.
func (c *Client) Network() Network {
	return Network{api{c, serviceOf{"network", openstack.NewNetworkV2}}}
}

// Compute are the calls to Nova.
type Compute struct{ api }

// Compute is Nova as the client may use it.
func (c *Client) Compute() Compute { return Compute{api{c, serviceOf{"compute", newCompute}}} }

// LoadBalancing are the calls to Octavia.
type LoadBalancing struct{ api }

// LoadBalancing is Octavia as the client may use it.
func (c *Client) LoadBalancing() LoadBalancing {
	return LoadBalancing{api{c, serviceOf{"load-balancer", openstack.NewLoadBalancerV2}}}
}

// identity is the Keystone that gave the token.
func (c *Client) identity() api {
	// Without options it is the one of the credentials: the catalog may name an endpoint that only the cloud reaches.
	return api{c, serviceOf{identityService, func(p *gophercloud.ProviderClient,
		_ gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error) {
		return openstack.NewIdentityV3(p, gophercloud.EndpointOpts{})
	}}}
}

// call runs requests to the service, and converts a failure to an Error. op describes the operation and its object.
func (a api) call(ctx context.Context, op string, do func(context.Context, *gophercloud.ServiceClient) error) error {
	client, err := a.client.service(a.service)
	if err == nil {
		err = do(toService(ctx, a.service.name), client)
	}
	return classify(op, err, a.client.options.Clock.Now(), a.client.secrets()...)
}

// inProject selects what the project owns: an administrator sees that of all. Octavia discards the filter in the link to the next
// page, so that responses have to be checked, too.
func (a api) inProject() url.Values { return url.Values{"project_id": {a.client.project}} }

// remove deletes one object of a collection, with a query if there is one.
func (a api) remove(ctx context.Context, op, query, id string, collection ...string) error {
	return a.call(ctx, op, func(ctx context.Context, service *gophercloud.ServiceClient) error {
		return remove(ctx, service, op, query, id, collection...)
	})
}

// objects reads a collection of a service at a path, and converts what the service wrote. The list is whole, or there is an error.
func objects[W, T any](
	ctx context.Context, a api, op, collection string, query url.Values, convert func(W) (T, error), path ...string,
) ([]T, error) {
	read, err := read[W](ctx, a, op, collection, query, path...)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(read))
	for i, w := range read {
		if all[i], err = convert(w); err != nil {
			return nil, incomplete(op, "%w", err)
		}
	}
	return all, nil
}

// read returns a collection of a service at a path.
func read[T any](ctx context.Context, a api, op, collection string, query url.Values, path ...string) (all []T, err error) {
	err = a.call(ctx, op, func(ctx context.Context, service *gophercloud.ServiceClient) error {
		address := service.ServiceURL(path...)
		if len(query) > 0 {
			address += "?" + query.Encode()
		}
		all, err = list[T](ctx, service, collection, address)
		return err
	})
	return all, err
}
