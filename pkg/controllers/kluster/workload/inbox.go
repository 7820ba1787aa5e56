// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// inbox is a source of the controller: what sessions report. It has the context in which they live.
type inbox struct {
	mu    sync.Mutex
	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start implements source.Source. The context ends all sessions.
func (i *inbox) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ctx, i.queue = ctx, queue
	return nil
}

// news queues a Kluster.
func (i *inbox) news(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue.Add(reconcile.Request{NamespacedName: key})
}

// life is the context in which sessions live.
func (i *inbox) life() context.Context {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ctx
}
