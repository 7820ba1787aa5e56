// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/keyutil"
)

func foreignOnce(t *testing.T) *pair {
	t.Helper()
	p, err := issue("tls", []string{host}, 90*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIssue(t *testing.T) {
	hosts := ServiceHosts("server", "system")
	p, err := issue("server", hosts, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.ca)
	for _, name := range hosts {
		if _, err := p.tls.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !p.covers(hosts) || p.covers([]string{"elsewhere"}) {
		t.Error("the hosts are others")
	}
	now := time.Now()
	for _, skew := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		if _, err := p.tls.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now.Add(skew)}); err != nil {
			t.Errorf("a client whose clock differs by %s: %v", skew, err)
		}
	}
	for at, want := range map[time.Time]bool{now: true, now.Add(59 * time.Minute): true, now.Add(61 * time.Minute): false, now.Add(-2 * time.Hour): false} {
		if p.valid(at) != want {
			t.Errorf("valid in %s: %t", at.Sub(now), !want)
		}
	}
	other, err := issue("server", hosts, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ca, otherCA := split(p.ca)[0], split(other.ca)[0]
	if ca.Subject.String() == otherCA.Subject.String() || ca.SerialNumber.Cmp(p.tls.Leaf.SerialNumber) == 0 {
		t.Error("two certificates cannot be distinguished")
	}
	if p.tls.Leaf.IsCA || !ca.IsCA || !ca.MaxPathLenZero {
		t.Error("the certificate could sign others")
	}
}

// TestTheSecretCannotSign checks that nothing in the Secret can sign another certificate.
func TestTheSecretCannotSign(t *testing.T) {
	p, next := foreignOnce(t), foreignOnce(t)
	secret := &corev1.Secret{}
	secret.Data = (&state{current: p, next: next, bundle: trusting(p.ca, next.ca)}).data()
	keys := 0
	for name, data := range secret.Data {
		key, err := keyutil.ParsePrivateKeyPEM(data)
		if err != nil {
			continue
		}
		keys++
		for _, ca := range split(secret.Data[bundleKey]) {
			if key.(*ecdsa.PrivateKey).PublicKey.Equal(ca.PublicKey) {
				t.Errorf("%s is the key of a CA", name)
			}
		}
	}
	if keys != 2 {
		t.Errorf("%d keys", keys)
	}
}

func TestDecode(t *testing.T) {
	p, next := foreignOnce(t), foreignOnce(t)
	whole := func() *corev1.Secret {
		s := &corev1.Secret{}
		s.Data = (&state{current: p, next: next, bundle: trusting(p.ca, next.ca)}).data()
		return s
	}
	s, err := decode(whole())
	if err != nil || !s.current.equal(p) || !s.next.equal(next) || !bytes.Equal(s.current.ca, p.ca) {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, data := range map[string][]byte{nextCertificateKey: []byte("x"), nextPrivateKeyKey: p.key} {
		secret := whole()
		secret.Data[name] = data
		if s, err := decode(secret); err != nil || s.next != nil || !s.current.equal(p) {
			t.Errorf("with another %s: %+v, %v", name, s, err)
		}
	}
	secret := whole()
	secret.Data[corev1.TLSPrivateKeyKey] = []byte("-----BEGIN PRIVATE KEY-----\nsecretsecret\n-----END PRIVATE KEY-----\n")
	if _, err := decode(secret); err == nil || strings.Contains(err.Error(), "secretsecret") {
		t.Errorf("got %v", err)
	}
}
