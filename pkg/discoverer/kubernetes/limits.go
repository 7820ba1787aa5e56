// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// limits has the caches whose last request the backend rejected with 429. An API server does so while it takes the small requests of
// a probe: large lists have their own limits there.
type limits struct {
	mu       sync.Mutex
	rejected map[string]error
}

// of returns the function that notes the results of requests for a resource in a namespace.
func (l *limits) of(resource, namespace string) func(error) {
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !apierrors.IsTooManyRequests(err) {
			delete(l.rejected, resource+"/"+namespace)
			return
		}
		if l.rejected == nil {
			l.rejected = map[string]error{}
		}
		l.rejected[resource+"/"+namespace] = err
	}
}

// err returns the error of one of them, nil when there is none.
func (l *limits) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for err := range maps.Values(l.rejected) {
		return err
	}
	return nil
}
