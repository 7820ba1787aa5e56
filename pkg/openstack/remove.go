// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
)

// errNoID means that an id cannot be one: it would make the address of something else.
var errNoID = errors.New("this is not the id of an object")

// remove deletes one object of a collection, with a query if there is one. An object that has already been deleted is fine.
func remove(ctx context.Context, client *gophercloud.ServiceClient, op, query, id string, collection ...string) error {
	if id == "" || id == "." || id == ".." {
		return &Error{Op: op, Reason: ReasonRefused, Err: errNoID}
	}
	address := client.ServiceURL(append(collection, url.PathEscape(id))...)
	if query != "" {
		address += "?" + query
	}
	resp, err := client.Delete(ctx, address, nil)
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	if err == nil {
		_ = resp.Body.Close() // a deletion has no response to read
	}
	return err
}
