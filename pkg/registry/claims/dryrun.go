// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// Checker reports without writing whether an object could take its name.
type Checker interface {
	// CheckClaim returns the error that a write of the object under the storage key would return
	// because its name is taken, or nil. Old is what the write replaces, nil when it creates.
	CheckClaim(ctx context.Context, key string, obj, old runtime.Object) error
}

// Checked returns next, the outermost storage of the resource, as a Checker.
func (c *Claims) Checked(next storage.Interface) storage.Interface {
	return checkedStorage{Interface: next, claims: c}
}

type checkedStorage struct {
	storage.Interface
	claims *Claims
}

// CheckClaim sends the compares of a write alone.
func (s checkedStorage) CheckClaim(ctx context.Context, key string, obj, old runtime.Object) error {
	name := s.claims.Rule.Name(obj)
	if name == "" || old != nil && s.claims.Rule.Name(old) == name {
		return nil
	}
	compares, reads, err := s.claims.free(name)
	if err != nil {
		return err
	}
	txn, err := s.claims.KV.Txn(ctx).If(compares...).Else(reads...).Commit()
	if err != nil || txn.Succeeded {
		return err
	}
	for _, response := range txn.Responses {
		for _, claim := range response.GetResponseRange().GetKvs() {
			if string(claim.Value) == s.claims.object(key) {
				continue // the object's own
			}
			if holds, _, err := s.claims.holds(ctx, claim); err != nil {
				return err
			} else if holds {
				return s.claims.Rule.Rejection(obj, s.claims.claimed(string(claim.Key)))
			}
		}
	}
	return nil
}

// Store is a generic store whose dry runs are rejected like the writes they stand for. The generic store never reaches its storage
// on a dry run, so Store calls the Checker beneath it where admission ends and the write would begin. A storage that is no Checker
// rejects nothing.
type Store struct {
	*genericregistry.Store
}

// Create implements rest.Creater.
func (s Store) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if dryrun.IsDryRun(options.DryRun) {
		validate = s.validateCreate(validate)
	}
	return s.Store.Create(ctx, obj, validate, options)
}

// Update implements rest.Updater, and through it apply, which may create.
func (s Store) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if dryrun.IsDryRun(options.DryRun) {
		create, update = s.validateCreate(create), s.validateUpdate(update)
	}
	return s.Store.Update(ctx, name, info, create, update, forceAllowCreate, options)
}

func (s Store) validateCreate(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if next != nil {
			if err := next(ctx, obj); err != nil {
				return err
			}
		}
		return s.check(ctx, obj, nil)
	}
}

func (s Store) validateUpdate(next rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if next != nil {
			if err := next(ctx, obj, old); err != nil {
				return err
			}
		}
		return s.check(ctx, obj, old)
	}
}

func (s Store) check(ctx context.Context, obj, old runtime.Object) error {
	checker, ok := s.Storage.Storage.(Checker)
	if !ok {
		return nil
	}
	name, err := s.ObjectNameFunc(obj)
	if err != nil {
		return err
	}
	key, err := s.KeyFunc(ctx, name)
	if err != nil {
		return err
	}
	return checker.CheckClaim(ctx, key, obj, old)
}
