// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
)

// Connect authenticates with credentials that come from no Secret, for a process that has a dedicated cloud: its rate limit is
// shared with the clients that InProject makes of it, and with no other client. A failure is an Error.
func Connect(ctx context.Context, credentials Credentials, o Options) (*Client, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	turns := flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	return connect(ctx, credentials, httpClient(dialer(credentials.trust()), turns, o), o)
}

// InProject authenticates the user of a client for another project. Connections and rate limit are those of the client.
// A failure is an Error.
func (c *Client) InProject(ctx context.Context, id string) (*Client, error) {
	return connect(ctx, c.credentials.Project(id), c.provider.HTTPClient, c.options)
}

// Project returns the credentials of the same user for the project of that id. An application credential is bound to its own:
// Keystone rejects it for any other.
func (c Credentials) Project(id string) Credentials {
	c.ProjectID, c.ProjectName, c.ProjectDomainName, c.ProjectDomainID = id, "", "", ""
	return c
}
