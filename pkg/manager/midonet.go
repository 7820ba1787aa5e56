// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// midoNet is the one client of MidoNet's API that the controllers of Translations share, once one of them requests it.
type midoNet struct {
	fence  *Fence
	shared *midonet.Client
}

func (m *midoNet) client(config v1alpha1.MidoNetConfiguration) (*midonet.Client, error) {
	if m.shared == nil {
		client, err := midonetbackend.NewClient(config, m.fence.Check, metrics.Registry)
		if err != nil {
			return nil, err
		}
		m.shared = client
	}
	return m.shared, nil
}

// noHosts reports that there is nothing that knows the hosts of Nodes.
func noHosts(config *v1alpha1.ControllersConfiguration) string {
	if config.Translation.Configured() == v1alpha1.BackendOVN && len(config.Translation.OVN.SouthboundEndpoints) == 0 {
		return "controllers.translation.ovn.southboundEndpoints is empty"
	}
	return noBackend(config)
}

// noBackend reports that the controllers of Translations have no backend.
func noBackend(config *v1alpha1.ControllersConfiguration) string {
	if config.Translation.Configured() == "" {
		return "controllers.translation.midonet.url and controllers.translation.ovn.endpoints are empty"
	}
	return ""
}
