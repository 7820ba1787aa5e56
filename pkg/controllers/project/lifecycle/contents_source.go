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

// contentSource is the source of the events of the blocking kinds, of those that the API server serves. It is synced
// when each kind is either watched or known to be absent; one that is absent is watched once it appears.
type contentSource struct {
	contents  contents
	toProject mapper
}

// Start wakes the Project of what comes or goes. What keeps a namespace does so whatever it looks like.
func (s contentSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.contents.Tell(func(e kinds.Event) {
		if e.Old != nil && e.New != nil {
			return
		}
		for _, request := range s.toProject.ofContent(ctx, e.Object().Namespace) {
			queue.Add(request)
		}
	}, blockingResources()...)
	return nil
}

// WaitForSync waits until every kind is settled. The end of the process is no error, the end of its patience is.
func (s contentSource) WaitForSync(ctx context.Context) error {
	if err := s.contents.Settled(ctx, blockingResources()...); err != nil {
		return fmt.Errorf("cannot tell what keeps project namespaces, because %w", err)
	}
	return nil
}

// String names the source in logs.
func (s contentSource) String() string { return "contents of project namespaces" }
