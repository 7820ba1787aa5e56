// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestExpiry(t *testing.T) {
	made, err := issue("server", []string{"localhost"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ends := float64(made.tls.Leaf.NotAfter.Unix())
	var served *tls.Certificate
	var certificate []byte
	registry := prometheus.NewRegistry()
	webhooks := NewExpiry("webhooks", func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return served, nil })
	apiserver := NewExpiryPEM("apiserver", func() ([]byte, []byte) { return certificate, nil })
	for _, expiry := range []*Expiry{webhooks, apiserver, NewExpiry("webhooks", webhooksOfAnother)} {
		if err := expiry.Register(registry); err != nil {
			t.Fatal(err)
		}
	}
	for _, expiry := range []*Expiry{webhooks, apiserver} {
		if n := testutil.CollectAndCount(expiry); n != 0 {
			t.Errorf("%d samples without a certificate", n)
		}
	}
	served, certificate = made.tls, made.certificate
	for _, expiry := range []*Expiry{webhooks, apiserver} {
		if got := testutil.ToFloat64(expiry); got != ends {
			t.Errorf("%v, want %v", got, ends)
		}
	}
	if n, err := testutil.GatherAndCount(registry); n != 1 || err != nil {
		t.Errorf("%d samples of the registry, where the webhooks of another manager took the place of the first: %v", n, err)
	}
}

// webhooksOfAnother has no certificate.
func webhooksOfAnother(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }
