// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CompleteLists returns a reader of the API server whose List fails if the response has only a part of the objects. It is not for a
// cache, which sets a continue token on every list.
func CompleteLists(live client.Reader) client.Reader { return completeLists{live} }

type completeLists struct{ client.Reader }

// List implements client.Reader.
func (r completeLists) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := r.Reader.List(ctx, list, options...); err != nil {
		return err //nolint:wrapcheck // the caller names what it lists
	}
	if list.GetContinue() != "" {
		return fmt.Errorf("the API server returned only a part of the %T", list)
	}
	return nil
}
