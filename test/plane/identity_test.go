// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestIdentityIsNotThePID(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	started, running, err := startOf(cmd.Process.Pid)
	if err != nil || !running {
		t.Fatalf("startOf: running %v, %v", running, err)
	}
	self := identity{PID: cmd.Process.Pid, Started: started}
	for name, other := range map[string]identity{
		"another start time": {PID: self.PID, Started: started + "0"},
		"no start time":      {PID: self.PID},
		"no process":         {},
	} {
		if other.alive() {
			t.Errorf("%s: alive", name)
		}
		if err := other.signal(syscall.SIGKILL); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !self.alive() {
		t.Fatal("a signal for another process reached it")
	}
	if err := self.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended automatically")
	}
	if self.alive() {
		t.Error("alive after its end")
	}
	if err := self.signal(syscall.SIGKILL); err != nil {
		t.Errorf("signal after its end: %v", err)
	}
}

func TestStartTimeOfUnknownProcess(t *testing.T) {
	if _, _, err := startOf(1 << 30); err == nil {
		t.Error("a pid that no system gives has a start time")
	}
	if started, running, err := startOf(os.Getpid()); err != nil || !running || started == "" {
		t.Errorf("startOf(self) = %q, %v, %v", started, running, err)
	}
}
