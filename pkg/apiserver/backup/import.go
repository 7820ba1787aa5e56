// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// workers is how many objects are written at a time: each waits for etcd's disk.
const workers = 16

// Imported is the progress of an import.
type Imported struct {
	// Created were written, Present were there already, from an import that was interrupted.
	Created, Present int64
}

// Import writes objects into storage, each with the name that it claims in one transaction. An object that exists and equals that
// in the file is left alone; one that differs ends the import. Progress is reported periodically.
func Import(ctx context.Context, store Store, objects []Object, progress func(Imported)) (Imported, error) {
	resources := map[schema.GroupVersionKind]Resource{}
	for _, resource := range store.Resources {
		resources[resource.GroupVersionKind] = resource
	}
	var created, present atomic.Int64
	now := func() Imported { return Imported{Created: created.Load(), Present: present.Load()} }
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, object := range objects {
		if writing.Err() != nil {
			break
		}
		group.Go(func() error {
			isNew, err := create(writing, resources[object.Resource.GroupVersionKind], object)
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", object, err)
			case isNew:
				created.Add(1)
			default:
				present.Add(1)
			}
			return nil
		})
		if (i+1)%1000 == 0 {
			progress(now())
		}
	}
	err := group.Wait()
	return now(), cmp.Or(err, ctx.Err())
}

// create writes one object, unless it is there. It reports whether it wrote.
func create(ctx context.Context, resource Resource, object Object) (bool, error) {
	copied := object.Object.DeepCopyObject() // storage removes what it does not store
	accessor, err := meta.Accessor(copied)
	if err != nil {
		return false, err
	}
	accessor.SetResourceVersion("")
	err = resource.storage().Create(ctx, object.Key, copied, resource.Store.NewFunc(), 0)
	if !storage.IsExist(err) {
		return err == nil, err
	}
	stored := resource.Store.NewFunc()
	if err := resource.storage().Get(ctx, object.Key, storage.GetOptions{}, stored); err != nil {
		return false, err
	}
	if accessor, err = meta.Accessor(stored); err != nil {
		return false, err
	}
	accessor.SetResourceVersion(object.Meta.GetResourceVersion())
	stored.GetObjectKind().SetGroupVersionKind(object.Object.GetObjectKind().GroupVersionKind())
	if !apiequality.Semantic.DeepEqual(stored, object.Object) {
		return false, errors.New("the store has another object of this name: a user wrote into it; empty it and import again")
	}
	return false, nil
}
