// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// change is what one write does to the claims.
type change struct {
	take, drop string         // names; "" changes nothing
	obj        runtime.Object // the object that takes
}

func (c *change) empty() bool { return c.take == "" && c.drop == "" }

type changeKey struct{}

// withChange carries a change from the Storage through the library's store to the Client.
func withChange(ctx context.Context, c *change) context.Context {
	return context.WithValue(ctx, changeKey{}, c)
}

func changeFrom(ctx context.Context) *change {
	c, _ := ctx.Value(changeKey{}).(*change)
	return c
}

// Storage returns next with writes that report which names they take and give back. Next must write through the Client of these
// claims.
func (c *Claims) Storage(next storage.Interface) storage.Interface {
	return claimingStorage{Interface: next, rule: c.Rule}
}

type claimingStorage struct {
	storage.Interface
	rule Rule
}

// Create takes the name of the new object.
func (s claimingStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return s.Interface.Create(withChange(ctx, &change{take: s.rule.Name(obj), obj: obj}), key, obj, out, ttl)
}

// GuaranteedUpdate takes the new name and gives back the old one when the update changes it. The store calls tryUpdate again when
// the object changed meanwhile: each call decides again.
func (s claimingStorage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	next := &change{}
	try := func(in runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		*next = change{}
		before := s.rule.Name(in) // first: tryUpdate may change the object it is given
		out, ttl, err := tryUpdate(in, meta)
		if err != nil {
			return out, ttl, err
		}
		if after := s.rule.Name(out); after != before {
			*next = change{take: after, drop: before, obj: out}
		}
		return out, ttl, nil
	}
	return s.Interface.GuaranteedUpdate(withChange(ctx, next), key, destination, ignoreNotFound, preconditions, try, cached)
}

// Delete gives back the name of the object. The store validates the object that it is about to delete, and again when it changed
// meanwhile, so the last one validated is the one deleted. It validates nil in place of an object that it cannot read: the claim
// stays until another object wants it.
func (s claimingStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	next := &change{}
	seen := func(ctx context.Context, obj runtime.Object) error {
		if *next = (change{}); obj != nil {
			next.drop = s.rule.Name(obj)
		}
		return validate(ctx, obj)
	}
	return s.Interface.Delete(withChange(ctx, next), key, out, preconditions, seen, cached, opts)
}
