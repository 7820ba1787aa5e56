// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry registers metrics. A registry outlives the servers and managers that tests start in one process, so it may have a
// metric already.
package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Register adds a metric to a registry and returns it. A registry that has it already, from an earlier server or manager in the
// same process, continues with the existing one.
func Register[C prometheus.Collector](registry prometheus.Registerer, metric C) (C, error) {
	err := registry.Register(metric)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err != nil {
		return metric, fmt.Errorf("register a metric: %w", err)
	}
	return metric, nil
}

// RegisterField is Register for the field of a struct, which it sets.
func RegisterField[C prometheus.Collector](registry prometheus.Registerer, field *C) (err error) {
	*field, err = Register(registry, *field)
	return err
}

// Replace adds a metric that is computed from the state of a server or manager. It takes the place of an earlier one, whose server
// or manager has ended.
func Replace(registry prometheus.Registerer, metric prometheus.Collector) error {
	err := registry.Register(metric)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		registry.Unregister(registered.ExistingCollector)
		err = registry.Register(metric)
	}
	if err != nil {
		return fmt.Errorf("register a metric: %w", err)
	}
	return nil
}
