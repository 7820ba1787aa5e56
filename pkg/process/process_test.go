// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

func TestSetGCPercent(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "100")
	SetGCPercent(25)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("percent = %d with GOGC=100", got)
	}
	t.Setenv("GOGC", "")
	SetGCPercent(25)
	if got := debug.SetGCPercent(100); got != 25 {
		t.Errorf("percent = %d, want 25", got)
	}
}

func TestRESTConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = `{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"}`
	config, err := RESTConfig(write(good), "--kubeconfig")
	if err != nil || config.Host != "https://127.0.0.1:1" {
		t.Errorf("config = %v, %v", config, err)
	}
	for name, test := range map[string]struct{ path, want string }{
		"none":    {"", "no kubeconfig is set (--kubeconfig) and this is not a pod"},
		"missing": {"/nowhere", "kubeconfig /nowhere (--kubeconfig): "},
		"empty":   {write(""), "it has no cluster"},
		"broken":  {write("["), "(--kubeconfig): "},
	} {
		if _, err := RESTConfig(test.path, "--kubeconfig"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", name, err, test.want)
		}
	}
}

func TestExecute(t *testing.T) {
	for name, test := range map[string]struct {
		args     []string
		err      error
		code     int
		problems string
	}{
		"success":   {nil, nil, 0, ""},
		"failure":   {nil, errors.New("broken"), ExitFailed, "error: broken\n"},
		"usage":     {nil, UsageError(errors.New("--a is missing")), ExitUsage, "error: --a is missing\nSee tool --help.\n"},
		"flag":      {[]string{"--b"}, nil, ExitUsage, "error: unknown flag: --b\nSee tool --help.\n"},
		"arguments": {[]string{"c"}, nil, ExitUsage, "error: tool has no arguments, remove \"c\"\nSee tool --help.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems bytes.Buffer
			cmd := &cobra.Command{Use: "tool", Args: NoArgs, RunE: func(*cobra.Command, []string) error { return test.err }}
			if got := Execute(context.Background(), cmd, test.args, &out, &problems); got != test.code || problems.String() != test.problems || out.Len() > 0 {
				t.Errorf("exit code = %d with %q and %q, want %d with %q", got, problems.String(), out.String(), test.code, test.problems)
			}
		})
	}
}

func TestServe(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "things_total", Help: "Things."}))
	var problem error
	stop := Serve(logr.Discard(), listener, Mux("/m", registry, Readyz(func() error { return problem })))
	get := func(path string) (int, string) {
		t.Helper()
		response, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/m": "things_total 0"} {
		if code, body := get(path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q, want %q", path, code, body, want)
		}
	}
	problem = errors.New("waiting for caches")
	if code, body := get("/readyz"); code != http.StatusServiceUnavailable || body != "waiting for caches\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	stop()
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()); err == nil {
		t.Error("the port is open after the server was stopped")
	}
}
