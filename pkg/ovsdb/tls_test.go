// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/test/support/ovsdbtest"
)

// issuer signs certificates and writes them to files.
type issuer struct {
	directory   string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) issuer {
	a := issuer{directory: t.TempDir()}
	a.certificate, a.key = a.issue(t, "ca", x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes NAME.crt and NAME.key, signed by the CA, or self-signed if there is no CA yet.
func (a issuer) issue(t *testing.T, name string, template x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = &template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(a.path(name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

func (a issuer) path(name string) string { return filepath.Join(a.directory, name) }

// A certificate has to be signed by the CA and to have the name of the host, unless any host is accepted.
func TestTLS(t *testing.T) {
	trusted, other := newIssuer(t), newIssuer(t)
	trusted.issue(t, "named", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	trusted.issue(t, "nameless", x509.Certificate{})
	trusted.issue(t, "client", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	other.issue(t, "other", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	files := Files{CA: trusted.path("ca.crt"), Certificate: trusted.path("client.crt"), Key: trusted.path("client.key")}
	anyHost, anonymous, absent := files, files, files
	anyHost.AnyHost = true
	anonymous.Certificate, anonymous.Key = "", ""
	absent.CA = trusted.path("absent.crt")
	for name, tc := range map[string]struct {
		server  string
		by      issuer
		files   Files
		problem string
	}{
		"named":                 {"named", trusted, files, ""},
		"nameless":              {"nameless", trusted, files, "127.0.0.1"},
		"nameless, any host":    {"nameless", trusted, anyHost, ""},
		"another CA":            {"other", other, files, "x509"},
		"another CA, any host":  {"other", other, anyHost, "x509"},
		"no client certificate": {"named", trusted, anonymous, "certificate required"},
		"no CA":                 {"named", trusted, absent, "read the CA"},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(tc.by.path(tc.server+".crt"), tc.by.path(tc.server+".key"))
			if err != nil {
				t.Fatal(err)
			}
			clients := x509.NewCertPool()
			clients.AddCert(trusted.certificate)
			p := ovsdbtest.New(t, ovsdbtest.Member(true), func(listener net.Listener) net.Listener {
				return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12})
			})
			endpoint, err := ParseEndpoint(strings.Replace(p.Endpoint(), "tcp:", "ssl:", 1))
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, Options{Endpoints: []Endpoint{endpoint}, TLS: tc.files.Config})
			_, err = c.Transact(t.Context(), Delete("T"))
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("error = %v, want %q", err, tc.problem)
			}
		})
	}
}
