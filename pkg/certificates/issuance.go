// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// issuance is what an Issuer knows.
type issuance struct {
	// name is that of the Secret of the CA.
	name   string
	now    time.Time
	timing Timing
	// signer is nil when there is no CA, or none that could be used.
	signer *signer
	// ca is the Secret of the CA as it was read, nil when there is none.
	ca     *corev1.Secret
	leaves []keptLeaf
}

// keptLeaf is a certificate as it should be, and the stored one.
type keptLeaf struct {
	Leaf
	// secret is as it was read, nil when there is none.
	secret *corev1.Secret
	// pair is nil when there is none that could be used; bundle is what its holders trust.
	pair   *pair
	bundle []byte
}

// issuing is one Secret to write: that of the CA when leaf is nil.
type issuing struct {
	secret, why string
	kept        *corev1.Secret
	leaf        *Leaf
}

// plan decides what to write next; nil: nothing.
//
// A CA that is lost is not replaced while there is a certificate of it that may be in use: a program that reads it trusts the lost
// one until it restarts, and would reject those of a new one.
func (v issuance) plan() (*issuing, error) {
	if v.signer == nil {
		for _, leaf := range v.leaves {
			if leaf.pair.valid(v.now) {
				return nil, fmt.Errorf("the CA is lost, and secret %s has a certificate of it until %s: restore its secret, or delete all of them "+
					"and restart the programs that use them",
					leaf.Secret, leaf.pair.tls.Leaf.NotAfter.Format(time.RFC3339))
			}
		}
		return &issuing{secret: v.name, why: "there is no CA", kept: v.ca}, nil
	}
	for _, leaf := range v.leaves {
		if why := v.due(leaf); why != "" {
			return &issuing{secret: leaf.Secret, why: why, kept: leaf.secret, leaf: &leaf.Leaf}, nil
		}
	}
	if !v.now.Before(v.signer.certificate.NotAfter.Add(-v.timing.RenewBefore)) {
		return nil, fmt.Errorf("the CA expires at %s: delete its secret and those that it signed, and restart the programs that use them",
			v.signer.certificate.NotAfter.Format(time.RFC3339))
	}
	return nil, nil
}

// due reports why a certificate is to be issued; "": it is not.
func (v issuance) due(leaf keptLeaf) string {
	switch {
	case leaf.secret == nil:
		return "there is none"
	case leaf.pair == nil:
		return "it cannot be used"
	case !bytes.Equal(leaf.pair.ca, v.signer.pem) || !bytes.Equal(leaf.bundle, v.signer.pem):
		return "it is not of this CA"
	case !leaf.describes(leaf.pair.tls.Leaf):
		return "it is for other names or uses"
	}
	end := leaf.pair.tls.Leaf.NotAfter
	if v.now.Before(end.Add(-v.timing.RenewBefore)) || !v.end().After(end) {
		return ""
	}
	return "it expires soon"
}

// end is when a certificate that is issued now expires: never after the CA.
func (v issuance) end() time.Time {
	end := v.now.Add(v.timing.Validity)
	if last := v.signer.certificate.NotAfter; last.Before(end) {
		return last
	}
	return end.Truncate(time.Second) // a certificate has no fractions
}

func (l Leaf) describes(certificate *x509.Certificate) bool {
	names, addresses := byForm(l.Hosts)
	return certificate.Subject.CommonName == l.CommonName && slices.Equal(certificate.DNSNames, names) &&
		slices.EqualFunc(certificate.IPAddresses, addresses, net.IP.Equal) && slices.Equal(certificate.ExtKeyUsage, l.Usages)
}
