// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
)

// contentSource is the source of events of the blocking kinds that the API server serves. It is synced when each kind is either
// watched or known to be absent; an absent kind is watched once it is served.
type contentSource struct {
	contents  contents
	toProject mapper
}

// Start enqueues the Projects of created and deleted objects. Their contents do not matter.
func (s contentSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.contents.Subscribe(func(e kinds.Event) {
		if e.Old != nil && e.New != nil {
			return
		}
		for _, request := range s.toProject.ofContent(ctx, e.Object().Namespace) {
			queue.Add(request)
		}
	}, blockingResources()...)
	return nil
}

// WaitForSync waits until the state of every kind is known. The end of the process is not an error, a timeout is.
func (s contentSource) WaitForSync(ctx context.Context) error {
	if err := s.contents.Settled(ctx, blockingResources()...); err != nil {
		return fmt.Errorf("find the objects that block the deletion of project namespaces: %w", err)
	}
	return nil
}

// String returns the name of the source for logs.
func (s contentSource) String() string { return "contents of project namespaces" }
