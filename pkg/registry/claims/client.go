// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// maxAttempts bounds how often one write is tried while claims of vanished objects are in its way.
	maxAttempts = 8
	// maxBelow bounds how many claims below a name one attempt checks.
	maxBelow = 64
)

// Client returns next with transactions that also take and give back the names which the Storage of
// these claims put into the context.
func (c *Claims) Client(next kubernetes.Interface) kubernetes.Interface {
	return client{Interface: next, claims: c}
}

type client struct {
	kubernetes.Interface
	claims *Claims
}

// OptimisticPut writes an object and changes its claim, if the object is still at the revision and
// the name is free.
func (c client) OptimisticPut(ctx context.Context, key string, value []byte, revision int64, opts kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	change := changeFrom(ctx)
	if change == nil || change.empty() {
		return c.Interface.OptimisticPut(ctx, key, value, revision, opts)
	}
	ifs := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", revision)}
	thens := []clientv3.Op{clientv3.OpPut(key, string(value), clientv3.WithLease(opts.LeaseID))}
	elses := []clientv3.Op{clientv3.OpGet(key)}
	if change.take != "" {
		free, rivals, err := c.claims.free(change.take)
		if err != nil {
			return kubernetes.PutResponse{}, err
		}
		ifs, elses = append(ifs, free...), append(elses, rivals...)
		thens = append(thens, clientv3.OpPut(c.claims.claim(change.take), key))
	}
	if change.drop != "" {
		thens = append(thens, c.claims.release(change.drop, key))
	}
	for range maxAttempts {
		txn, err := c.claims.KV.Txn(ctx).If(ifs...).Then(thens...).Else(elses...).Commit()
		if err != nil {
			return kubernetes.PutResponse{}, err
		}
		resp := kubernetes.PutResponse{Succeeded: txn.Succeeded, Revision: txn.Header.Revision}
		if resp.Succeeded {
			return resp, nil
		}
		found, rivals := split(txn.Responses)
		if found.GetModRevision() != revision {
			resp.KV = found // the object changed meanwhile: the store tries again or rejects
			return resp, nil
		}
		for _, rival := range rivals {
			if err := c.claims.settle(ctx, change, rival); err != nil {
				return kubernetes.PutResponse{}, err
			}
		}
	}
	return kubernetes.PutResponse{}, apierrors.NewTooManyRequests(fmt.Sprintf("name %q: too many concurrent changes, retry", change.take), 1)
}

// OptimisticDelete deletes an object and its claim, if the object is still at the revision.
func (c client) OptimisticDelete(ctx context.Context, key string, revision int64, opts kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	change := changeFrom(ctx)
	if change == nil || change.drop == "" {
		return c.Interface.OptimisticDelete(ctx, key, revision, opts)
	}
	txn, err := c.claims.KV.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
		Then(clientv3.OpDelete(key), c.claims.release(change.drop, key)).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return kubernetes.DeleteResponse{}, err
	}
	resp := kubernetes.DeleteResponse{Succeeded: txn.Succeeded, Revision: txn.Header.Revision}
	if !resp.Succeeded {
		resp.KV, _ = split(txn.Responses)
	}
	return resp, nil
}

// free returns the compares that hold while a name is free, and the reads that report why it is not.
func (c *Claims) free(name string) ([]clientv3.Cmp, []clientv3.Op, error) {
	ancestors, err := c.Rule.ancestors(name)
	if err != nil {
		return nil, nil, err
	}
	own := c.claim(name)
	// The version of a missing key is 0, and an empty range compares like a missing key.
	compares := []clientv3.Cmp{clientv3.Compare(clientv3.Version(own).WithPrefix(), "=", 0)}
	reads := []clientv3.Op{clientv3.OpGet(own, clientv3.WithPrefix(), clientv3.WithLimit(maxBelow))}
	for _, ancestor := range ancestors {
		compares = append(compares, clientv3.Compare(clientv3.Version(c.claim(ancestor)), "=", 0))
		reads = append(reads, clientv3.OpGet(c.claim(ancestor)))
	}
	return compares, reads, nil
}

// release deletes the claim of a name, unless it is not the object at key that holds it.
func (c *Claims) release(name, key string) clientv3.Op {
	claim := c.claim(name)
	return clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value(claim), "=", key)},
		[]clientv3.Op{clientv3.OpDelete(claim)}, nil)
}

// settle rejects a change while the holder of the claim in its way lives, and removes the claim of a holder that has been deleted
// or holds another name by now. Both revisions guard the removal: when either changes meanwhile nothing happens, and the next
// attempt rechecks.
func (c *Claims) settle(ctx context.Context, change *change, rival *mvccpb.KeyValue) error {
	holds, revision, err := c.holds(ctx, rival)
	if err != nil {
		return err
	}
	if holds {
		return c.Rule.Rejection(change.obj, c.claimed(string(rival.Key)))
	}
	_, err = c.KV.Txn(ctx).If(
		clientv3.Compare(clientv3.ModRevision(string(rival.Key)), "=", rival.ModRevision),
		clientv3.Compare(clientv3.ModRevision(string(rival.Value)), "=", revision),
	).Then(clientv3.OpDelete(string(rival.Key))).Commit()
	return err
}

// split divides what a rejected transaction read: the object (nil: there is none) and the claims.
func split(responses []*pb.ResponseOp) (object *mvccpb.KeyValue, claims []*mvccpb.KeyValue) {
	for i, response := range responses {
		kvs := response.GetResponseRange().GetKvs()
		if i > 0 {
			claims = append(claims, kvs...)
		} else if len(kvs) == 1 {
			object = kvs[0]
		}
	}
	return object, claims
}
