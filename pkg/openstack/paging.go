// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
)

// errPartial means that a response came, but is not what it should be.
var errPartial = errors.New("the response cannot be relied on")

// pageError is the failure of one page of a listing, counted from 1.
type pageError struct {
	number int
	err    error
}

// Error names the page.
func (e *pageError) Error() string { return fmt.Sprintf("page %d: %v", e.number, e.err) }

// Unwrap returns what failed.
func (e *pageError) Unwrap() error { return e.err }

// pagesLimit ends a listing whose pages have no end.
const pagesLimit = 10000

// list reads all pages of a collection: {"servers": [], "servers_links": [{"rel": "next", "href"}]}. The listing is
// whole, or the error names the page that failed.
func list[T any](ctx context.Context, client *gophercloud.ServiceClient, collection, first string) ([]T, error) {
	var all []T
	address := first
	for number := range pagesLimit {
		items, next, err := page[T](ctx, client, collection, address)
		if err != nil {
			return nil, &pageError{number: number + 1, err: err}
		}
		all = append(all, items...)
		// The service ends a listing with a page that names no other, or with an empty one.
		if next == "" || len(items) == 0 {
			return all, nil
		}
		if address, err = following(address, next); err != nil {
			return nil, &pageError{number: number + 2, err: err}
		}
	}
	return nil, &pageError{number: pagesLimit, err: fmt.Errorf("%w: it is not the last one", errPartial)}
}

// page reads one page and the address of the next one, "" behind the last.
func page[T any](ctx context.Context, client *gophercloud.ServiceClient, collection, address string) ([]T, string, error) {
	var response map[string]json.RawMessage
	resp, err := client.Get(ctx, address, &response, nil)
	if err != nil {
		return nil, "", err
	}
	_ = resp.Body.Close() // the library has read it
	var items *[]T
	if err := json.Unmarshal(response[collection], &items); err != nil || items == nil {
		return nil, "", fmt.Errorf("%w: it has no list of %s", errPartial, collection)
	}
	var links []gophercloud.Link
	if text, ok := response[collection+"_links"]; ok {
		if err := json.Unmarshal(text, &links); err != nil {
			return nil, "", fmt.Errorf("%w: its links cannot be read", errPartial)
		}
	}
	for _, link := range links {
		if link.Rel == "next" {
			return *items, link.Href, nil
		}
	}
	return *items, "", nil
}

// following returns the address of the next page by a link to it. It does not send a token to another server, and does not read the
// same page indefinitely. A service behind a proxy that ends TLS may not know that, and link to itself without TLS, or to another
// port: the next page is where this one was.
func following(address, link string) (string, error) {
	from, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%w: the address of the page cannot be parsed", errPartial)
	}
	to, err := from.Parse(link)
	if err != nil || to.Hostname() != from.Hostname() {
		return "", fmt.Errorf("%w: the link to it leads to another server", errPartial)
	}
	to.Scheme, to.Host, to.User = from.Scheme, from.Host, from.User
	next := to.String()
	if next == address {
		return "", fmt.Errorf("%w: the link to it leads to the page before", errPartial)
	}
	return next, nil
}
