// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/x509"
	"slices"

	"k8s.io/client-go/util/cert"
)

// split returns the certificates of a bundle in PEM. One that cannot be read is an empty bundle.
func split(bundle []byte) []*x509.Certificate {
	certificates, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil
	}
	return certificates
}

// join returns the bundle of certificates. The same ones in the same order are the same bytes.
func join(certificates []*x509.Certificate) []byte {
	var bundle bytes.Buffer
	for _, certificate := range certificates {
		bundle.Write(encode(certificate.Raw))
	}
	return bundle.Bytes()
}

// trusts reports whether a bundle has a CA.
func trusts(bundle, ca []byte) bool {
	wanted := split(ca)
	return len(wanted) == 1 && slices.ContainsFunc(split(bundle), wanted[0].Equal)
}

// trusting returns the bundle with a CA that it may have already.
func trusting(bundle, ca []byte) []byte {
	if trusts(bundle, ca) {
		return bundle
	}
	return join(append(split(bundle), split(ca)...))
}
