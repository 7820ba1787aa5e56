// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// hidden is in everything that must not be notified.
const hidden = "hunter2hunter2"

// kubeconfigFor returns a kubeconfig with a token.
func kubeconfigFor(server string) []byte {
	return []byte("# written manually\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: \"" + server + "\"}}]\nusers: [{name: u, user: {token: " + hidden + "}}]\n")
}

// kubernikusKeys returns the keys of Kubernikus, and credentials of OpenStack.
func kubernikusKeys(t *testing.T) map[string][]byte {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("cluster.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{kluster.KeyCA: certificate, kluster.KeyCertificate: certificate, kluster.KeyPrivateKey: key, "openstack-password": []byte(hidden)}
}

func servedAt(url string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Status.Apiserver = url }
}

// TestKubeconfigIsCopied checks that a kubeconfig is copied unchanged.
func TestKubeconfigIsCopied(t *testing.T) {
	text := kubeconfigFor("https://a.example")
	got, problem := kubeconfigOf(klustertest.Kluster("k"), map[string][]byte{kluster.KeyKubeconfig: text, "clouds.yaml": []byte(hidden)}, false)
	if problem != nil || !bytes.Equal(got, text) {
		t.Errorf("got %q, %+v", got, problem)
	}
}

// TestKubeconfigOfKubernikus checks that a stable kubeconfig, without any data of the cloud, is created from Kubernikus' keys.
func TestKubeconfigOfKubernikus(t *testing.T) {
	k, data := klustertest.Kluster("k", servedAt("https://k.example:6443")), kubernikusKeys(t)
	got, problem := kubeconfigOf(k, data, false)
	if problem != nil {
		t.Fatal(problem)
	}
	config, err := kubeconfig.Load(got)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://k.example:6443" || !bytes.Equal(config.CAData, data[kluster.KeyCA]) ||
		!bytes.Equal(config.CertData, data[kluster.KeyCertificate]) || !bytes.Equal(config.KeyData, data[kluster.KeyPrivateKey]) {
		t.Errorf("it leads to %v", config)
	}
	if bytes.Contains(got, []byte(hidden)) {
		t.Error("credentials of the cloud are in it")
	}
	for range 10 {
		if again, _ := kubeconfigOf(k, data, false); !bytes.Equal(got, again) {
			t.Fatal("it is another one each time")
		}
	}
}

func TestUnusableSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		data            map[string][]byte
		reason, message string
	}{
		"nothing":   {nil, kluster.ReasonNoCredentials, "secret garden-shop/k-secret has neither"},
		"no host":   {kubernikusKeys(t), kluster.ReasonHostUnknown, "status.apiserver is empty"},
		"a command": {map[string][]byte{kluster.KeyKubeconfig: bytes.Replace(kubeconfigFor("https://a"), []byte("token: "), []byte("exec: {command: x}, token: "), 1)}, kluster.ReasonSecretInvalid, `secret garden-shop/k-secret: key "kubeconfig": users[0].user.exec runs a command`},
		"broken":    {map[string][]byte{kluster.KeyKubeconfig: []byte(hidden)}, kluster.ReasonSecretInvalid, `key "kubeconfig"`},
	} {
		got, problem := kubeconfigOf(klustertest.Kluster("k"), tc.data, false)
		if got != nil || problem == nil || problem.Reason != tc.reason || !strings.Contains(problem.Message, tc.message) || strings.Contains(problem.Message, hidden) {
			t.Errorf("%s: got %+v, want %s %s", name, problem, tc.reason, tc.message)
		}
	}
}
