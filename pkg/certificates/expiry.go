// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Expiry is the metric of when a certificate expires, wherever it comes from: a Keeper, an Issuer, or files that another client
// replaces. It is queried with each scrape. Without a certificate there is no sample.
type Expiry struct {
	current func() (*x509.Certificate, error)
	desc    *prometheus.Desc
}

// NewExpiry returns the metric of a server, by a function for tls.Config.
func NewExpiry(server string, get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *Expiry {
	return newExpiry(server, func() (*x509.Certificate, error) {
		served, err := get(&tls.ClientHelloInfo{})
		if err != nil {
			return nil, err
		}
		if served == nil || len(served.Certificate) == 0 {
			return nil, errors.New("there is no certificate yet")
		}
		return x509.ParseCertificate(served.Certificate[0])
	})
}

// NewExpiryPEM returns the metric of a server, by a function that returns its certificate and key in PEM.
func NewExpiryPEM(server string, current func() (certificate, key []byte)) *Expiry {
	return newExpiry(server, func() (*x509.Certificate, error) {
		certificate, _ := current()
		block, _ := pem.Decode(certificate)
		if block == nil {
			return nil, errors.New("there is no certificate yet")
		}
		return x509.ParseCertificate(block.Bytes)
	})
}

func newExpiry(server string, current func() (*x509.Certificate, error)) *Expiry {
	return &Expiry{current: current, desc: prometheus.NewDesc("groundskeeper_serving_certificate_expiration_timestamp_seconds",
		"When the certificate of a server ends, in seconds since 1970: of apiserver, webhooks, etcd, or etcd-client (the API servers, to etcd).", nil, prometheus.Labels{"server": server})}
}

// Register adds the metric to a registry. It takes the place of that of an earlier server of this process.
func (e *Expiry) Register(registry prometheus.Registerer) error {
	err := registry.Register(e)
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		registry.Unregister(registered.ExistingCollector)
		err = registry.Register(e)
	}
	if err != nil {
		return fmt.Errorf("register the expiry of the certificate: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (e *Expiry) Describe(descs chan<- *prometheus.Desc) { descs <- e.desc }

// Collect implements prometheus.Collector.
func (e *Expiry) Collect(metrics chan<- prometheus.Metric) {
	certificate, err := e.current()
	if err != nil {
		return
	}
	metrics <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(certificate.NotAfter.Unix()))
}
