// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plane

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// startOf returns when the process started, to the second, and whether it runs: one that waits to be
// reaped does not.
func startOf(pid int) (started string, running bool, err error) {
	out, err := exec.Command("ps", "-o", "state=", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", false, fmt.Errorf("process %d does not exist: %w", pid, err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strings.TrimSpace(started), !strings.HasPrefix(state, "Z"), nil
}

// attributes detaches a process from the terminal and from Groundskeeper. Only Linux can tie a child's life to its parent's;
// elsewhere a killed test leaves its processes behind.
func attributes(detached bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: detached}
}
