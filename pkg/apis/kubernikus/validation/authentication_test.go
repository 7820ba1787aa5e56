// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func oidc(issuer, client string) func(*kubernikusv1.KlusterSpec) {
	return func(s *kubernikusv1.KlusterSpec) { s.OIDC = &kubernikusv1.OIDC{IssuerURL: issuer, ClientID: client} }
}

func TestOIDC(t *testing.T) {
	testCreate(t, []specCase{
		{"both", oidc("https://issuer.example.org/path", "demo"), nil},
		{"neither", oidc("", ""), nil},
		{"no client", oidc("https://issuer.example.org", ""), []string{"spec.oidc.clientID: Required value"}},
		{"no issuer", oidc("", "demo"), []string{"spec.oidc.issuerURL: Required value"}},
		{"not https", oidc("http://issuer.example.org", "demo"), []string{"spec.oidc.issuerURL: Invalid value: must be a URL that starts with https://"}},
		{"no host", oidc("https://", "demo"), []string{"spec.oidc.issuerURL: Invalid value"}},
		{"no URL", oidc("https://%", "demo"), []string{"spec.oidc.issuerURL: Invalid value"}},
		{"a query", oidc("https://issuer.example.org/?a=b", "demo"), []string{"spec.oidc.issuerURL: Invalid value: must not have"}},
		{"a fragment", oidc("https://issuer.example.org/#a", "demo"), []string{"spec.oidc.issuerURL: Invalid value: must not have"}},
		{"a password", oidc("https://me:secret@issuer.example.org", "demo"), []string{"spec.oidc.issuerURL: Invalid value: must not have"}},
	})
}

func authentication(text string) func(*kubernikusv1.KlusterSpec) {
	return func(s *kubernikusv1.KlusterSpec) { s.AuthenticationConfiguration = text }
}

func TestAuthenticationConfiguration(t *testing.T) {
	const (
		head   = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
		issuer = "- issuer: {url: https://issuer.example.org, audiences: [demo]}\n"
		path   = "spec.authenticationConfiguration"
	)
	testCreate(t, []specCase{
		{"none", authentication(""), nil},
		{"no issuers", authentication(head + "anonymous: {enabled: false}\n"), nil},
		{"an issuer, with unknown fields", authentication(head + "jwt:\n- issuer: {url: https://issuer.example.org, audiences: [demo], later: x}\n  claimMappings: {username: {claim: sub}}\n"), nil},
		{"as JSON", authentication(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration"}`), nil},
		{"v1beta1", authentication(strings.Replace(head, "/v1", "/v1beta1", 1)), nil},
		{"v1alpha1", authentication(strings.Replace(head, "/v1", "/v1alpha1", 1)), nil},
		{"v2", authentication(strings.Replace(head, "/v1", "/v2", 1)),
			[]string{path + `.apiVersion: Invalid value: "apiserver.config.k8s.io/v2": must be apiserver.config.k8s.io/v1, v1beta1 or v1alpha1`}},
		{"another group", authentication("apiVersion: v1\nkind: AuthenticationConfiguration\n"), []string{path + ".apiVersion: Invalid value"}},
		{"no group version", authentication("apiVersion: a/b/c\nkind: AuthenticationConfiguration\n"), []string{path + ".apiVersion: Invalid value"}},
		{"another kind", authentication("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"), []string{path + ".kind: Invalid value"}},
		{"no kind nor version", authentication("jwt: []\n"), []string{path + ".apiVersion: Invalid value", path + ".kind: Invalid value"}},
		{"no YAML", authentication("jwt: [\n"), []string{path + ": Invalid value: must be YAML"}},
		{"a key twice", authentication(head + "jwt: []\njwt: []\n"), []string{path + ": Invalid value: must be YAML"}},
		{"a list", authentication("[]"), []string{path + ": Invalid value: must be an AuthenticationConfiguration"}},
		{"issuer without https", authentication(head + "jwt:\n" + strings.Replace(issuer, "https", "http", 1)), []string{path + ".jwt[0].issuer.url: Invalid value"}},
		{"issuer without a URL", authentication(head + "jwt:\n- issuer: {audiences: [demo]}\n"), []string{path + ".jwt[0].issuer.url: Invalid value"}},
		{"issuer without audiences", authentication(head + "jwt:\n- issuer: {url: https://issuer.example.org}\n"), []string{path + ".jwt[0].issuer.audiences: Required value"}},
		{"issuer twice", authentication(head + "jwt:\n" + issuer + issuer), []string{path + ".jwt[1].issuer.url: Duplicate value"}},
	})
}

func TestAuthenticationConfigurationIsNotRepeatedInErrors(t *testing.T) {
	for _, change := range []func(*kubernikusv1.KlusterSpec){
		authentication("- a confidential text"),
		oidc("http://me:confidential@issuer.example.org", "demo"),
	} {
		errs := newRules(t).create(kluster(with(change)))
		if len(errs) == 0 {
			t.Fatal("no error")
		}
		if text := errs.ToAggregate().Error(); strings.Contains(text, "confidential") {
			t.Errorf("the error repeats what was given: %s", text)
		}
	}
}
