// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/requests"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// NewClient makes the client of the Northbound database that the configuration describes. Requests are counted in the registry. It does
// not connect, and reads the certificates when it does. An error names the setting that cannot be used.
func NewClient(config configv1alpha1.OVNConfiguration, registry prometheus.Registerer) (*ovsdb.Client, error) {
	return newClient(config, Database, "endpoints", config.Endpoints, checkSchema, registry)
}

// newClient makes the client of a database, whose endpoints are those of a field.
func newClient(config configv1alpha1.OVNConfiguration, database, field string, endpoints []string, accept func(ovsdb.Schema) error,
	registry prometheus.Registerer,
) (*ovsdb.Client, error) {
	observe, err := requests.Register(registry)
	if err != nil {
		return nil, err
	}
	options := ovsdb.Options{
		Database: database,
		Accept:   accept,
		TLS: ovsdb.Files{CA: config.CAFile, Certificate: config.CertFile, Key: config.KeyFile,
			AnyHost: config.VerifyHost != nil && !*config.VerifyHost}.Config,
		Observe: func(method, code string, took time.Duration) {
			if code == "" {
				code = "ok"
			}
			observe(database, method, code, took)
		},
	}
	for i, text := range endpoints {
		endpoint, err := ovsdb.ParseEndpoint(text)
		if err != nil {
			return nil, fmt.Errorf("controllers.translation.ovn.%s[%d]: %w", field, i, err)
		}
		options.Endpoints = append(options.Endpoints, endpoint)
	}
	if config.Timeout != nil {
		options.Timeout = config.Timeout.Duration
	}
	return ovsdb.New(options)
}
