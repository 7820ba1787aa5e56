// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Client is an authenticated client of one project of a cloud. It is safe for concurrent use, and renews its token.
type Client struct {
	provider    *gophercloud.ProviderClient
	credentials Credentials
	options     Options
	// project is the id of the project, projectName its name.
	project, projectName string
	// region is the one that all services are used of.
	region string

	mu       sync.Mutex
	services map[string]*gophercloud.ServiceClient
	// extensions are Neutron's, in their state at a time.
	extensions   map[string]bool
	extensionsAt time.Time
}

// connect authenticates. A failure is an Error.
func connect(ctx context.Context, credentials Credentials, transport http.Client, o Options) (*Client, error) {
	c := &Client{credentials: credentials, options: o, services: map[string]*gophercloud.ServiceClient{}}
	provider, err := openstack.NewClient(credentials.AuthURL)
	if err != nil {
		// The library's error repeats the URL.
		return nil, &Error{Op: "authenticate", Reason: ReasonCredentialsInvalid, Err: errors.New("the URL of Keystone cannot be parsed")}
	}
	c.provider = provider
	retry := newRetry(o)
	provider.HTTPClient = transport
	provider.RetryFunc, provider.RetryBackoffFunc, provider.MaxBackoffRetries = retry.failed, retry.limited, uint(o.Attempts)
	if o.UserAgent != "" {
		provider.UserAgent.Prepend(o.UserAgent)
	}
	if err := c.authenticate(ctx); err != nil {
		return nil, err
	}
	again := provider.ReauthFunc
	var rejected error
	var until time.Time
	provider.ReauthFunc = func(ctx context.Context) error { // the library calls it once at a time
		if o.Clock.Now().Before(until) {
			return rejected
		}
		// Other requests wait for this token, too: it must not fail because the first request is canceled.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(toService(ctx, identityService)), turnWait+o.Timeout)
		defer cancel()
		// Classified here: later, a response of Keystone would be taken for one of the service.
		err := c.authError(again(ctx))
		o.Telemetry.authentication(err)
		if ReasonOf(err) == ReasonCredentialsRefused {
			rejected, until = err, o.Clock.Now().Add(rejectionPause)
		}
		return err
	}
	return c, nil
}

// authenticate gets the first token, the catalog and the project.
func (c *Client) authenticate(ctx context.Context) error {
	err := c.authError(openstack.Authenticate(toService(ctx, identityService), c.provider, c.credentials.authOptions()))
	c.options.Telemetry.authentication(err)
	if err != nil {
		return err
	}
	result, ok := c.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return &Error{Op: "authenticate", Reason: ReasonCredentialsInvalid, Err: errors.New("the URL is not one of Keystone's version 3")}
	}
	project, err := result.ExtractProject()
	if err != nil || project == nil || project.ID == "" {
		return &Error{Op: "authenticate", Reason: ReasonCredentialsInvalid, Err: errors.New("the token is for no project")}
	}
	c.project, c.projectName = project.ID, project.Name
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return &Error{Op: "authenticate", Reason: ReasonIncomplete, Err: errors.New("the catalog of the token cannot be read")}
	}
	if c.region, err = regionOf(catalog.Entries, c.credentials); err != nil {
		return &Error{Op: "choose the region", Reason: ReasonCredentialsInvalid, Err: err}
	}
	return nil
}

// authError returns the error of an authentication. What Keystone does not find or understand is wrong in the Secret. A deleted
// application credential it does not find, an expired or a wrong one it rejects.
func (c *Client) authError(err error) error {
	err = classify("authenticate", err, c.options.Clock.Now(), c.secrets()...)
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && c.credentials.application() && (e.Reason == ReasonCredentialsRefused || e.Reason == ReasonNotFound && e.Message != ""):
		e.Reason = ReasonCredentialsRefused
		e.Remedy = "the application credential was deleted, has expired, or its secret is wrong: make a new one, and put it into the Secret"
	case ok && e.Reason == ReasonNotFound:
		e.Reason, e.Remedy = ReasonCredentialsInvalid, "check the URL of Keystone in the Secret"
	case ok && (e.Reason == ReasonRefused || e.Reason == ReasonConflict):
		e.Reason = ReasonCredentialsInvalid
	}
	return err
}

// ProjectID returns the id of the project that the credentials are for.
func (c *Client) ProjectID() string { return c.project }

// Format keeps secrets out of every log, whatever the verb.
func (c *Client) Format(s fmt.State, verb rune) { c.credentials.Format(s, verb) }

// MarshalLog keeps secrets out of structured logs.
func (c *Client) MarshalLog() any { return c.credentials.MarshalLog() }

// secrets returns the texts that no message may repeat.
func (c *Client) secrets() []string { return append(c.credentials.secrets(), c.provider.Token()) }

// service returns the client of one service of the catalog, found at the first call and kept.
func (c *Client) service(of serviceOf) (*gophercloud.ServiceClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.services[of.name]; found != nil {
		return found, nil
	}
	found, err := of.construct(c.provider, gophercloud.EndpointOpts{Region: c.region, Availability: c.credentials.availability()})
	if err != nil {
		return nil, err
	}
	c.services[of.name] = found
	return found, nil
}
