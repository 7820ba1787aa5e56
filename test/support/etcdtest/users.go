// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
)

// RunWithUsers starts an etcd with TLS and authentication, whose users may read and write what is below a prefix each. It returns a
// client of root, and who issues the certificates of the users.
func RunWithUsers(t testing.TB, prefixes map[string]string) (*kubernetes.Client, *Users) {
	t.Helper()
	users := newUsers(t)
	root := users.Of(t, "root")
	etcd := Run(t, func(c *embed.Config) {
		u := FreePort(t, "https")
		c.ListenClientUrls, c.AdvertiseClientUrls, c.ClientTLSInfo = []url.URL{u}, []url.URL{u}, root
	})
	if err := Authenticate(t.Context(), etcd.Client, "", prefixes); err != nil {
		t.Fatal(err)
	}
	return etcd, users
}

// Authenticate creates root, and users who may read and write what is below a prefix each, and makes etcd reject everybody else.
// Users prove who they are by the common names of their certificates, root by a password if it has one.
func Authenticate(ctx context.Context, etcd *clientv3.Client, password string, prefixes map[string]string) error {
	add := func(user, password string) error {
		_, err := etcd.UserAddWithOptions(ctx, user, password, &clientv3.UserAddOptions{NoPassword: password == ""})
		if err == nil {
			_, err = etcd.RoleAdd(ctx, user)
		}
		if err == nil {
			_, err = etcd.UserGrantRole(ctx, user, user)
		}
		return err
	}
	for user, prefix := range prefixes {
		if err := add(user, ""); err != nil {
			return fmt.Errorf("user %s: %w", user, err)
		}
		permission := clientv3.PermissionType(clientv3.PermReadWrite)
		if _, err := etcd.RoleGrantPermission(ctx, user, prefix, clientv3.GetPrefixRangeEnd(prefix), permission); err != nil {
			return fmt.Errorf("user %s: %w", user, err)
		}
	}
	if err := add("root", password); err != nil {
		return fmt.Errorf("user root: %w", err)
	}
	_, err := etcd.AuthEnable(ctx)
	return err
}

// Users issues client certificates, by whose common names etcd identifies its users.
type Users struct {
	dir, ca     string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newUsers(t testing.TB) *Users {
	t.Helper()
	u := &Users{dir: t.TempDir()}
	u.ca = filepath.Join(u.dir, "ca.crt")
	u.certificate, u.key = u.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return u
}

// Of returns the files of a user. They are those of a server as well.
func (u *Users) Of(t testing.TB, name string) transport.TLSInfo {
	t.Helper()
	u.issue(t, name, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	file := filepath.Join(u.dir, name)
	return transport.TLSInfo{CertFile: file + ".crt", KeyFile: file + ".key", TrustedCAFile: u.ca, ClientCertAuth: true}
}

func (u *Users) issue(t testing.TB, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if u.key != nil {
		parent, signer = u.certificate, u.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(u.dir, name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}
