// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"sync"

	"k8s.io/client-go/tools/clientcmd/api"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// readiness knows whether the process could work: on a standby replica, too, as soon as its caches are filled.
type readiness struct {
	mu      sync.Mutex
	started bool
	site    *localvolume.Site
}

// knows returns which Site has to be synced; nil when there is nothing to watch.
func (r *readiness) knows(site *localvolume.Site) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.site = true, site
}

func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.started:
		return errors.New("waiting for the API server")
	case r.site != nil && !r.site.Inventory.Synced():
		return errors.New("waiting for the caches of volumes, claims and nodes")
	}
	return nil
}

// clusterAt is a cluster of which nothing but the address is known.
func clusterAt(endpoint string) api.Cluster { return api.Cluster{Server: endpoint} }
