// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// api is a user of a cloud with plain requests: neither Groundskeeper's client nor the library below it.
type api struct {
	t         testing.TB
	authURL   string
	user      string
	password  string
	project   string
	token     string
	projectID string
	userID    string
	endpoints map[string]string
}

// The response.
type response struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// realUser returns a user of the testbed, by the name of its clouds.yaml.
func realUser(t testing.TB, name string) *api {
	t.Helper()
	var file struct {
		Clouds map[string]struct {
			Auth map[string]string `json:"auth"`
		} `json:"clouds"`
	}
	if err := yaml.Unmarshal(readFile(t, "clouds.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	auth := file.Clouds[name].Auth
	a := &api{t: t, authURL: auth["auth_url"], user: auth["username"], password: auth["password"], project: auth["project_name"]}
	a.login()
	return a
}

// readFile reads a file of the testbed.
func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(*testbed, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// login gets a token and the catalog.
func (a *api) login() {
	a.t.Helper()
	got := a.send(http.MethodPost, a.authURL+"/auth/tokens", nil, a.loginBody(a.password))
	if got.status != http.StatusCreated {
		a.t.Fatalf("log in: %d %s", got.status, got.text)
	}
	a.token, a.endpoints = got.header.Get("X-Subject-Token"), map[string]string{}
	token := got.body["token"].(map[string]any)
	a.projectID = token["project"].(map[string]any)["id"].(string)
	a.userID, _ = token["user"].(map[string]any)["id"].(string)
	for _, entry := range token["catalog"].([]any) {
		service := entry.(map[string]any)
		for _, endpoint := range service["endpoints"].([]any) {
			if e := endpoint.(map[string]any); e["interface"] == "public" {
				a.endpoints[service["type"].(string)] = strings.TrimSuffix(e["url"].(string), "/")
			}
		}
	}
}

// relogin gets a token for a password that was changed just now. Keystone revokes all tokens of the second in which a password
// changes, those of the new one, too.
func (a *api) relogin() {
	a.t.Helper()
	eventually(a.t, "a token for the new password is good", func() bool {
		a.login()
		return a.send(http.MethodGet, a.url("network/v2.0/routers"), map[string]string{"X-Auth-Token": a.token}, nil).status == http.StatusOK
	})
}

func (a *api) loginBody(password string) any {
	domain := map[string]any{"name": "Default"}
	return map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": map[string]any{"name": a.user, "domain": domain, "password": password}}},
		"scope":    map[string]any{"project": map[string]any{"name": a.project, "domain": domain}},
	}}
}

// call sends a request with the token. path begins with the type of the service, as network/v2.0/routers.
func (a *api) call(method, path string, body any) response {
	a.t.Helper()
	got := a.send(method, a.url(path), map[string]string{"X-Auth-Token": a.token}, body)
	if got.status == http.StatusUnauthorized {
		a.login()
		got = a.send(method, a.url(path), map[string]string{"X-Auth-Token": a.token}, body)
	}
	return got
}

// must is call for what cannot be rejected; it returns the object below the first key of the response.
func (a *api) must(method, path string, body any) map[string]any {
	a.t.Helper()
	got := a.call(method, path, body)
	if got.status >= 300 {
		a.t.Fatalf("%s %s: %d %s", method, path, got.status, got.text)
	}
	for _, inner := range got.body {
		if object, ok := inner.(map[string]any); ok {
			return object
		}
	}
	return nil
}

func (a *api) url(path string) string {
	service, rest, _ := strings.Cut(path, "/")
	return a.endpoints[service] + "/" + rest
}

func (a *api) send(method, url string, header map[string]string, body any) response {
	a.t.Helper()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			a.t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(data))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	client := http.Client{Timeout: 2 * time.Minute, Transport: http.DefaultClient.Transport}
	resp, err := client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	got := response{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.Unmarshal(text, &got.body) // a body that is no object is nil
	return got
}
