// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness removes copied endpoints of a backend from traffic, and restores them: those of the Services for which the
// weights of some route cannot exclude requests. It does so while the discoverer is down as well. A discoverer that runs keeps a
// Service withheld whose slices are withheld, as long as status.endpointsDrained of its DiscoveryBackend is set.
package readiness

import (
	"context"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

const (
	// fieldOwner is the manager of the fields Groundskeeper writes.
	fieldOwner = "discovery-maintenance"

	// maxWrites bounds the writes of one call, so that no worker is busy with one backend for long. Each call lists all slices
	// of the backend, so that smaller parts of 10,000 slices would cost more to list than to write.
	maxWrites = 5000
	// parallelWrites is how many writes run concurrently.
	parallelWrites = 16
)

// Endpoints are the copied endpoints of all backends.
type Endpoints struct {
	client kubernetes.Interface
	admins []string
	// limit is how many slices a call writes at most.
	limit int
	// watched are the slices with a label of either prefix (watch.go).
	watched []*remote.Informers[*discoveryv1.EndpointSlice]

	// changed is called with the name of a backend when one of its copied slices changed.
	changed func(backend string)

	mu sync.Mutex
	// goals are, by the names of backends, what their slices are to be brought to, and whether they are.
	goals map[string]*goal
}

// New returns the endpoints of backends. Those outside of the admin namespaces reach their own namespace only. The client
// should have no timeout: it watches; and it should use protobuf: a backend may have 10,000 slices.
func New(client kubernetes.Interface, adminNamespaces []string) *Endpoints {
	e := &Endpoints{client: client, admins: adminNamespaces, limit: maxWrites, changed: func(string) {}, goals: map[string]*goal{}}
	e.watch()
	return e
}

// Withhold makes the endpoints of some Services of a backend neither ready nor serving, whatever the backend reports about them,
// and restores the conditions of the endpoints of the rest. It returns how many slices are still to be written: call it again
// until that is 0. A call for a backend of which nothing changed since sends no request. Only a complete list, read from the API server,
// confirms that nothing is left to do.
func (e *Endpoints) Withhold(ctx context.Context, backend *gimbalv1.DiscoveryBackend, services Services) (pending int, err error) {
	goal, sighting, done := e.aim(backend, services)
	if done {
		return 0, nil
	}
	all, err := e.list(ctx, backend)
	if err != nil {
		return 0, err
	}
	var due []*discoveryv1.EndpointSlice
	for i := range all {
		if changed := services.way(&all[i]).changed(&all[i]); changed != nil {
			due = append(due, changed)
		}
	}
	left, err := e.writeAll(ctx, due[:min(len(due), e.limit)])
	left += max(len(due)-e.limit, 0)
	if err == nil && left == 0 {
		e.reached(goal, sighting)
	}
	return left, err
}

// Restore gives the endpoints of all withheld slices the conditions back that they had. For the rest it is as Withhold.
func (e *Endpoints) Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (pending int, err error) {
	return e.Withhold(ctx, backend, Services{})
}

// list returns all copied slices of a backend, or an error.
func (e *Endpoints) list(ctx context.Context, backend *gimbalv1.DiscoveryBackend) ([]discoveryv1.EndpointSlice, error) {
	namespace := status.Reach(backend, e.admins)
	var found []discoveryv1.EndpointSlice
	client := e.client.DiscoveryV1().EndpointSlices(namespace)
	for _, selector := range selectors(backend.Name) {
		options := metav1.ListOptions{LabelSelector: selector}
		if err := remote.EachPage(ctx, client, options, func(page *discoveryv1.EndpointSliceList) {
			for i := range page.Items {
				if IsCopy(&page.Items[i]) {
					found = append(found, page.Items[i])
				}
			}
		}); err != nil {
			return nil, fmt.Errorf("list the EndpointSlices of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
		}
	}
	return found, nil
}
