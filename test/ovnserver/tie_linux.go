// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"os/exec"
	"syscall"
	"testing"
)

// tie has the kernel end a program with this process, if it is started outside of a test: its goroutine keeps the thread that starts it.
func tie(t testing.TB, command *exec.Cmd) {
	if _, ok := t.(*outside); ok {
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
}
