// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// mount writes a Secret to files, as kubelet does, now and whenever it is called again.
func mount(t *testing.T, secret *corev1.Secret, dir string) transport.TLSInfo {
	t.Helper()
	for name, data := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return transport.TLSInfo{
		CertFile: filepath.Join(dir, corev1.TLSCertKey), KeyFile: filepath.Join(dir, corev1.TLSPrivateKeyKey), TrustedCAFile: filepath.Join(dir, bundleKey),
	}
}

// TestIssuerOfEtcd checks that etcd, started as in artifacts/install/high-availability, loads renewed certificates without a
// restart, and does not accept a client as a member.
func TestIssuerOfEtcd(t *testing.T) {
	issuer := &Issuer{options: issuerOptions(), store: store{fake.NewClientset(), "system"}}
	issuer.options.Leaves[0].Hosts = []string{"*.db.system.svc", "localhost", "127.0.0.1"}
	secret := func(name string) *corev1.Secret {
		t.Helper()
		if _, err := issuer.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := issuer.secrets.CoreV1().Secrets("system").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	serverDir, clientDir := t.TempDir(), t.TempDir()
	server, client := mount(t, secret("server"), serverDir), mount(t, secret("client"), clientDir)
	listen, peer := etcdtest.FreePort(t, "https"), etcdtest.FreePort(t, "https")
	etcdtest.Run(t, func(c *embed.Config) {
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{listen}, []url.URL{listen}
		c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		c.InitialCluster = c.InitialClusterFromName(c.Name)
		c.ClientTLSInfo, c.PeerTLSInfo = server, server
		c.ClientTLSInfo.ClientCertAuth, c.PeerTLSInfo.ClientCertAuth = true, true
		c.PeerTLSInfo.AllowedCNs, c.PeerTLSInfo.SkipClientSANVerify = []string{issuer.options.Leaves[0].CommonName}, true
	})
	reads := func(info transport.TLSInfo) error {
		config, err := info.ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{listen.String()}, TLS: config, Logger: zap.NewNop(), DialTimeout: time.Minute})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_, err = c.Get(t.Context(), "key")
		return err
	}
	// joins sends the request that members send to each other.
	joins := func(info transport.TLSInfo) error {
		config, err := info.ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, peer.String()+"/members", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}).Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	served := func() *x509.Certificate {
		t.Helper()
		config, err := client.ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		connection, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", listen.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		return connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	}
	works := func() {
		t.Helper()
		if err := reads(client); err != nil {
			t.Error(err)
		}
		if err := joins(server); err != nil {
			t.Errorf("a member is rejected: %v", err)
		}
		if err := joins(client); err == nil {
			t.Error("a client is taken for a member")
		}
	}
	works()
	first := served()
	for _, name := range []string{"server", "client"} {
		if err := issuer.secrets.CoreV1().Secrets("system").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mount(t, secret("server"), serverDir)
	mount(t, secret("client"), clientDir)
	works()
	if served().Equal(first) {
		t.Error("etcd serves the old certificate")
	}
}
