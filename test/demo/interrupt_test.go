// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	root = "../.."
	// files are those of a demonstration.
	files = root + "/_output/demo"
	// mark is a variable of the environment of the demonstration, and of all processes that it starts.
	mark = "DEMONSTRATION"
)

// TestInterrupt presses Ctrl-C when the demonstration has shown a line, and checks that no process and no file is left.
func TestInterrupt(t *testing.T) {
	for name, moment := range map[string]string{
		"the first process of a plane has started": "started, ready on",
		"OpenStack has started":                    "fake-openstack",
		"the first command runs":                   "$ kubectl create -f hack/demo/manifests/project.yaml",
		"an act waits for discoverers":             "Waiting until both Services are copied",
		"all acts were shown":                      "Everything keeps running until Ctrl-C",
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, moment)
			if running := strings.Join(d.left(t), "\n"); !strings.Contains(running, "/etcd ") {
				t.Errorf("processes before the interruption = %q, want those of a plane", running)
			}
			if err := syscall.Kill(-d.Process.Pid, syscall.SIGINT); err != nil { // as a terminal does
				t.Fatal(err)
			}
			finished := name == "all acts were shown"
			if err := d.Wait(); (err == nil) != finished {
				t.Errorf("exit = %v", err)
			}
			if left := d.left(t); len(left) > 0 {
				t.Errorf("processes are left: %q", left)
			}
			if _, err := os.Stat(files); !os.IsNotExist(err) {
				t.Errorf("files are left in %s: %v", files, err)
			}
		})
	}
}

// TestInterruptTwice presses Ctrl-C until the demonstration has ended, without the time that it takes to stop its processes.
func TestInterruptTwice(t *testing.T) {
	d := start(t, "$ kubectl create -f hack/demo/manifests/project.yaml")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = d.Wait() // it is killed, or reports the interruption
	}()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for running := true; running; {
		_ = d.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			running = false
		case <-again.C:
		}
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return len(d.left(t)) == 0, nil // the kernel kills them
	})
	if err != nil {
		t.Errorf("processes are left: %q", d.left(t))
	}
}

// demonstration is one that runs.
type demonstration struct {
	*exec.Cmd
	mark string
}

// start starts a demonstration, and returns when it has shown a text.
func start(t *testing.T, text string) demonstration {
	t.Helper()
	d := demonstration{exec.Command(filepath.Join(root, "_output/bin/demo"), "--auto"), mark + "=" + rand.Text()}
	path, err := filepath.Abs(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	d.Path, d.Dir, d.Env = path, root, append(os.Environ(), d.mark)
	d.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, shown, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d.Stdout, d.Stderr = shown, shown
	if err := d.Start(); err != nil {
		t.Fatalf("%v: make build-demo kubernetes", err)
	}
	t.Cleanup(func() { _ = d.Process.Kill() })
	_ = shown.Close()
	var all bytes.Buffer
	for lines := bufio.NewScanner(output); lines.Scan(); {
		_, _ = fmt.Fprintln(&all, lines.Text())
		if strings.Contains(lines.Text(), text) {
			go func() {
				_, _ = io.Copy(io.Discard, output)
				_ = output.Close()
			}()
			return d
		}
	}
	t.Fatalf("the demonstration ended before it has shown %q:\n%s", text, &all)
	return d
}

// left returns the commands of the processes that the demonstration started and that run.
func (d demonstration) left(t *testing.T) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, file := range environments {
		environment, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environment, []byte(d.mark)) {
			continue // it has ended, or is another user's
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		left = append(left, strings.ReplaceAll(string(command), "\x00", " "))
	}
	return left
}
