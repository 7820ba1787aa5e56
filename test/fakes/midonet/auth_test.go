// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// login requests a token and returns the code and the token.
func login(t *testing.T, url, user, password, project string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url+Root+"/login", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	if project != "" {
		req.Header.Set("X-Auth-Project", project)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var token struct{ Key, Expires string }
	_ = json.NewDecoder(resp.Body).Decode(&token)
	if resp.StatusCode == http.StatusOK {
		if _, err := time.Parse(time.RFC3339, token.Expires); err != nil || token.Key == "" {
			t.Errorf("login responded %+v, want key and expires", token)
		}
	}
	return resp.StatusCode, token.Key
}

func TestLogin(t *testing.T) {
	_, url := start(t, Options{Username: "admin", Password: "open", Project: "kube"})
	for _, tc := range []struct {
		name, user, password, project string
		want                          int
	}{
		{"right", "admin", "open", "kube", 200},
		{"without a user", "", "", "kube", 401},
		{"another user", "root", "open", "kube", 401},
		{"another password", "admin", "close", "kube", 401},
		{"another project", "admin", "open", "prod", 401},
		{"without a project", "admin", "open", "", 401},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, _ := login(t, url, tc.user, tc.password, tc.project); got != tc.want {
				t.Errorf("code %d, want %d", got, tc.want)
			}
		})
	}
}

// TestTokens checks that a request needs a token of the fake that has not expired.
func TestTokens(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, url := start(t, Options{Username: "admin", Password: "open", TokenLifetime: time.Minute, Now: func() time.Time { return now }})
	get := func(token string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, url+Root+"/chains", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/json")
		if token != "" {
			req.Header.Set("X-Auth-Token", token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	_, token := login(t, url, "admin", "open", "")
	if got := get(token); got != 200 {
		t.Errorf("with the token: %d", got)
	}
	if got := get(""); got != 401 {
		t.Errorf("without a token: %d, want 401", got)
	}
	if got := get("x"); got != 401 {
		t.Errorf("with another token: %d, want 401", got)
	}
	now = now.Add(time.Minute)
	if got := get(token); got != 401 {
		t.Errorf("with a token that has ended: %d, want 401", got)
	}
	_, token = login(t, url, "admin", "open", "")
	s.RevokeTokens()
	if got := get(token); got != 401 {
		t.Errorf("with a token that was revoked: %d, want 401", got)
	}
}
