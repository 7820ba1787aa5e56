// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// errBehind means that the backend has what its cache has not.
var errBehind = errors.New("the cache of the backend is behind it")

// confirmed returns the operations without those that delete something that the backend, read again, has as well. A cache may be far
// behind when its watch was lost or the process was paused: what it reports as deleted may have been recreated since, and copied by
// the discoverer that had the Lease before. The error is why something was left out; the other operations may be done.
func (r *Replica) confirmed(ctx context.Context, key types.NamespacedName, have existing, operations []operation) ([]operation, error) {
	doubtful := deletedBy(operations)
	if len(doubtful) == 0 {
		return operations, nil
	}
	certain, err := r.deletable(ctx, key, have)
	if doubtful = doubtful.Difference(certain); len(doubtful) == 0 {
		return operations, nil
	}
	if err == nil {
		err = fmt.Errorf("service %s: %w", key, errBehind)
	}
	// What is deleted to be recreated is not recreated before.
	return slices.DeleteFunc(slices.Clone(operations), func(op operation) bool { return doubtful.Has(refOf(op.Object)) }), err
}

// deletable reads a service from the backend, and returns what of its copy has to be deleted.
func (r *Replica) deletable(ctx context.Context, key types.NamespacedName, have existing) (sets.Set[desired.Ref], error) {
	r.mu.Lock()
	since := r.began
	r.mu.Unlock()
	source, excluded, err := r.Upstream.Read(ctx, key, since)
	if err != nil {
		return nil, fmt.Errorf("read service %s from the backend before its copy is deleted: %w", key, err)
	}
	source, _, excluded = r.admitted(key, source, excluded)
	if r.unknown(key, source, excluded) {
		return nil, nil
	}
	var want *desired.Objects
	if source != nil {
		want = r.wanted(source, have)
	}
	operations, err := planCopy(want, have, r.Annotations, !excluded)
	return deletedBy(operations), err
}

// deletedBy returns what operations delete.
func deletedBy(operations []operation) sets.Set[desired.Ref] {
	deleted := sets.New[desired.Ref]()
	for _, op := range operations {
		if op.Verb == verbDelete {
			deleted.Insert(refOf(op.Object))
		}
	}
	return deleted
}
