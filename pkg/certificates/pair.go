// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdated is how long before its making a certificate begins to be valid: clocks are set differently.
const backdated = time.Hour

// pair is a serving certificate with its private key and the CA that signed it.
type pair struct {
	certificate, key []byte // in PEM
	ca               []byte // the authority's certificate, in PEM
	tls              *tls.Certificate
}

// issue makes a CA and lets it sign one certificate. The key of the CA is discarded right after: a key that is not stored cannot be
// stolen, and each certificate gets a dedicated CA.
func issue(name string, hosts []string, validity time.Duration) (*pair, error) {
	now := time.Now()
	serial := make([]byte, 16)
	if _, err := rand.Read(serial); err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	template := func(commonName string, last byte) *x509.Certificate {
		serial[0], serial[15] = 0x40|serial[0]&0x3f, last // positive, and not the same twice
		return &x509.Certificate{
			SerialNumber: new(big.Int).SetBytes(serial),
			Subject:      pkix.Name{CommonName: commonName},
			NotBefore:    now.Add(-backdated), NotAfter: now.Add(validity),
			BasicConstraintsValid: true,
		}
	}
	// Clients look for the CA by its name, so no two may have the same.
	ca := template(fmt.Sprintf("%s CA %x", name, serial[1:9]), 0)
	ca.IsCA, ca.MaxPathLenZero, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	leaf := template(name, 1)
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	caPEM, leafPEM, keyPEM, err := sign(ca, leaf)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	return parsePair(leafPEM, keyPEM, caPEM)
}

// sign makes two keys, signs the CA automatically and the leaf by the CA, and returns all except the key of the CA.
func sign(ca, leaf *x509.Certificate) (caPEM, leafPEM, keyPEM []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, signer.Public(), signer)
	if err != nil {
		return nil, nil, nil, err
	}
	// The parsed one has the key id that the leaf is to name.
	if ca, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), signer)
	if err != nil {
		return nil, nil, nil, err
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return encode(der), encode(leafDER), keyPEM, err
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// parsePair checks that key and certificate belong together and that a CA of the bundle signed it. Whether it is valid by now is
// not checked. No error has any of the given data.
func parsePair(certificate, key, bundle []byte) (*pair, error) {
	loaded, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, errors.New("certificate and key do not make a pair")
	}
	if loaded.Leaf == nil {
		return nil, errors.New("the certificate cannot be read")
	}
	for _, ca := range split(bundle) {
		if loaded.Leaf.CheckSignatureFrom(ca) == nil {
			return &pair{certificate: certificate, key: key, ca: encode(ca.Raw), tls: &loaded}, nil
		}
	}
	return nil, errors.New("no CA of the bundle signed the certificate")
}

// equal reports whether two pairs have the same certificate.
func (p *pair) equal(other *pair) bool {
	return p != nil && other != nil && bytes.Equal(p.tls.Leaf.Raw, other.tls.Leaf.Raw)
}

// valid reports whether clients accept the certificate at a time.
func (p *pair) valid(now time.Time) bool {
	return p != nil && !now.Before(p.tls.Leaf.NotBefore) && now.Before(p.tls.Leaf.NotAfter)
}

// covers reports whether the certificate is for all the hosts.
func (p *pair) covers(hosts []string) bool {
	for _, host := range hosts {
		if p.tls.Leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}
