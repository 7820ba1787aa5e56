// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
)

// secret is in everything that must not be disclosed.
const secret = "hunter2hunter2"

// document returns a kubeconfig with the given inside of its one cluster and its one user.
func document(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: a, user: b}}]\n" +
		"clusters: [{name: a, cluster: {" + cluster + "}}]\nusers: [{name: b, user: {" + user + "}}]\n"
}

const (
	server = "server: \"https://example.com:6443\""
	token  = "token: " + secret
)

// serving returns a certificate and its key, in base64.
func serving(t testing.TB) (certificate, key string) {
	t.Helper()
	c, k, err := cert.GenerateSelfSignedCertKey("example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(c), base64.StdEncoding.EncodeToString(k)
}

func TestAccepted(t *testing.T) {
	certificate, key := serving(t)
	for name, text := range map[string]string{
		"token":               document(server, token),
		"password":            document(server, "username: me, password: "+secret),
		"client certificate":  document(server+", certificate-authority-data: "+certificate, "client-certificate-data: "+certificate+", client-key-data: "+key),
		"own CA":              document(server+", certificate-authority-data: "+certificate, token),
		"through a proxy":     document(server+", proxy-url: \"socks5://proxy:1080\"", token),
		"another name":        document(server+", tls-server-name: kubernetes", token),
		"not verified":        document(server+", insecure-skip-tls-verify: true", token),
		"impersonation":       document(server, token+", as: olivia, as-groups: [x]"),
		"extensions":          document(server+", extensions: [{name: x, extension: {y: z}}]", token) + "preferences: {}\n",
		"without a kind":      strings.Replace(document(server, token), "apiVersion: v1\nkind: Config\n", "", 1),
		"as JSON":             `{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "a", "user": "b"}}], "clusters": [{"name": "a", "cluster": {"server": "https://h"}}], "users": [{"name": "b", "user": {"token": "x"}}]}`,
		"an address for host": document(`server: "https://[::1]:6443/prefix"`, token),
	} {
		if err := Check([]byte(text), true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		config, err := Load([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" || config.CertFile+config.KeyFile+config.CAFile != "" {
			t.Errorf("%s: got %v", name, config)
		}
	}
}

func TestLoad(t *testing.T) {
	config, err := Load([]byte(document(server, token)))
	if err != nil || config.Host != "https://example.com:6443" || config.BearerToken != secret {
		t.Errorf("got %v, %v", config, err)
	}
}

// TestServer checks that the address is found in whatever leads another client to it.
func TestServer(t *testing.T) {
	const cluster = `current-context: c, clusters: [{name: c, cluster: {server: "https://a:1"}}], `
	const unknown = "unknown"
	for name, c := range map[string]struct{ config, want string }{
		"rejected by Load": {`{` + cluster + `contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {tokenFile: /t}}], x: 1}`, "https://a:1"},
		"no such cluster":  {`{` + cluster + `contexts: [{name: c, context: {cluster: d}}]}`, ""},
		"no such context":  {`{` + cluster + `contexts: []}`, ""},
		"empty":            {"", ""},
		"no kubeconfig":    {"broken", unknown},
		"no YAML":          {"{", unknown},
		"too large":        {`{` + cluster + `contexts: [{name: c, context: {cluster: c}}]}` + strings.Repeat(" ", MaxSize), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Server([]byte(c.config))
			if err != nil {
				got += unknown
			}
			if got != c.want {
				t.Errorf("server = %q, error = %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestProxy checks that a proxy needs the setting that the error names, and that the cluster behind it is known without it.
func TestProxy(t *testing.T) {
	const proxy = `, proxy-url: "http://proxy.example:3128"`
	for name, text := range map[string]string{
		"of the current cluster": document(server+proxy, token),
		"of another cluster":     strings.Replace(document(server, token), "clusters: [", "clusters: [{name: z, cluster: {"+server+proxy+"}}, ", 1),
	} {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(text), false)
			if err == nil || !strings.HasPrefix(err.Error(), "clusters[0].cluster.proxy-url is not allowed") || !strings.Contains(err.Error(), "controllers.credentials.allowProxyURL") {
				t.Errorf("error = %v, want the field and the setting", err)
			}
			if err := Check([]byte(text), true); err != nil {
				t.Errorf("error = %v, want none if it is allowed", err)
			}
		})
	}
	config, err := Load([]byte(document(server+proxy, token)))
	if err != nil || config.Host != "https://example.com:6443" {
		t.Fatalf("host = %v, error = %v, want that of the cluster", config, err)
	}
	if Allowed(config, true) != nil || Allowed(config, false) == nil {
		t.Errorf("connecting: %v, %v, want that only the setting allows it", Allowed(config, true), Allowed(config, false))
	}
	if config, err := Load([]byte(document(server, token))); err != nil || Allowed(config, false) != nil {
		t.Errorf("connecting without a proxy: %v, %v, want no error", err, Allowed(config, false))
	}
}

func TestRejected(t *testing.T) {
	certificate, key := serving(t)
	_, otherKey := serving(t)
	good := document(server, token)
	for name, tc := range map[string]struct{ text, want string }{
		"empty":                     {"", "current-context is missing"},
		"a word":                    {secret, "wrong type"},
		"broken YAML":               {"a: [" + secret, "not valid YAML"},
		"broken in a line":          {"apiVersion: v1\nkind: Config\n\t" + secret + ": {", "not valid YAML (line "},
		"tagged":                    {"users: !!int " + secret, ""},
		"unknown field":             {strings.Replace(good, "user: {token", "user: {"+secret+": x, token", 1), "unknown or given twice"},
		"field given twice":         {document(server, token+", "+token), ""},
		"token with a line break":   {document(server, "token: \"x\\n"+secret+"\""), "users[0].user.token has a blank"},
		"token that ends with one":  {document(server, "token: \""+secret+"\\n\""), "users[0].user.token has a blank"},
		"token with a blank":        {document(server, "token: \"x "+secret+"\""), "users[0].user.token has a blank"},
		"token with an umlaut":      {document(server, "token: \"ü"+secret+"\""), "users[0].user.token has a blank"},
		"list for a string":         {document(server, "token: ["+secret+"]"), "wrong type"},
		"not base64":                {document(server, "client-certificate-data: "+secret+"_"), "base64"},
		"another kind":              {strings.Replace(good, "Config", secret, 1), "kind Config"},
		"another version":           {strings.Replace(good, "v1", secret, 1), "apiVersion v1"},
		"exec":                      {document(server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: "+secret+", interactiveMode: Never}"), "users[0].user.exec"},
		"exec beside a token":       {document(server, token+", exec: {command: "+secret+"}"), "users[0].user.exec"},
		"auth provider":             {document(server, "auth-provider: {name: oidc, config: {x: "+secret+"}}"), "users[0].user.auth-provider"},
		"token file":                {document(server, "tokenFile: /var/run/"+secret), "users[0].user.tokenFile"},
		"certificate file":          {document(server, "client-certificate: /"+secret+", client-key-data: "+key), "users[0].user.client-certificate"},
		"key file":                  {document(server, "client-key: "+secret+", client-certificate-data: "+certificate), "users[0].user.client-key"},
		"CA file":                   {document(server+", certificate-authority: "+secret, token), "clusters[0].cluster.certificate-authority"},
		"no server":                 {document("", token), "clusters[0].cluster.server"},
		"clear text":                {document(`server: "http://`+secret+`"`, token), "https URL"},
		"unix socket":               {document(`server: "unix:///run/`+secret+`"`, token), "https URL"},
		"credentials in the URL":    {document(`server: "https://me:`+secret+`@h"`, token), "https URL"},
		"no URL":                    {document("server: "+secret, token), "https URL"},
		"proxy on a socket":         {document(server+`, proxy-url: "unix:///`+secret+`"`, token), "clusters[0].cluster.proxy-url"},
		"proxy with credentials":    {document(server+`, proxy-url: "http://me:`+secret+`@h"`, token), "clusters[0].cluster.proxy-url"},
		"invalid CA":                {document(server+", certificate-authority-data: "+base64.StdEncoding.EncodeToString([]byte(secret)), token), "certificate-authority-data"},
		"verified and not verified": {document(server+", insecure-skip-tls-verify: true, certificate-authority-data: "+certificate, token), "insecure-skip-tls-verify"},
		"certificate without key":   {document(server, "client-certificate-data: "+certificate), "client-key-data"},
		"key of another":            {document(server, "client-certificate-data: "+certificate+", client-key-data: "+otherKey), "client-key-data"},
		"no credentials":            {document(server, ""), "no credentials"},
		"token and password":        {document(server, token+", username: me"), "both a token and a username"},
		"no such context":           {strings.Replace(good, "current-context: c", "current-context: "+secret, 1), "names no entry of contexts"},
		"no such cluster":           {strings.Replace(good, "cluster: a", "cluster: "+secret, 1), "names no entry of clusters"},
		"no such user":              {strings.Replace(good, "user: b", "user: "+secret, 1), "names no entry of users"},
		"another user has exec":     {strings.Replace(good, "users: [", "users: [{name: z, user: {exec: {command: x}}}, ", 1), "users[0].user.exec"},
		"another cluster's file":    {strings.Replace(good, "clusters: [", "clusters: [{name: z, cluster: {"+server+", certificate-authority: x}}, ", 1), "clusters[0].cluster.certificate-authority"},
		"a user twice":              {strings.Replace(good, "users: [", "users: [{name: b, user: {"+token+"}}, ", 1), "users[1].name is there twice"},
		"a cluster twice":           {strings.Replace(good, "clusters: [", "clusters: [{name: a, cluster: {"+server+"}}, ", 1), "clusters[1].name is there twice"},
		"a context twice":           {strings.Replace(good, "contexts: [", "contexts: [{name: c, context: {cluster: a, user: b}}, ", 1), "contexts[1].name is there twice"},
		"too much":                  {good + "#" + strings.Repeat(" ", MaxSize), "more than"},
	} {
		err := Check([]byte(tc.text), true)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error contains data of the kubeconfig: %v", name, err)
		}
		if _, err := Load([]byte(tc.text)); err == nil {
			t.Errorf("%s: it was loaded", name)
		}
	}
}

// For any kubeconfig: no panic, none of its data in an error, and an accepted one makes the process neither run nor read anything.
func FuzzCheck(f *testing.F) {
	certificate, key := serving(f)
	for _, seed := range []string{
		document(server, token), document(server, "exec: {command: x}"), document(server+", certificate-authority: x", token),
		document(server, "client-certificate-data: "+certificate+", client-key-data: "+key), "a: [", "", "{}", "x: &x [*x]", "\t", "\xff", "users: !!int x",
	} {
		f.Add([]byte(seed), secret)
	}
	f.Fuzz(func(t *testing.T, data []byte, hidden string) {
		if err := Check([]byte(string(data)+hidden), true); err != nil && len(hidden) > 40 && strings.Contains(err.Error(), hidden) {
			t.Errorf("the error contains data of the kubeconfig: %v", err)
		}
		err := Check(data, true)
		config, loadErr := Load(data)
		if (err == nil) != (loadErr == nil) {
			t.Fatalf("checked: %v, loaded: %v", err, loadErr)
		}
		if err != nil {
			return
		}
		if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" || config.CertFile+config.KeyFile+config.CAFile != "" ||
			!strings.HasPrefix(strings.ToLower(config.Host), "https://") {
			t.Errorf("accepted: %q", data)
		}
	})
}
