// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// openStack has the clients of OpenStack that the controllers of Klusters share, once one of them requests them. They write while
// the fence is open.
type openStack struct {
	fence  func() error
	shared *openstack.Clients
}

func (o *openStack) clients(config v1alpha1.OpenStackConfiguration) (*openstack.Clients, error) {
	if o.shared != nil {
		return o.shared, nil
	}
	counts, err := telemetry.Register(metrics.Registry, openstack.NewTelemetry())
	if err != nil {
		return nil, err
	}
	o.shared, err = openstack.NewClients(openstack.Options{
		QPS: *config.QPS, Burst: int(*config.Burst), Timeout: config.Timeout.Duration,
		UserAgent: "groundskeeper-controller-manager", Telemetry: counts, Clock: clock.RealClock{}, BeforeWrite: o.fence,
	})
	return o.shared, err
}

// noKlusters returns the reason if the controllers of Klusters are disabled, which is the default, because they need permissions to read
// Secrets.
func noKlusters(config *v1alpha1.ControllersConfiguration) string {
	if config.Kluster.Enabled == nil || !*config.Kluster.Enabled {
		return "controllers.kluster.enabled is false"
	}
	return ""
}

// noClusterAPI returns the reason if the controller for clusters of Cluster API is disabled, which is the default.
func noClusterAPI(config *v1alpha1.ControllersConfiguration) string {
	if why := noKlusters(config); why != "" {
		return why
	}
	if config.Kluster.ClusterAPI.Enabled == nil || !*config.Kluster.ClusterAPI.Enabled {
		return "controllers.kluster.clusterAPI.enabled is false"
	}
	return ""
}
