// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// injectFrom names the Certificate whose CA is written into a registration.
const injectFrom = "cert-manager.io/inject-ca-from"

// secretsOf returns those that cert-manager makes, by the Certificates of an installation.
func secretsOf(t *testing.T, all manifests) []string {
	t.Helper()
	var made []string
	for _, name := range all.names("Certificate") {
		secret, _, err := unstructured.NestedString(all["Certificate "+name].Object, "spec", "secretName")
		if err != nil || secret == "" {
			t.Fatalf("Certificate %s makes no Secret: %v", name, err)
		}
		made = append(made, "Secret "+secret)
	}
	return made
}

// ofEtcd are the Secrets that the controller manager makes for an etcd.
var ofEtcd = []string{"Secret groundskeeper-etcd-tls", "Secret groundskeeper-etcd-client-tls"}

// TestInstallationsWithCertManager checks that the component can be combined with every installation that has an API server.
// test/certmanager tests the resulting certificates.
func TestInstallationsWithCertManager(t *testing.T) {
	t.Parallel()
	const signed, own = "install/cert-manager", "install/cert-manager/own-issuer"
	for _, test := range []struct {
		base         string
		components   []string
		certificates int
		// from are the Certificates whose CA the APIServices and the webhooks get.
		from map[string]string
	}{
		{"install/single-replica", []string{signed}, 3, map[string]string{"APIService": "groundskeeper-authority", "ValidatingWebhookConfiguration": "groundskeeper-authority"}},
		{"install/single-replica", []string{signed, own}, 2, map[string]string{"APIService": apiserver, "ValidatingWebhookConfiguration": manager}},
		{"install/single-replica", []string{"install/beside-gardener", signed}, 3, map[string]string{"APIService": "groundskeeper-authority"}},
		{"install/high-availability", []string{signed}, 3, map[string]string{"APIService": "groundskeeper-authority"}},
		{"install/high-availability", []string{signed, "install/beside-gardener"}, 3, map[string]string{"APIService": "groundskeeper-authority"}},
	} {
		m, what := rendered(t, test.base, test.components...), test.base+" with "+strings.Join(test.components, ", ")
		if missing := m.dangling(slices.Concat(ofKubernetes, secretsOf(t, m), ofEtcd)...); len(missing) > 0 {
			t.Errorf("%s: %s", what, strings.Join(missing, "\n"))
		}
		if got := m.names("Certificate"); len(got) != test.certificates {
			t.Errorf("%s: Certificates %q", what, got)
		}
		for kind, certificate := range test.from {
			for _, name := range m.names(kind) {
				if from := m[kind+" "+name].GetAnnotations()[injectFrom]; from != groundskeeperSystem+"/"+certificate || m["Certificate "+certificate] == nil {
					t.Errorf("%s: %s %s gets the CA of %q", what, kind, name, from)
				}
			}
		}
		for server, flags := range map[string][]string{apiserver: {"--tls-cert-file=", "--tls-private-key-file="}, manager: {"--webhook-cert-file=", "--webhook-key-file="}} {
			args := m.args(t, server)
			for _, flag := range flags {
				if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag+"/etc/groundskeeper-tls/tls.") }) {
					t.Errorf("%s: %s is started with %q, without %s", what, server, args, flag)
				}
			}
			if slices.Contains(args, "--self-managed-certificates") {
				t.Errorf("%s: %s makes certificates itself, too", what, server)
			}
		}
		for _, name := range m.names("Role") {
			if content := fmt.Sprint(m["Role "+name].Object["rules"]); strings.Contains(content, apiserver+"-tls") || strings.Contains(content, manager+"-tls") {
				t.Errorf("%s: Role %s grants access to an unused Secret: %s", what, name, content)
			}
		}
	}
}
