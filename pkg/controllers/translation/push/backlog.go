// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// mostQueued is how many Translations of a backlog are in the queue at a time: enough for all workers.
const mostQueued = 500

// backlog are Translations that were there at the start and are to be pushed when there is time. A queue takes ten times as much
// memory for each, and keeps it for as many as it ever had at a time. The zero value is empty.
type backlog struct {
	mu       sync.Mutex
	requests []reconcile.Request
}

// add puts one at the end.
func (b *backlog) add(request reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, request)
}

// waits reports whether some are not in the queue yet.
func (b *backlog) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.requests) > 0
}

// moveTo fills up a queue. What is in the queue already and more urgent stays so.
func (b *backlog) moveTo(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		return
	}
	n := min(max(mostQueued-queue.Len(), 0), len(b.requests))
	moved := b.requests[:n]
	if b.requests = b.requests[n:]; len(b.requests) == 0 {
		b.requests = nil
	}
	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, moved...)
		return
	}
	for _, request := range moved {
		queue.Add(request)
	}
}
