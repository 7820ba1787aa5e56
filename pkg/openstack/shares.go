// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/snapshots"
)

// projectMicroversion is the first of Manila's that reports which project a snapshot is of.
// Source: https://docs.openstack.org/manila/latest/contributor/api_microversion_history.html, 2.17
const projectMicroversion = "2.17"

// Share is a share of Manila.
type Share struct {
	// Status is Manila's word in lower case, as available, deleting or error_deleting.
	ID, Name, Status, ProjectID string
	Metadata                    map[string]string
}

// ShareSnapshot is a snapshot of a share. Manila deletes no share that has snapshots.
type ShareSnapshot struct {
	// Status is Manila's word in lower case, as available, deleting or error_deleting.
	ID, Name, Status, ProjectID, ShareID string
}

// SharedFileSystems are the calls to Manila.
type SharedFileSystems struct{ api }

// SharedFileSystems is Manila as the client may use it.
func (c *Client) SharedFileSystems() SharedFileSystems {
	return SharedFileSystems{api{c, serviceOf{"shared-file-system", newSharedFileSystems}}}
}

func newSharedFileSystems(provider *gophercloud.ProviderClient, opts gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error) {
	manila, err := openstack.NewSharedFileSystemV2(provider, opts)
	if err != nil {
		return nil, err
	}
	manila.Microversion = projectMicroversion
	return manila, nil
}

// Shares lists all shares of the project. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/shared-file-system/#list-shares-with-details
func (s SharedFileSystems) Shares(ctx context.Context) ([]Share, error) {
	id := func(s Share) string { return s.ID }
	return byOffset(ctx, s.api, "list the shares", "shares", id, func(one shares.Share) (Share, error) {
		if one.ID == "" || one.Status == "" || one.ProjectID == "" {
			return Share{}, fmt.Errorf("share %q has no status or no project", one.ID)
		}
		return Share{ID: one.ID, Name: one.Name, Status: one.Status, ProjectID: one.ProjectID, Metadata: one.Metadata}, nil
	})
}

// Snapshots lists all snapshots of shares of the project. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/shared-file-system/#list-share-snapshots-with-details
func (s SharedFileSystems) Snapshots(ctx context.Context) ([]ShareSnapshot, error) {
	id := func(s ShareSnapshot) string { return s.ID }
	return byOffset(ctx, s.api, "list the snapshots of shares", "snapshots", id, func(one snapshots.Snapshot) (ShareSnapshot, error) {
		if one.ID == "" || one.Status == "" || one.ProjectID == "" || one.ShareID == "" {
			return ShareSnapshot{}, fmt.Errorf("snapshot %q has no status, no project or no share", one.ID)
		}
		return ShareSnapshot{ID: one.ID, Name: one.Name, Status: one.Status, ProjectID: one.ProjectID, ShareID: one.ShareID}, nil
	})
}

// DeleteShare has Manila delete a share with its access rules, which then is "deleting" for a while, and may end as
// "error_deleting". One that has already been deleted is fine. Manila rejects it with 403 while the share has snapshots, or its status does
// not allow it.
func (s SharedFileSystems) DeleteShare(ctx context.Context, id string) error {
	return s.remove(ctx, "delete share "+id, "", id, "shares")
}

// DeleteSnapshot has Manila delete a snapshot, which then is "deleting" for a while. One that has already been deleted is fine.
func (s SharedFileSystems) DeleteSnapshot(ctx context.Context, id string) error {
	return s.remove(ctx, "delete the snapshot of a share "+id, "", id, "snapshots")
}

// byOffset reads a collection of Manila, whose links to the next page name a marker that it does not know itself. A page may be
// shorter than requested, so that the last one has nothing new. What is deleted meanwhile moves all behind it, so that an offset leaves
// some out: each page begins with the last object of the one before, or the list is not whole.
func byOffset[W, T any](ctx context.Context, a api, op, collection string, id func(T) string, convert func(W) (T, error)) (all []T, err error) {
	err = a.call(ctx, op, func(ctx context.Context, manila *gophercloud.ServiceClient) error {
		all = nil
		overlap := 0
		for number := range pagesLimit {
			items, _, err := page[W](ctx, manila, collection, manila.ServiceURL(collection, "detail")+"?offset="+strconv.Itoa(len(all)-overlap))
			if err != nil {
				return &pageError{number: number + 1, err: err}
			}
			var more []T
			for _, item := range items {
				one, err := convert(item)
				if err != nil {
					return &pageError{number: number + 1, err: errors.Join(errPartial, err)}
				}
				more = append(more, one)
			}
			if overlap == 1 {
				if len(more) == 0 || id(more[0]) != id(all[len(all)-1]) {
					return &pageError{number: number + 1, err: fmt.Errorf("%w: the list changed while it was read", errPartial)}
				}
				more = more[1:]
			}
			if len(more) == 0 {
				return nil
			}
			all = append(all, more...)
			overlap = min(len(items)-1, 1) // a server whose pages have one object would repeat it for ever
		}
		return &pageError{number: pagesLimit, err: fmt.Errorf("%w: it is not the last one", errPartial)}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
