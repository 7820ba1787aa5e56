// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/plane"
)

// config lets the controller manager record nodes with local volumes that are missing, and delete nothing while the test runs.
const config = `apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
controllers:
  localVolume: {storageClassNames: [local-storage], pvcDeletionDelay: 10m}
`

func TestConsole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := plane.Start(t.Context(), plane.Options{Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true, ManagerConfig: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context()) // the processes below stop before the plane does
	defer cancel()
	member := filepath.Join(dir, "member.kubeconfig")
	if err := p.KubeconfigFor(member, "alice"); err != nil {
		t.Fatal(err)
	}
	membersContext, stopMember := context.WithCancel(ctx)
	defer stopMember()
	steps := exec.CommandContext(ctx, "node", "steps.mjs")
	steps.Dir = "browser"
	steps.Stderr = os.Stderr
	steps.Env = append(os.Environ(), "KUBECTL="+p.Kubectl(), "KUBECONFIG="+p.AdminKubeconfig(), "CHROMIUM="+chromium(t),
		"CONSOLE="+serve(ctx, t, p, "--kubeconfig", p.AdminKubeconfig()),
		"ACTIONS_CONSOLE="+serve(ctx, t, p, "--kubeconfig", p.AdminKubeconfig(), "--actions"),
		"MEMBER_CONSOLE="+serve(membersContext, t, p, "--kubeconfig", member, "--namespace", "garden-shop"))
	out, err := steps.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := steps.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := steps.Start(); err != nil {
		t.Fatal(err)
	}
	control(t, out, in, map[string]func() error{
		"stop the API server":            func() error { return p.APIServers[0].Kill(ctx) },
		"start the API server":           func() error { return p.APIServers[0].Restart(ctx) },
		"stop the console of the member": func() error { stopMember(); return nil },
	})
	if err := steps.Wait(); err != nil {
		t.Errorf("the steps of the browser: %v", err)
	}
}

// chromium returns the browser of the machine.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no chromium: install it (Debian: apt-get install chromium)")
	return ""
}

// serve runs a console and returns the URL that it prints.
func serve(ctx context.Context, t *testing.T, p *plane.Plane, flags ...string) string {
	t.Helper()
	c := exec.CommandContext(ctx, filepath.Join(filepath.Dir(p.Kubectl()), "kubectl-groundskeeper"), append([]string{"console"}, flags...)...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // it was interrupted
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the console prints no URL: %v", err)
	}
	return strings.TrimSpace(url)
}

// control does what the browser's steps request, and prints everything else.
func control(t *testing.T, out io.Reader, in io.Writer, requests map[string]func() error) {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		request, ok := strings.CutPrefix(line, "request: ")
		if !ok {
			t.Log(line)
			continue
		}
		do := requests[request]
		if do == nil {
			t.Fatalf("the steps request %q, which is unknown", request)
		}
		if err := do(); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		if _, err := io.WriteString(in, "done\n"); err != nil {
			t.Fatal(err)
		}
	}
}
