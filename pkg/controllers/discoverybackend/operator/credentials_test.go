// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const testPassword = "hunter2hunter2"

func TestJudge(t *testing.T) {
	certificate, _, err := cert.GenerateSelfSignedCertKey("cloud.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const auth = "https://cloud.example:5000/v3"
	clouds := func(names ...string) string {
		text := "clouds:\n"
		for _, name := range names {
			text += "  " + name + ": {auth: {auth_url: '" + auth + "', username: me, user_domain_name: Default, project_id: p, password: " + testPassword + "}}\n"
		}
		return text
	}
	user := map[string]string{keyAuthURL: auth, keyUsername: "me", keyPassword: testPassword, keyTenantName: "t"}
	with := func(base map[string]string, changes ...string) map[string]string {
		next := map[string]string{}
		for key, value := range base {
			next[key] = value
		}
		for i := 0; i < len(changes); i += 2 {
			if changes[i+1] == "" {
				delete(next, changes[i])
				continue
			}
			next[changes[i]] = changes[i+1]
		}
		return next
	}
	for name, tc := range map[string]struct {
		kind    gimbalv1.BackendType
		data    map[string]string
		keys    []string
		problem string
	}{
		"kubeconfig":        {gimbalv1.BackendKubernetes, map[string]string{keyKubeconfig: testKubeconfig, "backend-name": "x"}, []string{keyKubeconfig}, ""},
		"empty":             {gimbalv1.BackendKubernetes, nil, nil, `has no key "config"`},
		"broken kubeconfig": {gimbalv1.BackendKubernetes, map[string]string{keyKubeconfig: testPassword}, nil, `key "config": `},
		"kubeconfig that runs a command": {gimbalv1.BackendKubernetes, map[string]string{keyKubeconfig: strings.Replace(testKubeconfig, `"token":"TOKEN"`,
			`"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"sh","interactiveMode":"Never"}`, 1)}, nil, "users[0].user.exec"},
		"the original's keys": {gimbalv1.BackendOpenStack, with(user, keyCAData, string(certificate), "backend-name", "x"),
			[]string{keyAuthURL, keyCAData, keyPassword, keyTenantName, keyUsername}, ""},
		"region and domain": {gimbalv1.BackendOpenStack, with(user, keyRegion, "r", keyUserDomain, "d"),
			[]string{keyAuthURL, keyPassword, keyRegion, keyTenantName, keyUserDomain, keyUsername}, ""},
		"application credential": {gimbalv1.BackendOpenStack, map[string]string{keyAuthURL: auth, keyApplicationID: "id", keyApplicationSecret: testPassword},
			[]string{keyApplicationID, keyApplicationSecret, keyAuthURL}, ""},
		"half an application credential": {gimbalv1.BackendOpenStack, map[string]string{keyAuthURL: auth, keyApplicationID: "id"}, nil, `has no key "application-credential-secret"`},
		"both ways":                      {gimbalv1.BackendOpenStack, with(user, keyApplicationID, "id", keyApplicationSecret, testPassword), nil, "both an application credential"},
		"no auth-url":                    {gimbalv1.BackendOpenStack, with(user, keyAuthURL, ""), nil, `key "auth-url" is not`},
		"no scheme":                      {gimbalv1.BackendOpenStack, with(user, keyAuthURL, "cloud.example:5000"), nil, `key "auth-url" is not`},
		"a password in the auth-url":     {gimbalv1.BackendOpenStack, with(user, keyAuthURL, "https://me:"+testPassword+"@cloud.example"), nil, `key "auth-url" is not`},
		"no username":                    {gimbalv1.BackendOpenStack, with(user, keyUsername, ""), nil, `has no key "username"`},
		"no password":                    {gimbalv1.BackendOpenStack, with(user, keyPassword, ""), nil, `has no key "password"`},
		"no tenant":                      {gimbalv1.BackendOpenStack, with(user, keyTenantName, ""), nil, `has no key "tenant-name"`},
		"no certificate":                 {gimbalv1.BackendOpenStack, with(user, keyCAData, testPassword), nil, `no certificate in PEM`},
		"clouds.yaml":                    {gimbalv1.BackendOpenStack, map[string]string{keyClouds: clouds("a")}, []string{keyClouds}, ""},
		"one of two clouds":              {gimbalv1.BackendOpenStack, map[string]string{keyClouds: clouds("a", "b"), keyCloud: "b"}, []string{keyCloud, keyClouds}, ""},
		"which of two clouds":            {gimbalv1.BackendOpenStack, map[string]string{keyClouds: clouds("a", "b")}, nil, "has 2 clouds"},
		"a third cloud":                  {gimbalv1.BackendOpenStack, map[string]string{keyClouds: clouds("a", "b"), keyCloud: "c"}, nil, "names no cloud"},
		"clouds.yaml and auth-url":       {gimbalv1.BackendOpenStack, with(user, keyClouds, clouds("a")), nil, "has both"},
		"broken clouds.yaml":             {gimbalv1.BackendOpenStack, map[string]string{keyClouds: "clouds: [" + testPassword}, nil, "is not YAML"},
		"a cloud without auth_url":       {gimbalv1.BackendOpenStack, map[string]string{keyClouds: "clouds: {a: {}}"}, nil, "auth.auth_url"},
		"a cloud without a project":      {gimbalv1.BackendOpenStack, map[string]string{keyClouds: strings.Replace(clouds("a"), "project_id: p, ", "", 1)}, nil, "has no auth.project_id"},
		"a misspelled field":             {gimbalv1.BackendOpenStack, map[string]string{keyClouds: strings.Replace(clouds("a"), "password:", "pasword:", 1)}, nil, `unknown field in auth`},
		"a cloud that names a file":      {gimbalv1.BackendOpenStack, map[string]string{keyClouds: "clouds: {a: {cacert: /etc/ca.pem, auth: {auth_url: 'https://c'}}}"}, nil, `put the CA into key "certificate-authority-data"`},
		"another type":                   {"vsphere", nil, nil, `type "vsphere"`},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range tc.data {
				data[key] = []byte(value)
			}
			got := judge(tc.kind, data, strict(), "salt")
			if strings.Contains(got.problem, testPassword) || strings.Contains(got.problem, "TOKEN") {
				t.Errorf("the problem contains a secret: %s", got.problem)
			}
			if tc.problem != "" {
				if got.usable() || !strings.Contains(got.problem, tc.problem) || got.reason != reasonSecretInvalid || got.digest != "" {
					t.Errorf("got %+v, want the problem %q", got, tc.problem)
				}
				return
			}
			if !got.usable() || !slices.Equal(got.keys, tc.keys) || len(got.digest) != 32 {
				t.Errorf("got %+v, want the keys %q", got, tc.keys)
			}
		})
	}
}

// TestDigest checks that the digest changes with the keys and values that are used, and only with those.
func TestDigest(t *testing.T) {
	base := digest(map[string][]byte{"a": []byte("1"), "b": []byte("23")}, []string{"a", "b"}, "salt")
	for name, other := range map[string]string{
		"another value": digest(map[string][]byte{"a": []byte("1"), "b": []byte("24")}, []string{"a", "b"}, "salt"),
		"moved":         digest(map[string][]byte{"a": []byte("12"), "b": []byte("3")}, []string{"a", "b"}, "salt"),
		"a key less":    digest(map[string][]byte{"a": []byte("1"), "b": []byte("23")}, []string{"a"}, "salt"),
		"another salt":  digest(map[string][]byte{"a": []byte("1"), "b": []byte("23")}, []string{"a", "b"}, "pepper"),
	} {
		if other == base {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if same := digest(map[string][]byte{"a": []byte("1"), "b": []byte("23"), "c": []byte("x")}, []string{"a", "b"}, "salt"); same != base {
		t.Error("a key that does not count changes the digest")
	}
}

// strict is the default: what would send credentials elsewhere, or in clear text, is rejected.
func strict() configv1alpha1.CredentialsConfiguration {
	var defaults configv1alpha1.CredentialsConfiguration
	configv1alpha1.SetDefaults_CredentialsConfiguration(&defaults)
	return defaults
}

// TestAllowedCredentials checks that a proxy and plain http need the setting that the problem names, and that only a discoverer that uses
// them gets the flag.
func TestAllowedCredentials(t *testing.T) {
	allowed := configv1alpha1.CredentialsConfiguration{AllowProxyURL: new(true), AllowPlainHTTP: new(true)}
	proxied := strings.Replace(testKubeconfig, `"server":`, `"proxy-url":"http://proxy.example:3128","server":`, 1)
	plain := map[string]string{keyAuthURL: "http://cloud.example:5000/v3", keyUsername: "me", keyPassword: testPassword, keyTenantName: "t"}
	clouds := "clouds: {a: {auth: {auth_url: 'http://cloud.example:5000/v3', username: me, user_domain_name: Default, project_id: p, password: " + testPassword + "}}}"
	for name, tc := range map[string]struct {
		kind          gimbalv1.BackendType
		data          map[string]string
		problem, flag string
	}{
		"proxy-url":                    {gimbalv1.BackendKubernetes, map[string]string{keyKubeconfig: proxied}, `key "config": clusters[0].cluster.proxy-url is not allowed`, "allow-proxy-url"},
		"auth-url over http":           {gimbalv1.BackendOpenStack, plain, `key "auth-url" is plain http`, "allow-plain-http"},
		"auth_url over http in a file": {gimbalv1.BackendOpenStack, map[string]string{keyClouds: clouds}, `key "clouds.yaml": auth.auth_url is plain http`, "allow-plain-http"},
		"neither":                      {gimbalv1.BackendKubernetes, map[string]string{keyKubeconfig: testKubeconfig}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range tc.data {
				data[key] = []byte(value)
			}
			if got := judge(tc.kind, data, strict(), "salt"); (tc.problem == "") != got.usable() || !strings.Contains(got.problem, tc.problem) ||
				!got.usable() && !strings.Contains(got.problem, "controllers.credentials.allow") {
				t.Errorf("problem = %q, want %q and the setting", got.problem, tc.problem)
			}
			got := judge(tc.kind, data, allowed, "salt")
			if !got.usable() || got.flag != tc.flag {
				t.Errorf("flag = %q, problem = %q, want the flag %q", got.flag, got.problem, tc.flag)
			}
			backend := &gimbalv1.DiscoveryBackend{}
			backend.Cluster.Type = tc.kind
			if args := arguments(backend, got, nil, nil); tc.flag != "" && !slices.Contains(args, "--"+tc.flag) || tc.flag == "" && strings.Contains(strings.Join(args, " "), "--allow-p") {
				t.Errorf("arguments = %q, want the flag %q", args, tc.flag)
			}
		})
	}
}
