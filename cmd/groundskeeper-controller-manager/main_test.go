// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain makes the test binary the command when a test starts it again.
func TestMain(m *testing.M) {
	if os.Getenv("GROUNDSKEEPER_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command runs the command and returns its exit code and what it wrote.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "GROUNDSKEEPER_TEST_MAIN=1", "KUBERNETES_SERVICE_HOST=", "KUBERNETES_SERVICE_PORT=")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	return code, out.String(), errs.String()
}

// TestUserErrors checks that a user error is reported on one plain line, without usage, time stamp or stack trace.
func TestUserErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\ncontroller: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--nope"}, "error: unknown flag: --nope"},
		{[]string{"start"}, `error: groundskeeper-controller-manager has no arguments, remove "start"`},
		{[]string{"-v=loud"}, `error: invalid argument "loud" for "-v, --v" flag: must be an integer`},
		{[]string{"--config", file}, "error: " + file + `: line 3: unknown field "controller"`},
		{[]string{"--config", file, "--print-config"}, "error: " + file + `: line 3: unknown field "controller"`},
		{[]string{"--health-address", ":80000", "--print-config"}, "error: configuration: server.health.port: Invalid value: 80000: must be between 0 (any free port) and 65535"},
		{[]string{"--kubeconfig", "testdata/none", "--health-address", "127.0.0.1:0"}, "error: kubeconfig testdata/none (--kubeconfig, clientConnection.kubeconfig): stat testdata/none: no such file or directory"},
		{[]string{"--health-address", "127.0.0.1:0"}, "error: no kubeconfig is set (--kubeconfig, clientConnection.kubeconfig) and this is not a pod: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"},
	} {
		code, stdout, stderr := command(t, tc.args...)
		if code != 1 || stdout != "" || stderr != tc.want+"\n" {
			t.Errorf("%v: exit code %d, output %q\ngot  %swant %s", tc.args, code, stdout, stderr, tc.want)
		}
	}
}

func TestServesHealthAndMetrics(t *testing.T) {
	for _, tc := range []struct{ flag, begin string }{
		{"--version", "groundskeeper-controller-manager version v"},
		{"--help", "Run the controllers of Groundskeeper\n"},
		{"--print-config", "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"},
	} {
		if code, stdout, stderr := command(t, tc.flag); code != 0 || !strings.HasPrefix(stdout, tc.begin) || stderr != "" {
			t.Errorf("%s: exit code %d, output %q, errors %q", tc.flag, code, stdout, stderr)
		}
	}
}
