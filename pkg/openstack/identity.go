// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// Project is a project of Keystone.
type Project struct {
	// ID is unique in the cloud, Name in the domain alone.
	ID, Name, DomainID string
	// Enabled reports that one can work in it.
	Enabled bool
}

// Project is the project that the client works in. Its domain is not known.
func (c *Client) Project() Project {
	return Project{ID: c.project, Name: c.projectName, Enabled: true}
}

// Projects lists the projects that the client may work in by InProject. The list is whole, or there is an error. An
// application credential is bound to one, which is then all of the list.
// Source: https://docs.openstack.org/api-ref/identity/v3/#get-available-project-scopes
func (c *Client) Projects(ctx context.Context) ([]Project, error) {
	if c.credentials.application() {
		return []Project{c.Project()}, nil
	}
	const op = "list the projects of the user"
	read, err := identityList[struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		DomainID string `json:"domain_id"`
		Enabled  *bool  `json:"enabled"`
	}](ctx, c, op, "projects", "auth", "projects")
	if err != nil {
		return nil, err
	}
	all := make([]Project, len(read))
	for i, p := range read {
		if p.ID == "" || p.Name == "" {
			return nil, incomplete(op, "a project has no id or no name")
		}
		all[i] = Project{ID: p.ID, Name: p.Name, DomainID: p.DomainID, Enabled: p.Enabled == nil || *p.Enabled}
	}
	return all, nil
}

// identityList reads a collection of the Keystone that gave the token.
func identityList[T any](ctx context.Context, c *Client, op, collection string, path ...string) (all []T, err error) {
	// Without options it is the one of the credentials: the catalog may name an endpoint that only the cloud reaches.
	construct := func(provider *gophercloud.ProviderClient, _ gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error) {
		return openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	}
	err = c.call(ctx, serviceOf{name: identityService, construct: construct}, op, func(ctx context.Context, keystone *gophercloud.ServiceClient) error {
		all, err = list[T](ctx, keystone, collection, keystone.ServiceURL(path...))
		return err
	})
	return all, err
}
