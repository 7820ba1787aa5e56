// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// running is the command in this process.
type running struct {
	*testing.T
	keystone, content string
}

// request sends a request, checks the code of the response, and returns its body.
func (r *running) request(method, url, body string, want int) string {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		r.Errorf("%s %s: status = %d, want %d: %v %s", method, url, response.StatusCode, want, err, data)
	}
	return string(data)
}

// items returns what the fake has of a kind.
func (r *running) items(kind string) (found []openstack.Item) {
	r.Helper()
	var all []openstack.Item
	if err := json.Unmarshal([]byte(r.request(http.MethodGet, r.content+"content", "", http.StatusOK)), &all); err != nil {
		r.Fatal(err)
	}
	for _, item := range all {
		if item.Kind == kind {
			found = append(found, item)
		}
	}
	return found
}

// TestServe checks that the command prints its addresses, has the content of its flags, changes it by its pages, and exits
// with its context.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	var problems bytes.Buffer
	var wg sync.WaitGroup
	code := -1
	wg.Go(func() {
		args := []string{"--address=127.0.0.1:0", "--user=gardener", "--project=garden", "--password-file=" + file, "--servers=10.0.0.5"}
		code = execute(ctx, args, writer, &problems)
		_ = writer.Close()
	})
	r := &running{T: t}
	lines := bufio.NewScanner(reader)
	for r.content == "" && lines.Scan() {
		if strings.Contains(lines.Text(), "sesame") {
			t.Errorf("output has the password: %s", lines.Text())
		}
		if url, found := strings.CutPrefix(lines.Text(), "Keystone: "); found {
			r.keystone = url
		}
		_, r.content, _ = strings.Cut(lines.Text(), "Content:  ")
	}
	if r.keystone == "" || r.content == "" {
		t.Fatalf("output has no addresses: %s", problems.String())
	}
	t.Run("login", func(t *testing.T) {
		for password, want := range map[string]int{"open sesame": http.StatusCreated, "wrong": http.StatusUnauthorized} {
			body := `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"gardener","domain":{"id":"default"},` +
				`"password":"` + password + `"}}},"scope":{"project":{"id":"garden"}}}}`
			token := (&running{T: t}).request(http.MethodPost, r.keystone+"/auth/tokens", body, want)
			base := strings.TrimSuffix(r.content, openstack.PagesRoot)
			if want == http.StatusCreated && !strings.Contains(token, base+"/load-balancer") {
				t.Errorf("catalog = %s, want endpoints at %s", token, base)
			}
		}
	})
	t.Run("servers", func(t *testing.T) {
		r := &running{T: t, content: r.content}
		servers := r.content + "projects/garden/servers/"
		for range 2 { // the second time, it is there
			r.request(http.MethodPut, servers+"10.0.0.6", "", http.StatusOK)
		}
		r.request(http.MethodPut, servers+"192.0.2.1", "", http.StatusBadRequest)
		r.request(http.MethodPut, servers+"203.0.113.5", "", http.StatusBadRequest)
		r.request(http.MethodDelete, servers+"10.0.0.5", "", http.StatusNoContent)
		r.request(http.MethodDelete, servers+"10.0.0.5", "", http.StatusNotFound)
		if got := r.items("server"); len(got) != 1 || got[0].Name != "node-10.0.0.6" || got[0].Project != "garden" {
			t.Errorf("servers = %+v, want node-10.0.0.6 of garden", got)
		}
	})
	t.Run("routes", func(t *testing.T) {
		r := &running{T: t, content: r.content}
		router := r.content + "routers/" + r.items("router")[0].ID + "/routes"
		r.request(http.MethodPut, router, `[{"destination":"100.64.1.0/24","nexthop":"10.0.0.6"}]`, http.StatusNoContent)
		r.request(http.MethodPut, router, `{`, http.StatusBadRequest)
		r.request(http.MethodPut, r.content+"routers/none/routes", `[]`, http.StatusNotFound)
		if page := r.request(http.MethodGet, r.content, "", http.StatusOK); !strings.Contains(page, "100.64.1.0/24 via 10.0.0.6") {
			t.Errorf("page = %s, want the route", page)
		}
	})
	t.Run("volumes", func(t *testing.T) {
		r := &running{T: t, content: r.content}
		r.request(http.MethodPost, r.content+"projects/garden/volumes/disk", `{"owner":"a"}`, http.StatusOK)
		r.request(http.MethodPost, r.content+"projects/garden/volumes/disk", `[]`, http.StatusBadRequest)
		if got := r.items("volume"); len(got) != 1 || got[0].Name != "disk" || got[0].Detail != "available owner=a" {
			t.Errorf("volumes = %+v, want disk with owner=a", got)
		}
	})
	cancel()
	wg.Wait()
	if code != 0 {
		t.Errorf("exit code = %d, want 0: %s", code, problems.String())
	}
}

func TestFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"reachable from outside": {"--address=0.0.0.0:0"}, "no address": {"--address=x"}, "no password": {"--password-file=nowhere"},
		"no network": {"--network=x"}, "no external network": {"--external-network=x"}, "server elsewhere": {"--servers=192.0.2.1"},
		"argument": {"more"}, "unknown flag": {"--unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems bytes.Buffer
			code := execute(t.Context(), append([]string{"--address=127.0.0.1:0", "--password-file=" + file}, args...), &out, &problems)
			if code != 1 || !strings.HasPrefix(problems.String(), "error: ") {
				t.Errorf("exit code = %d with %q, want 1 and an error", code, problems.String())
			}
		})
	}
}
