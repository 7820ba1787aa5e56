// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"groundskeeper.io/groundskeeper/test/plane"
)

// deleteKey is the operation that deletes a key. No finalizer has to be removed first.
const deleteKey = "delete"

// etcd measures the transactions that a server makes, made by clients without a server in between: what no server can be
// quicker than.
func (c *comparison) etcd(ctx context.Context) error {
	stores := make([]*clientv3.Client, c.Workers)
	for i := range stores {
		store, err := c.store()
		if err != nil {
			return err
		}
		defer func() { _ = store.Close() }()
		stores[i] = store
	}
	value, err := asProtobuf(newTranslation("bench", nameOf(0), 0, "0"))
	if err != nil {
		return err
	}
	key := func(round, i int) string { return fmt.Sprintf("/bench/%d/%s", round, nameOf(i)) }
	results := map[string]rounds{}
	for round := range c.Rounds {
		for _, step := range []struct {
			operation string
			make      func(ctx context.Context, store *clientv3.Client, i int) error
		}{
			{opCreate, func(ctx context.Context, store *clientv3.Client, i int) error {
				_, err := store.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key(round, i)), "=", 0)).Then(clientv3.OpPut(key(round, i), string(value))).Commit()
				return err
			}},
			{opGet, func(ctx context.Context, store *clientv3.Client, i int) error {
				_, err := store.Get(ctx, key(round, i))
				return err
			}},
			{deleteKey, func(ctx context.Context, store *clientv3.Client, i int) error {
				_, err := store.Delete(ctx, key(round, i))
				return err
			}},
		} {
			r, err := c.measureEtcd(ctx, stores, step.make)
			if err != nil {
				return err
			}
			if results[step.operation] == nil {
				results[step.operation] = rounds{}
			}
			results[step.operation][etcdSeries] = append(results[step.operation][etcdSeries], r)
		}
	}
	for _, operation := range []string{opCreate, opGet, deleteKey} {
		if err := c.report(operation+" of a key, "+fmt.Sprintf("%d concurrent", c.Workers), results[operation]); err != nil {
			return err
		}
	}
	return nil
}

// measureEtcd makes an operation on each key, with one connection for each worker.
func (c *comparison) measureEtcd(ctx context.Context, stores []*clientv3.Client, operation func(context.Context, *clientv3.Client, int) error) (run, error) {
	return measured(ctx, stores, warmUp, c.Objects+warmUp, []*plane.Process{c.Etcd}, operation)
}
