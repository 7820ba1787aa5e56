// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Project is a project of Keystone.
type Project struct {
	// ID is unique in the cloud, Name in the domain alone.
	ID, Name, DomainID string
	// Enabled reports that one can work in it.
	Enabled bool
}

// Project returns the project that the client works in. Its domain is not known.
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
	type project struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		DomainID string `json:"domain_id"`
		Enabled  *bool  `json:"enabled"`
	}
	return objects(ctx, c.identity(), "list the projects of the user", "projects", nil, func(p project) (Project, error) {
		if p.ID == "" || p.Name == "" {
			return Project{}, errors.New("a project has no id or no name")
		}
		return Project{ID: p.ID, Name: p.Name, DomainID: p.DomainID, Enabled: p.Enabled == nil || *p.Enabled}, nil
	}, "auth", "projects")
}

// regional are the types of the services that Groundskeeper uses in the catalog, by all of their names. Keystone itself may be in a
// region of its own, and what Groundskeeper does not use may be anywhere. Source:
// https://service-types.openstack.org/service-types.json
var regional = []string{"compute", "network", "load-balancer", "block-storage", "block-store", "volume", "volumev2", "volumev3"}

// regionOf returns the one region that all services are used of: that of the credentials, or the only one of the catalog. Without
// it each service would be used of the region that its first endpoint happens to be in, Nova perhaps of another than
// Neutron, and what lives in one would be missing in the other.
func regionOf(catalog []tokens.CatalogEntry, credentials Credentials) (string, error) {
	var regions []string
	availability := cmp.Or(credentials.availability(), gophercloud.AvailabilityPublic)
	for _, service := range catalog {
		for _, endpoint := range service.Endpoints {
			if slices.Contains(regional, service.Type) && endpoint.Interface == string(availability) {
				regions = append(regions, cmp.Or(endpoint.RegionID, endpoint.Region))
			}
		}
	}
	slices.Sort(regions)
	regions = slices.Compact(regions)
	switch {
	case credentials.Region == "" && len(regions) > 1:
		return "", fmt.Errorf("the cloud has several regions (%s): name one in the Secret, as region_name in clouds.yaml",
			strings.Join(regions, ", "))
	case credentials.Region == "" && len(regions) == 1:
		return regions[0], nil
	case len(regions) > 0 && !slices.Contains(regions, credentials.Region):
		return "", fmt.Errorf("the cloud has no region %q: name one of its regions in the Secret: %s", credentials.Region,
			strings.Join(regions, ", "))
	default:
		return credentials.Region, nil
	}
}

// Region returns the region that all services are used of.
func (c *Client) Region() string { return c.region }

// AuthHost returns the host and port of the cloud's Keystone.
func (c *Client) AuthHost() string { return c.credentials.Host() }
