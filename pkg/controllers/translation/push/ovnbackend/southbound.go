// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// southboundDatabase is the name of the database that chassis register themselves in. It is only read.
const southboundDatabase = "OVN_Southbound"

// Southbound reads the Southbound database.
type Southbound struct {
	client *ovsdb.Client
}

// NewSouthbound makes the client that the configuration describes. It does not connect.
func NewSouthbound(config configv1alpha1.OVNConfiguration, registry prometheus.Registerer) (*Southbound, error) {
	client, err := newClient(config, southboundDatabase, "southboundEndpoints", config.SouthboundEndpoints, nil, registry)
	if err != nil {
		return nil, err
	}
	return &Southbound{client}, nil
}

// Close ends the connection.
func (s *Southbound) Close() { s.client.Close() }

// Chassis lists the chassis.
func (s *Southbound) Chassis(ctx context.Context) ([]ovn.Chassis, error) {
	results, err := s.client.Transact(ctx, ovsdb.Select("Chassis", nil, "name", "hostname"))
	if err != nil {
		return nil, fmt.Errorf("list chassis: %w", err)
	}
	listed := make([]ovn.Chassis, 0, len(results[0].Rows))
	for _, row := range results[0].Rows {
		name, err := textOf(row, "name")
		if err != nil {
			return nil, err
		}
		hostname, err := textOf(row, "hostname")
		if err != nil {
			return nil, err
		}
		listed = append(listed, ovn.Chassis{Name: name, Hostname: hostname})
	}
	return listed, nil
}

func textOf(row ovsdb.Row, column string) (string, error) {
	value, err := row.Value(column)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("column %s is not a string", column)
	}
	return text, nil
}
