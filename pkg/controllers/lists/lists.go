// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lists reads lists from which something is concluded by what they lack.
package lists

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Complete returns a reader of the API server whose List fails if the response has only a part of the objects: an object that it lacks
// may exist. It is not for a cache, which sets a continue token on every list.
func Complete(live client.Reader) client.Reader { return complete{live} }

type complete struct{ client.Reader }

// List implements client.Reader.
func (r complete) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := r.Reader.List(ctx, list, options...); err != nil {
		return err //nolint:wrapcheck // the caller names what it lists
	}
	if list.GetContinue() != "" {
		return fmt.Errorf("the API server returned only a part of the %s (%d)", describe(list), meta.LenList(list))
	}
	return nil
}

// describe returns the kind of a list: lists of metadata have one in their content, others only in their type.
func describe(list client.ObjectList) string {
	if kind := list.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(list).Elem().Name()
}
