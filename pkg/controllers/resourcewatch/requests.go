// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// requests wraps the list and watch requests of an informer, and records the result of the last one.
type requests struct {
	resource schema.GroupResource

	mu  sync.Mutex
	err error
	// failed, if not nil, is called after each failure.
	failed func()
}

// noted returns a ListerWatcher whose requests are recorded.
func (r *requests) noted(from cache.ListerWatcherWithContext) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := from.ListWithContext(ctx, options)
			return list, r.note(ctx, "list", err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			events, err := from.WatchWithContext(ctx, options)
			return events, r.note(ctx, "watch", err)
		},
	}
}

// note records the result of a request, unless the informer was stopped meanwhile.
func (r *requests) note(ctx context.Context, verb string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = nil
	if err != nil {
		r.err = fmt.Errorf("%s %s: %w", verb, r.resource, err)
		if r.failed != nil {
			r.failed()
		}
	}
	return err
}

// notify sets the function to call after each failure; nil removes it. It must not block.
func (r *requests) notify(failed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = failed
}

func (r *requests) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
