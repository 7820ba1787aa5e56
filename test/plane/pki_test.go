// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

func testCA(t *testing.T, dir string) *issuer {
	t.Helper()
	a, err := loadCA(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parse(t *testing.T, pair keyPair) *x509.Certificate {
	t.Helper()
	certificates, err := cert.ParseCertsPEM(pair.cert)
	if err != nil {
		t.Fatal(err)
	}
	return certificates[0]
}

func TestCAIsKept(t *testing.T) {
	dir := t.TempDir()
	first, second := testCA(t, dir), testCA(t, dir)
	if !bytes.Equal(first.pem, second.pem) {
		t.Error("a second load made another CA")
	}
	pair, err := second.issue(subject{name: "anna"})
	if err != nil {
		t.Fatal(err)
	}
	if err := parse(t, pair).CheckSignatureFrom(first.certificate); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadCA(dir, "ca"); err == nil {
		t.Error("a broken key was accepted or replaced")
	}
}

func TestIssue(t *testing.T) {
	a := testCA(t, t.TempDir())
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	verify := func(c *x509.Certificate, usage x509.ExtKeyUsage, host string) error {
		_, err := c.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{usage}, DNSName: host})
		return err
	}
	client, err := a.issue(subject{name: "anna", groups: []string{"team:b", "team:a"}})
	if err != nil {
		t.Fatal(err)
	}
	c := parse(t, client)
	if c.Subject.CommonName != "anna" || len(c.Subject.Organization) != 2 {
		t.Errorf("subject %s", c.Subject)
	}
	if err := verify(c, x509.ExtKeyUsageClientAuth, ""); err != nil {
		t.Errorf("as a client: %v", err)
	}
	if verify(c, x509.ExtKeyUsageServerAuth, "") == nil {
		t.Error("a client's certificate serves as a server's")
	}
	server, err := a.issue(subject{name: "api", server: true, hosts: []string{"api.system.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "api.system.svc"} {
		if err := verify(parse(t, server), x509.ExtKeyUsageServerAuth, host); err != nil {
			t.Errorf("as server %s: %v", host, err)
		}
	}
	if verify(parse(t, server), x509.ExtKeyUsageServerAuth, "example.com") == nil {
		t.Error("the server may be example.com")
	}
}

func TestEnsureReplacesOnlyInvalidCertificates(t *testing.T) {
	dir := t.TempDir()
	a := testCA(t, dir)
	base := subject{name: "api", groups: []string{"z", "a"}, server: true, hosts: []string{"api.system.svc"}}
	first, err := a.ensure(dir, "api", base)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"api.key", "ca.key"} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", file, info.Mode(), err)
		}
	}
	now := time.Now()
	foreign := testCA(t, t.TempDir())
	for name, test := range map[string]struct {
		issuer  *issuer
		subject subject
		now     time.Time
		good    bool
	}{
		"the same":         {a, base, now, true},
		"groups reordered": {a, subject{"api", []string{"a", "z"}, true, base.hosts, nil}, now, true},
		"before renewal":   {a, base, now.Add(leafValidity - renewBefore - time.Hour), true},
		"due for renewal":  {a, base, now.Add(leafValidity - renewBefore + time.Hour), false},
		"another name":     {a, subject{"other", base.groups, true, base.hosts, nil}, now, false},
		"another group":    {a, subject{"api", []string{"z"}, true, base.hosts, nil}, now, false},
		"another address":  {a, subject{"api", base.groups, true, base.hosts, []net.IP{net.IPv4(10, 0, 0, 1)}}, now, false},
		"another host":     {a, subject{"api", base.groups, true, nil, nil}, now, false},
		"another CA":       {foreign, base, now, false},
	} {
		if got := test.issuer.good(first.cert, test.subject, test.now); got != test.good {
			t.Errorf("%s: good is %v, want %v", name, got, test.good)
		}
	}
	second, err := a.ensure(dir, "api", base)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.cert, second.cert) {
		t.Error("a good certificate was replaced")
	}
	third, err := a.ensure(dir, "api", subject{name: "other", server: true})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := readPair(dir, "api")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored.cert, third.cert) || bytes.Equal(third.cert, first.cert) {
		t.Error("a certificate of another subject was kept")
	}
}
