// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry has what the metrics of controllers share.
package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds a metric to a registry and returns it. A registry that has it already, from an earlier manager in the
// same process, continues with the existing one.
func Register[C prometheus.Collector](registry prometheus.Registerer, metric C) (C, error) {
	err := registry.Register(metric)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return metric, fmt.Errorf("register a metric: %w", err)
	}
	return metric, nil
}
