// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Client talks to one MidoNet. It is for many goroutines at a time.
type Client struct {
	options Options
	base    *url.URL
	http    *http.Client
	session session
	// password is the one of the last login, so that no message repeats it.
	password atomic.Pointer[string]
	clock    clock.PassiveClock
	// pause waits between two attempts, or until the context ends.
	pause func(context.Context, time.Duration) error
	// random is in [0, 1) and spreads the pauses.
	random func() float64
}

// errRejected marks calls that are wrong in themselves and were not sent.
var errRejected = errors.New("not sent")

// errFenced marks writes that Options.BeforeWrite stopped. They are rejected, too.
var errFenced = fmt.Errorf("%w: this process may not write now", errRejected)

// Create makes a resource. A response that was lost makes the caller's next try a conflict: after one, Get determines the outcome.
func (c *Client) Create(ctx context.Context, r Resource) error {
	k, err := kindFor(Create, r.Ref)
	if err != nil {
		return err
	}
	b, err := k.Decode(r.Body)
	if err != nil {
		return invalid(Create, r.Ref, err)
	}
	path, err := k.createPath(b, r.Parent)
	if err != nil {
		return invalid(Create, r.Ref, err)
	}
	_, err = c.do(ctx, request{verb: Create, ref: r.Ref, method: http.MethodPost, path: path, body: r.Body, contentType: k.MediaType})
	return err
}

// Update replaces a resource. A field that the body leaves out is cleared, except for ids, ports, peers and bindings.
func (c *Client) Update(ctx context.Context, r Resource) error {
	k, err := kindFor(Update, r.Ref)
	if err != nil {
		return err
	}
	path, err := k.itemPath(r.Parent, r.ID)
	if err != nil {
		return invalid(Update, r.Ref, err)
	}
	_, err = c.do(ctx, request{verb: Update, ref: r.Ref, method: http.MethodPut, path: path, body: r.Body, contentType: k.MediaType})
	return err
}

// Delete removes a resource and what the server removes with it. One that has been deleted is an error for which IsNotFound holds,
// but not for a Router, a Route and a TunnelZone, whose absence the server does not report.
func (c *Client) Delete(ctx context.Context, ref Ref) error {
	k, err := kindFor(Delete, ref)
	if err != nil {
		return err
	}
	path, err := k.itemPath(ref.Parent, ref.ID)
	if err != nil {
		return invalid(Delete, ref, err)
	}
	_, err = c.do(ctx, request{verb: Delete, ref: ref, method: http.MethodDelete, path: path})
	return err
}

// Get reads a resource.
func (c *Client) Get(ctx context.Context, ref Ref) (Resource, error) {
	k, err := kindFor(Get, ref)
	if err != nil {
		return Resource{}, err
	}
	path, err := k.itemPath(ref.Parent, ref.ID)
	if err != nil {
		return Resource{}, invalid(Get, ref, err)
	}
	data, err := c.do(ctx, request{verb: Get, ref: ref, method: http.MethodGet, path: path, accept: k.MediaType})
	if err != nil {
		return Resource{}, err
	}
	if _, err := k.Decode(data); err != nil {
		return Resource{}, &Error{Op: Get.String(), Ref: ref, Err: fmt.Errorf("%w: %w", errInvalid, err)}
	}
	return Resource{Ref: ref, Body: data}, nil
}

// Query selects what to list.
type Query struct {
	// Kind is the kind of the resources.
	Kind string
	// ParentKind and Parent specify under which resource; both empty for a kind that stands alone.
	ParentKind, Parent string
	// Tenant narrows a list of routers, bridges or chains to one owner; empty: of all.
	Tenant string
}

// List reads all resources of a kind under a parent. Rules come in the order of their chain. The list is whole or the
// call fails; an element that is not understood is in it as Invalid.
func (c *Client) List(ctx context.Context, q Query) ([]Resource, error) {
	ref := Ref{Kind: q.Kind, Parent: q.Parent}
	k, err := kindFor(List, ref)
	if err != nil {
		return nil, err
	}
	path, err := k.collectionPath(q.ParentKind, q.Parent)
	if err != nil {
		return nil, invalid(List, ref, err)
	}
	var query url.Values
	if q.Tenant != "" {
		if !k.tenants {
			return nil, invalid(List, ref, fmt.Errorf("%s cannot be listed by tenant", k.Name))
		}
		query = url.Values{"tenant_id": {q.Tenant}}
	}
	data, err := c.do(ctx, request{verb: List, ref: ref, method: http.MethodGet, path: path, query: query, accept: k.CollectionType})
	if err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil || items == nil {
		return nil, &Error{Op: List.String(), Ref: ref, Err: errors.Join(errors.New("the response is not a list"), err)}
	}
	resources := make([]Resource, 0, len(items))
	for _, item := range items {
		resources = append(resources, k.element(q.Parent, item))
	}
	return resources, nil
}

// Hosts lists the machines that run MidoNet's agent. One that is not understood is left out, or has no ID when its name
// at least is known.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	resources, err := c.List(ctx, Query{Kind: "Host"})
	if err != nil {
		return nil, err
	}
	hosts := make([]Host, 0, len(resources))
	for _, r := range resources {
		var host Host
		err := json.Unmarshal(r.Body, &host)
		if r.Invalid != nil || err != nil {
			if host.Name == "" {
				continue
			}
			host = Host{Name: host.Name}
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// errInvalid marks responses with a resource that is not understood.
var errInvalid = errors.New("the response is not understood")

// kindFor finds the kind and wants it to have the verb.
func kindFor(v Verb, ref Ref) (Kind, error) {
	k, ok := KindNamed(ref.Kind)
	switch {
	case !ok:
		return k, invalid(v, ref, fmt.Errorf("kind %q is not one of MidoNet's", ref.Kind))
	case !k.Has(v):
		return k, invalid(v, ref, fmt.Errorf("MidoNet cannot %s a %s", v, k.Name))
	default:
		return k, nil
	}
}

// invalid returns the error of a call that is wrong in itself.
func invalid(v Verb, ref Ref, err error) error {
	return &Error{Op: v.String(), Ref: ref, Err: fmt.Errorf("%w: %w", errRejected, err)}
}
