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

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Expiry is the metric of the expiry of a certificate, which a Keeper, an Issuer or files provide. The certificate is read in each scrape.
// Without a certificate, there is no sample.
type Expiry struct {
	current func() (*x509.Certificate, error)
	desc    *prometheus.Desc
}

// NewExpiry returns the metric of a server. get is its tls.Config.GetCertificate.
func NewExpiry(server string, get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *Expiry {
	return newExpiry(server, func() (*x509.Certificate, error) {
		served, err := get(&tls.ClientHelloInfo{})
		if err != nil {
			return nil, err
		}
		if served == nil || len(served.Certificate) == 0 {
			return nil, errors.New("no certificate yet")
		}
		return x509.ParseCertificate(served.Certificate[0])
	})
}

// NewExpiryPEM returns the metric of a server. current returns its PEM-encoded certificate and key.
func NewExpiryPEM(server string, current func() (certificate, key []byte)) *Expiry {
	return newExpiry(server, func() (*x509.Certificate, error) {
		certificate, _ := current()
		block, _ := pem.Decode(certificate)
		if block == nil {
			return nil, errors.New("no certificate yet")
		}
		return x509.ParseCertificate(block.Bytes)
	})
}

func newExpiry(server string, current func() (*x509.Certificate, error)) *Expiry {
	return &Expiry{current: current, desc: prometheus.NewDesc("groundskeeper_serving_certificate_expiration_timestamp_seconds",
		"When the certificate of a server expires, in seconds since 1970: apiserver, webhooks, etcd, or etcd-client (of the API servers, for "+
			"etcd).", nil, prometheus.Labels{"server": server})}
}

// Register adds the metric to a registry. It replaces that of an earlier server of this process.
func (e *Expiry) Register(registry prometheus.Registerer) error {
	if err := telemetry.Replace(registry, e); err != nil {
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

// Register adds the metric of the expiry of each certificate to a registry: a renewal that fails is visible, whatever the reason.
func (i *Issuer) Register(registry prometheus.Registerer) error {
	var errs []error
	for _, leaf := range i.options.Leaves {
		expiry := NewExpiryPEM(leaf.Server, func() (certificate, _ []byte) {
			seen, _ := i.seen.Load(leaf.Secret)
			certificate, _ = seen.([]byte)
			return certificate, nil
		})
		errs = append(errs, expiry.Register(registry))
	}
	return errors.Join(errs...)
}
