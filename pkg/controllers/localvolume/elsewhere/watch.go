// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package elsewhere

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// newInformer is an informer whose watches leave no goroutine behind. A cache passes the events of a watch of metadata through a
// goroutine that waits indefinitely when the watch ends and no client takes its last event. In a process that ends with its caches
// that does not matter; here clusters come and go.
func newInformer(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	whole := toolscache.ToListerWatcherWithContext(source)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: whole.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := whole.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return &drained{Interface: w}, nil
		},
	}, example, resync, indexers)
}

// drained is a watch of which a user takes the last events.
type drained struct {
	watch.Interface
	once sync.Once
}

// Stop implements watch.Interface.
func (d *drained) Stop() {
	d.Interface.Stop()
	d.once.Do(func() {
		go func() {
			for range d.ResultChan() { // until it is closed
			}
		}()
	})
}
