// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// TestEtcdCertificatesHaveMetrics checks that the expiry of the certificates is a metric of the manager.
func TestEtcdCertificatesHaveMetrics(t *testing.T) {
	made, _, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var passes atomic.Int32
	read := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == etcdName+"-ca" && passes.Add(1) == 2 {
			close(read) // all that was requested before has been read
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&corev1.Secret{ // another client's, so nothing is written
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{corev1.TLSCertKey: made},
		})
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]}"
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, err := keepEtcdCertificates(t.Context(), logr.Discard(), v1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig, QPS: new(float32(100)), Burst: new(int32(100))})
	if err != nil {
		t.Fatal(err)
	}
	<-read
	stop()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for _, family := range families {
		if family.GetName() == "groundskeeper_serving_certificate_expiration_timestamp_seconds" {
			for _, metric := range family.GetMetric() {
				servers[metric.GetLabel()[0].GetValue()] = true
			}
		}
	}
	if !servers["etcd"] || !servers["etcd-client"] {
		t.Errorf("there are metrics of %v", servers)
	}
}

// TestEtcdCertificatesFitTheManifests checks that the certificates are issued for the Secrets, members and hosts in the manifests
// of etcd.
func TestEtcdCertificatesFitTheManifests(t *testing.T) {
	options := etcdCertificates()
	read := func(file string) string {
		content, err := os.ReadFile("../../artifacts/install/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	members, api, roles := read("high-availability/etcd.yaml"), read("replicas/etcd-client-files.yaml"), read("high-availability/etcd-certificates.yaml")
	server, client := options.Leaves[0], options.Leaves[1]
	for what, has := range map[string]bool{
		"etcd mounts its certificate":          strings.Contains(members, "secretName: "+server.Secret+","),
		"etcd knows members":                   strings.Contains(members, "--peer-cert-allowed-cn="+server.CommonName+"\n"),
		"API servers are no members":           client.CommonName != server.CommonName,
		"API servers mount their certificate":  strings.Contains(api, "secretName: "+client.Secret+","),
		"all of them may be written":           strings.Contains(roles, "resourceNames: ["+options.Name+", "+server.Secret+", "+client.Secret+"]"),
		"no container mounts the CA":           !strings.Contains(members+api, options.Name),
		"the name of a client is not in DNS":   len(client.Hosts) == 0,
		"everything is in the right namespace": options.Namespace == systemNamespace,
	} {
		if !has {
			t.Errorf("it is not so that %s", what)
		}
	}
	hosts := regexp.MustCompile(`https://([a-z0-9.-]+):23`).FindAllStringSubmatch(members+read("high-availability/apiserver.yaml"), -1)
	if len(hosts) < 6 {
		t.Fatalf("%d hosts", len(hosts))
	}
	for _, host := range hosts {
		if host[1] == "0.0.0.0" {
			continue
		}
		covered := false
		for _, pattern := range server.Hosts {
			ok, err := path.Match(pattern, host[1])
			if err != nil {
				t.Fatal(err)
			}
			covered = covered || ok && strings.Count(pattern, ".") == strings.Count(host[1], ".")
		}
		if !covered {
			t.Errorf("%s is not in the certificate", host[1])
		}
	}
}
