// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// seen are the certificates that an Issuer read last, in PEM, by their Secrets: those of another client, too, because the readers
// of the Secret use them.
type seen struct {
	lock         sync.Mutex
	certificates map[string][]byte
}

func (s *seen) keep(name string, secret *corev1.Secret) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.certificates == nil {
		s.certificates = map[string][]byte{}
	}
	s.certificates[name] = nil
	if secret != nil {
		s.certificates[name] = secret.Data[corev1.TLSCertKey]
	}
}

func (s *seen) get(name string) []byte {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.certificates[name]
}

// Register adds the metric of the end of each certificate to a registry: a renewal that fails is to be seen, whatever
// made it fail.
func (i *Issuer) Register(registry prometheus.Registerer) error {
	var errs []error
	for _, leaf := range i.options.Leaves {
		expiry := NewExpiryPEM(leaf.Server, func() ([]byte, []byte) { return i.seen.get(leaf.Secret), nil })
		errs = append(errs, expiry.Register(registry))
	}
	return errors.Join(errs...)
}
