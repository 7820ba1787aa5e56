// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/util/flowcontrol"
)

// keysPage is how many keys are read at a time.
const keysPage = 10000

// Rewritten is the progress of a rewrite.
type Rewritten struct {
	// Total is the number of objects at the start of the rewrite.
	Total int
	// Written were in another encoding, or encrypted with another key than new objects would be. Current were not, and Deleted were
	// deleted meanwhile: neither was written.
	Written, Current, Deleted int
	// Failed could not be read or written.
	Failed []error
}

// done is how many objects were checked.
func (r Rewritten) done() int { return r.Written + r.Current + r.Deleted + len(r.Failed) }

// Rewrite writes every object again that is not stored as it would be today, and no other. It replaces exactly what it read, so
// servers may write meanwhile. The limiter bounds the writes. Run again, it continues where it ended: what is current is only read.
func Rewrite(ctx context.Context, store Store, limiter flowcontrol.RateLimiter, progress func(Rewritten)) (Rewritten, error) {
	var r Rewritten
	keys := make([][]string, len(store.Resources))
	for i, resource := range store.Resources {
		var err error
		if keys[i], err = store.keys(ctx, resource.root()); err != nil {
			return r, err
		}
		r.Total += len(keys[i])
	}
	for i, resource := range store.Resources {
		for _, key := range keys[i] {
			written, err := rewrite(ctx, resource, key)
			switch {
			case ctx.Err() != nil:
				return r, ctx.Err()
			case storage.IsNotFound(err):
				r.Deleted++
			case err != nil:
				r.Failed = append(r.Failed, fmt.Errorf("%s: %w", store.key(key), err))
			case written:
				r.Written++
			default:
				r.Current++
			}
			if r.done()%1000 == 0 {
				progress(r)
			}
			if written {
				if err := limiter.Wait(ctx); err != nil {
					return r, err
				}
			}
		}
	}
	if len(r.Failed) > 0 {
		return r, fmt.Errorf("%d of %d objects could not be rewritten: %w", len(r.Failed), r.Total,
			errors.Join(r.Failed[:min(len(r.Failed), 10)]...))
	}
	return r, nil
}

// keys returns the storage keys of all objects below one. Those that come later need no rewrite.
func (s Store) keys(ctx context.Context, root string) ([]string, error) {
	prefix := s.key(root) + "/"
	var keys []string
	for from, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		found, err := s.KV.Get(ctx, from, clientv3.WithRange(end), clientv3.WithKeysOnly(), clientv3.WithLimit(keysPage))
		if err != nil {
			return nil, fmt.Errorf("etcd keys %s: %w", prefix, err)
		}
		for _, kv := range found.Kvs {
			keys = append(keys, root+strings.TrimPrefix(string(kv.Key), prefix))
		}
		if !found.More {
			return keys, nil
		}
		from = string(found.Kvs[len(found.Kvs)-1].Key) + "\x00"
	}
}

// rewrite reads an object and writes it back. Storage leaves out the write when nothing would change: neither the bytes of the
// object, nor the key that encrypts them. It reports whether it wrote.
func rewrite(ctx context.Context, resource Resource, key string) (bool, error) {
	var read uint64
	obj := resource.Store.NewFunc()
	err := resource.storage().GuaranteedUpdate(ctx, key, obj, false, nil,
		func(in runtime.Object, response storage.ResponseMeta) (runtime.Object, *uint64, error) {
			read = response.ResourceVersion
			return in, nil, nil
		}, nil)
	if err != nil {
		return false, err
	}
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(obj)
	return version != read, err
}
