// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
)

// Store returns the store behind a status subresource, for tests that check its strategy.
func (r *StatusREST) Store() *genericregistry.Store { return r.store }

// IsOutdated reports whether an object has another summary of its conditions than this version writes.
func (r *StatusREST) IsOutdated(o runtime.Object) bool { return r.isOutdated(o) }

// ResummarizeList returns what Resummarize does with a list.
func ResummarizeList(list runtime.Object, isOutdated func(runtime.Object) bool, write func(metav1.Object) error) (int, error) {
	return resummarize(list, isOutdated, write)
}
