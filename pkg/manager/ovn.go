// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
)

var (
	_ push.Watcher  = (*ovnbackend.Backend)(nil)
	_ push.Realizer = (*ovnbackend.Backend)(nil)
)

// newOVN makes the driver of the configured OVN. The reader is one of the cluster whose objects are pushed.
func newOVN(config v1alpha1.TranslationConfiguration, fence *Fence, reader client.Reader) (engine.Backend, error) {
	client, err := ovnbackend.NewClient(config.OVN, metrics.Registry)
	if err != nil {
		return nil, err
	}
	return ovnbackend.New(client, config.Tenant, &clusterFence{Fence: fence, cluster: self.Cluster{Reader: reader}}), nil
}

// clusterFence is a Fence that identifies its cluster.
type clusterFence struct {
	*Fence
	cluster self.Cluster
}

// Cluster implements ovnbackend.Lease.
func (f *clusterFence) Cluster(ctx context.Context) (string, error) {
	uid, err := f.cluster.UID(ctx)
	return string(uid), err
}

// newSouthbound makes the client of the Southbound database that the configuration describes. It is only read.
func newSouthbound(config v1alpha1.OVNConfiguration) (*ovnbackend.Southbound, error) {
	return ovnbackend.NewSouthbound(config, metrics.Registry)
}

// Term returns the present term of this process as the leader, for databases that record it.
func (f *Fence) Term() ovnbackend.Term {
	if f.deadline == 0 {
		return ovnbackend.Term{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.term
}
