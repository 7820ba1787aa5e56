// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package claimcheck replays the history of etcd and checks that, at every revision of it, the names that objects have
// are claimed by exactly these objects.
package claimcheck

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Replay plays back all that ever happened in etcd below the prefix of Groundskeeper's API server, and returns at how many
// revisions claims or the objects that claim were written. At each of them
//   - every Project holds the claim of its namespace, and every DiscoveryBackend that of its name,
//   - there is no other claim, and
//   - no claimed name is above another one.
//
// The error names the first revision at which that is not so. It is an error too when etcd was compacted: the history
// must be there from the start.
func Replay(ctx context.Context, etcd *clientv3.Client, prefix string) (revisions int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := mark(ctx, etcd, prefix)
	if err != nil {
		return 0, err
	}
	h, err := newHistory(prefix)
	if err != nil {
		return 0, err
	}
	for response := range etcd.Watch(ctx, prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(1), clientv3.WithFragment()) {
		if err := response.Err(); err != nil {
			return 0, fmt.Errorf("cannot read the history of etcd: %w", err)
		}
		for _, event := range response.Events {
			if event.Kv.ModRevision != h.revision {
				if err := h.check(); err != nil {
					return 0, err
				}
				h.revision = event.Kv.ModRevision
			}
			if h.revision >= end {
				return h.revisions, nil
			}
			if err := h.play(event); err != nil {
				return 0, err
			}
		}
	}
	return 0, errors.Join(errors.New("the watch of etcd ended early"), ctx.Err())
}

// mark writes a key that ends the history, removes it, and returns the revision of the write.
func mark(ctx context.Context, etcd *clientv3.Client, prefix string) (int64, error) {
	key := prefix + "/end-of-history"
	put, err := etcd.Put(ctx, key, "")
	if err != nil {
		return 0, fmt.Errorf("cannot write %s: %w", key, err)
	}
	if _, err := etcd.Delete(ctx, key); err != nil {
		return 0, fmt.Errorf("cannot delete %s: %w", key, err)
	}
	return put.Header.Revision, nil
}
