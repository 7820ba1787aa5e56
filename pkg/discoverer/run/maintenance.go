// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// maintenance follows whether the endpoints of a backend are withheld.
type maintenance struct {
	client client.DiscoveryBackends
	name   string
	// pause is the time between two requests while the server does not respond.
	pause     time.Duration
	notify    func(withheld bool)
	informers *remote.Informers[*gimbalv1.DiscoveryBackend]
	// deleted is closed when the backend is being deleted: then its copies are deleted too, and nothing may be copied any more.
	deleted chan struct{}
	once    sync.Once
}

// newMaintenance returns the maintenance of a backend. It notifies once the state is known, and then of every change. The second
// client, which watches, has no timeout.
func newMaintenance(
	querying, watching client.DiscoveryBackends, namespace, name string, pause time.Duration, notify func(withheld bool),
) *maintenance {
	m := &maintenance{client: querying, name: name, pause: pause, notify: notify, deleted: make(chan struct{})}
	own := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	source := remote.From(nil, own, func(string) client.DiscoveryBackends { return watching })
	// Nothing is done for one that has been deleted: its endpoints are deleted with it, unchanged.
	m.informers = remote.NewInformers([]string{namespace}, source, remote.Kind[*gimbalv1.DiscoveryBackend]{
		Example: &gimbalv1.DiscoveryBackend{}, Trim: trimBackend,
		Set: func(backend *gimbalv1.DiscoveryBackend) {
			m.observeDeletion(backend)
			notify(backend.Status.EndpointsDrained)
		},
	})
	return m
}

func (m *maintenance) observeDeletion(backend *gimbalv1.DiscoveryBackend) {
	if !backend.DeletionTimestamp.IsZero() {
		m.once.Do(func() { close(m.deleted) })
	}
}

// withheld reports whether the endpoints are withheld. A backend that does not exist is not in maintenance.
func (m *maintenance) withheld(ctx context.Context) (bool, error) {
	backend, err := m.client.Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m.observeDeletion(backend)
	return backend.Status.EndpointsDrained, nil
}

// follow notifies until ctx is done.
func (m *maintenance) follow(ctx context.Context) {
	// A server that does not know DiscoveryBackends at all never responds to the watch.
	for ctx.Err() == nil {
		withheld, err := m.withheld(ctx)
		if err == nil {
			m.notify(withheld)
			break
		}
		logr.FromContextOrDiscard(ctx).Info("Failed to determine whether the backend is in maintenance, retrying", "err", err)
		_ = kit.Pause(ctx, m.pause)
	}
	m.informers.Run(ctx)
}

// trimBackend trims a DiscoveryBackend to the fields that maintenance uses.
func trimBackend(backend *gimbalv1.DiscoveryBackend) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: backend.Namespace, Name: backend.Name, UID: backend.UID, ResourceVersion: backend.ResourceVersion,
			DeletionTimestamp: backend.DeletionTimestamp,
		},
		Status: gimbalv1.DiscoveryBackendStatus{EndpointsDrained: backend.Status.EndpointsDrained},
	}
}
