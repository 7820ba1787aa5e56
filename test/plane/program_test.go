// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestRun checks that a program runs beside the plane and ends with it.
func TestRun(t *testing.T) {
	t.Setenv(roleVariable, "server")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	port, err := pickPort(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Plane{
		options: Options{BinDir: filepath.Dir(self), Progress: func(string) {}}, dir: t.TempDir(),
		prober: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	p.state = &state{path: filepath.Join(p.dir, "state.json"), Ports: map[string]int{}}
	if err := os.Mkdir(logDir(p.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(context.Background()) }) //nolint:errcheck // the test has seen the error
	helper := Program{Name: "helper", Binary: filepath.Base(self), Args: []string{address(port)}, Address: address(port), Health: "/healthz"}
	process, err := p.Run(t.Context(), helper)
	if err != nil {
		t.Fatal(err)
	}
	if process.PID() == 0 || process.LogFile() != logFile(p.dir, "helper") {
		t.Errorf("pid = %d, log = %s, want a process that logs to helper.log", process.PID(), process.LogFile())
	}
	if err := p.Stop(t.Context()); err != nil || process.PID() != 0 {
		t.Errorf("Stop of the plane: %v, pid = %d, want 0", err, process.PID())
	}
}
