// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func TestWithMidoNet(t *testing.T) {
	const head = "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"
	fields := map[string]any{"url": "http://a", "username": "u", "passwordFile": "/p"}
	for name, test := range map[string]struct{ config, want, fails string }{
		"nothing": {config: head, want: head + "controllers: {translation: {midonet: {url: 'http://a', username: u, passwordFile: /p}}}"},
		"the rest stays": {
			config: head + "clientConnection: {qps: 100000000, burst: 7}\ncontrollers: {enabled: ['*'], translation: {tenant: x, midonet: {timeout: 2s}}}",
			want:   head + "clientConnection: {qps: 100000000, burst: 7}\ncontrollers: {enabled: ['*'], translation: {tenant: x, midonet: {timeout: 2s, url: 'http://a', username: u, passwordFile: /p}}}",
		},
		"another backend": {config: head + "controllers: {translation: {midonet: {url: 'http://b'}}}", fails: "controllers.translation.midonet.url is set"},
		"another login":   {config: head + "controllers: {translation: {midonet: {username: ''}}}", fails: "controllers.translation.midonet.username is set"},
		"of Gardener":     {config: "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: ControllerManagerConfiguration", fails: "controllermanager.config.gardener.cloud/v1alpha1"},
		"empty":           {fails: "apiVersion"},
		"another shape":   {config: head + "controllers: 1", fails: "controllers"},
		"another kind":    {config: head + "kind: Other", fails: "kind"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := addition{"the fake of MidoNet", []string{"controllers", "translation", "midonet"}, fields}.addTo([]byte(test.config))
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error %v does not name %s", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want, err := yaml.YAMLToJSON([]byte(test.want))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := yaml.YAMLToJSON(got); err != nil || string(got) != string(want) {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

// TestManagerConfigWithoutMidoNet checks that a configuration is used unchanged without the fake.
func TestManagerConfigWithoutMidoNet(t *testing.T) {
	for _, file := range []string{"", "/some/file.yaml"} {
		p := &Plane{options: Options{ManagerConfig: file}, dir: t.TempDir()}
		if got, err := p.managerConfig(); err != nil || got != file {
			t.Errorf("got %q, %v, want %q", got, err, file)
		}
		if entries, _ := os.ReadDir(p.dir); len(entries) > 0 {
			t.Errorf("something was written: %v", entries)
		}
	}
}

// TestEnsurePassword checks that the password is created once, with permissions for its owner only.
func TestEnsurePassword(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := ensurePassword(path); err != nil {
		t.Fatal(err)
	}
	first := read(t, path)
	if err := ensurePassword(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) < 20 || read(t, path) != first || info.Mode().Perm() != 0o600 {
		t.Errorf("the password has %d letters, the same after a second time: %t, mode %s", len(first), read(t, path) == first, info.Mode())
	}
}

// TestMidoNet checks that the fake runs with the plane, that the manager is configured for it, and that a plane without it stops
// it.
func TestMidoNet(t *testing.T) {
	binary(t, apiserverName)
	binary(t, managerName)
	binary(t, midonetName)
	options := Options{Dir: t.TempDir(), APIServers: 1, Managers: 1, MidoNet: true}
	p := controlPlane(t, options)
	if !slices.Contains(p.Processes(), p.MidoNet) {
		t.Error("the fake is none of the processes")
	}

	t.Run("login", func(t *testing.T) {
		username, file := p.MidoNetLogin()
		for password, want := range map[string]int{read(t, file): http.StatusOK, "wrong": http.StatusUnauthorized} {
			request, err := http.NewRequest(http.MethodPost, p.MidoNetURL()+"/login", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth(username, password)
			if code, _ := do(t, request); code != want {
				t.Errorf("response %d, want %d", code, want)
			}
		}
	})
	t.Run("hosts", func(t *testing.T) {
		request, err := http.NewRequest(http.MethodPut, p.MidoNetPages()+"hosts/node-d", nil)
		if err != nil {
			t.Fatal(err)
		}
		if code, body := do(t, request); code != http.StatusOK {
			t.Fatalf("adding a host: %d %s", code, body)
		}
		request, err = http.NewRequest(http.MethodGet, p.MidoNetPages()+"hosts", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, body := do(t, request)
		var hosts []struct{ Body struct{ Name string } }
		if err := json.Unmarshal(body, &hosts); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, host := range hosts {
			names = append(names, host.Body.Name)
		}
		slices.Sort(names)
		if want := append(MidoNetHosts(), "node-d"); !slices.Equal(names, want) {
			t.Errorf("the hosts are %v, want %v", names, want)
		}
	})
	t.Run("configuration", func(t *testing.T) {
		path, err := p.managerConfig()
		if err != nil {
			t.Fatal(err)
		}
		var config v1alpha1.ControllerManagerConfiguration
		if err := yaml.UnmarshalStrict([]byte(read(t, path)), &config); err != nil {
			t.Fatal(err)
		}
		got := config.Controllers.Translation.MidoNet
		username, file := p.MidoNetLogin()
		if got.URL != p.MidoNetURL() || got.Username != username || got.PasswordFile != file {
			t.Errorf("the manager is led to %s, %s, %s", got.URL, got.Username, got.PasswordFile)
		}
		if !slices.Contains(p.Managers[0].args, "--config="+path) {
			t.Errorf("the manager runs with %v", p.Managers[0].args)
		}
	})
	t.Run("status", func(t *testing.T) {
		all, err := Inspect(t.Context(), p.Dir())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			want := ""
			if s.Name == midonetName {
				want = p.MidoNetPages()
			}
			if s.Page != want || s.Err != nil {
				t.Errorf("%s has the page %q, want %q; %v", s.Name, s.Page, want, s.Err)
			}
		}
	})
	t.Run("comes back", func(t *testing.T) {
		before := p.Managers[0].PID()
		if err := p.MidoNet.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := controlPlane(t, options)
		if again.MidoNet.PID() == 0 || again.MidoNetURL() != p.MidoNetURL() || again.Managers[0].PID() != before {
			t.Errorf("the fake has pid %d at %s, was at %s; the manager has pid %d, had %d",
				again.MidoNet.PID(), again.MidoNetURL(), p.MidoNetURL(), again.Managers[0].PID(), before)
		}
	})
	t.Run("goes", func(t *testing.T) {
		options.MidoNet = false
		without := controlPlane(t, options)
		if without.MidoNet != nil || without.state.running(midonetName) {
			t.Error("the fake still runs")
		}
		all, err := Inspect(t.Context(), p.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(all, func(s Status) bool { return s.Name == midonetName }) {
			t.Error("the fake is still shown")
		}
		if args := strings.Join(without.Managers[0].args, " "); strings.Contains(args, "--config=") {
			t.Errorf("the manager runs with %s", args)
		}
	})
}

// do sends the request and returns the status and the body of the response.
func do(t *testing.T, request *http.Request) (int, []byte) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
