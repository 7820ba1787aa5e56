// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
)

// Store is the store behind a status subresource, for tests that look at its strategy.
func (r *StatusREST) Store() *genericregistry.Store { return r.store }
