// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

const token = "sekret-token"

func kubeconfigFor(server string) []byte {
	return []byte(`{"kind":"Config","apiVersion":"v1","current-context":"c","clusters":[{"name":"c","cluster":{"server":"` + server + `"}}],` +
		`"users":[{"name":"u","user":{"token":"` + token + `"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`)
}

// pems returns a certificate and its key.
func pems(t *testing.T) (certificate, key []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("cluster.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func TestWorkload(t *testing.T) {
	certificate, key := pems(t)
	_, other := pems(t)
	kubernikus := func(certificate, key, ca []byte) map[string][]byte {
		return map[string][]byte{kluster.KeyCertificate: certificate, kluster.KeyPrivateKey: key, kluster.KeyCA: ca}
	}
	both := kubernikus(certificate, key, certificate)
	both[kluster.KeyKubeconfig] = kubeconfigFor("https://first.example")
	for name, c := range map[string]struct {
		data      map[string][]byte
		apiserver string
		host      string
		err       string
	}{
		"kubeconfig":       {map[string][]byte{kluster.KeyKubeconfig: kubeconfigFor("https://first.example")}, "", "https://first.example", ""},
		"kubernikus":       {kubernikus(certificate, key, certificate), "https://second.example:6443", "https://second.example:6443", ""},
		"both":             {both, "https://second.example", "https://first.example", ""},
		"none":             {nil, "https://second.example", "", kluster.ErrNoWorkload.Error()},
		"no host":          {kubernikus(certificate, key, certificate), "", "", kluster.ErrNoHost.Error()},
		"clear text":       {kubernikus(certificate, key, certificate), "http://second.example", "", "status.apiserver is not an https URL"},
		"no CA":            {kubernikus(certificate, key, nil), "https://second.example", "", `key "tls-ca.pem" has no certificate`},
		"another's key":    {kubernikus(certificate, other, certificate), "https://second.example", "", "are not a certificate and its key"},
		"broken":           {map[string][]byte{kluster.KeyKubeconfig: []byte("token: " + token)}, "", "", `key "kubeconfig": the kubeconfig has a field that is unknown`},
		"a command inside": {map[string][]byte{kluster.KeyKubeconfig: []byte(strings.Replace(string(kubeconfigFor("https://a.example")), `"token":"`+token+`"`, `"exec":{"command":"`+token+`"}`, 1))}, "", "", "exec runs a command"},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Status.Apiserver = c.apiserver })
			config, err := kluster.Workload(k, c.data)
			switch {
			case c.err == "" && (err != nil || config.Host != c.host):
				t.Errorf("got %v, %v", config, err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), token)):
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
}

func TestSecretMissing(t *testing.T) {
	k, store := klustertest.Kluster("k"), klustertest.NewStore(t)
	if _, err := kluster.Secret(t.Context(), store, k); !errors.Is(err, kluster.ErrNoSecret) || !strings.Contains(err.Error(), "garden-shop/k-secret") {
		t.Errorf("got %v", err)
	}
}

func TestBounded(t *testing.T) {
	const maxMessage = 1024
	if got := kluster.Bounded("a\nb" + strings.Repeat("ä", maxMessage)); len(got) > maxMessage || !strings.HasPrefix(got, "a; b") || !strings.HasSuffix(got, "…") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}
