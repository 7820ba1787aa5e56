// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	caKeyBits = 2048

	leafValidity = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is replaced when a plane starts.
	renewBefore = 30 * 24 * time.Hour
)

// keyPair is a certificate and its private key, both in PEM.
type keyPair struct{ cert, key []byte }

// Signs certificates.
type issuer struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte // the certificate
}

// subject is the owner in a certificate.
type subject struct {
	name   string   // common name: the user, when it is a client
	groups []string // organizations: the user's groups
	server bool     // serves on loopback (and may be a client too)
	hosts  []string // further DNS names of a server
	// addresses are further ones of a server.
	addresses []net.IP
}

// ips returns all addresses of a server.
func (s subject) ips() []net.IP {
	return append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, s.addresses...)
}

// loadCA reads the CA of that name from the directory and makes it first when there is none.
func loadCA(dir, name string) (*issuer, error) {
	pair, err := readPair(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err = newCA(name)
		if err == nil {
			err = writePair(dir, name, pair)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", name, err)
	}
	certificates, err := cert.ParseCertsPEM(pair.cert)
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", name, err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(pair.key)
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", name, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("CA %s: a key of type %T cannot sign", name, key)
	}
	return &issuer{certificate: certificates[0], key: signer, pem: pair.cert}, nil
}

// newCA makes a CA with an RSA key, as kubeadm does: kube-apiserver checks the signature on a client's certificate with
// every request, and RSA signatures are the quickest to check.
func newCA(name string) (keyPair, error) {
	key, err := rsa.GenerateKey(rand.Reader, caKeyBits)
	if err != nil {
		return keyPair{}, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return keyPair{}, err
	}
	return encode(certificate.Raw, key)
}

// issue signs a new certificate for the subject.
func (a *issuer) issue(s subject) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return keyPair{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: s.name, Organization: s.groups},
		NotBefore:    now.Add(-time.Hour), // clocks that are set back a little
		NotAfter:     now.Add(leafValidity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if s.server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = append([]string{"localhost"}, s.hosts...)
		template.IPAddresses = s.ips()
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("certificate for %s: %w", s.name, err)
	}
	return encode(der, key)
}

// ensure returns the certificate that the directory has under that name while it is good for the subject, and else issues another
// one there.
func (a *issuer) ensure(dir, name string, s subject) (keyPair, error) {
	if pair, err := readPair(dir, name); err == nil && a.good(pair.cert, s, time.Now()) {
		return pair, nil
	}
	pair, err := a.issue(s)
	if err != nil {
		return keyPair{}, err
	}
	return pair, writePair(dir, name, pair)
}

// good reports whether the certificate is owned by Groundskeeper, is about the subject and stays valid for a while.
func (a *issuer) good(pemBytes []byte, s subject, now time.Time) bool {
	certificates, err := cert.ParseCertsPEM(pemBytes)
	if err != nil {
		return false
	}
	c := certificates[0]
	if c.CheckSignatureFrom(a.certificate) != nil || c.Subject.CommonName != s.name || !sets.New(c.Subject.Organization...).Equal(sets.New(s.groups...)) {
		return false
	}
	if s.server && !slices.Equal(c.DNSNames, append([]string{"localhost"}, s.hosts...)) {
		return false
	}
	if s.server && !slices.EqualFunc(c.IPAddresses, s.ips(), net.IP.Equal) {
		return false
	}
	return now.Add(renewBefore).Before(c.NotAfter)
}

// ensureKey returns the path of a private key of that name, which it makes when there is none.
func ensureKey(dir, name string) (string, error) {
	path := filepath.Join(dir, name+".key")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return "", err
	}
	return path, writeFile(path, key)
}

func encode(der []byte, key crypto.Signer) (keyPair, error) {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), key: keyPEM}, err
}

func readPair(dir, name string) (keyPair, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return keyPair{}, err
	}
	keyPEM, err := os.ReadFile(filepath.Join(dir, name+".key"))
	return keyPair{cert: certPEM, key: keyPEM}, err
}

// writePair writes the key first: a certificate without its key is never seen.
func writePair(dir, name string, pair keyPair) error {
	if err := writeFile(filepath.Join(dir, name+".key"), pair.key); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, name+".crt"), pair.cert)
}
