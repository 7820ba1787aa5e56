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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdated is how long before its making a certificate begins to be valid: clocks are set differently.
const backdated = time.Hour

// pair is a serving certificate with its private key and the CA that signed it.
type pair struct {
	certificate, key []byte // in PEM
	ca               []byte // the certificate of the CA, in PEM
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
	// Clients select the CA by its name, so names must be unique.
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

// sign generates two keys, a self-signed CA and a leaf that the CA signs. It discards the key of the CA.
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

func (p *pair) covers(hosts []string) bool {
	for _, host := range hosts {
		if p.tls.Leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

// managedLabel marks the Secrets that a Keeper made. It touches no other.
const managedLabel = "groundskeeper.io/self-managed-certificate"

// Keys of the Secret, in addition to those of the type kubernetes.io/tls. It does not contain the key of a CA.
const (
	bundleKey          = "ca.crt"
	nextCertificateKey = "next.crt"
	nextPrivateKeyKey  = "next.key"
)

// errForeign means that a Secret of another owner has the name of Groundskeeper's.
var errForeign = errors.New("it was not made by this server")

// state is what the Secret holds.
type state struct {
	// current is what all replicas serve.
	current *pair
	// next is what they will serve when every client trusts it; nil most of the time.
	next *pair
	// bundle has the CAs that clients trust, in PEM.
	bundle []byte
}

// decode reads a Secret. A Secret that cannot be used is an error; a next pair that cannot is as good as none.
func decode(secret *corev1.Secret) (*state, error) {
	current, err := parsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[bundleKey])
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	// Normalised, so that what was edited manually is published the way Groundskeeper writes it.
	s := &state{current: current, bundle: join(split(secret.Data[bundleKey]))}
	if next, err := parsePair(secret.Data[nextCertificateKey], secret.Data[nextPrivateKeyKey], s.bundle); err == nil {
		s.next = next
	}
	return s, nil
}

// encodeInto puts the state into a Secret, and nothing else.
func (s *state) encodeInto(secret *corev1.Secret) {
	metav1.SetMetaDataLabel(&secret.ObjectMeta, "app.kubernetes.io/part-of", "groundskeeper")
	metav1.SetMetaDataLabel(&secret.ObjectMeta, managedLabel, "true")
	secret.Data = map[string][]byte{
		corev1.TLSCertKey: s.current.certificate, corev1.TLSPrivateKeyKey: s.current.key, bundleKey: s.bundle,
	}
	if s.next != nil {
		secret.Data[nextCertificateKey], secret.Data[nextPrivateKeyKey] = s.next.certificate, s.next.key
	}
}
