// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// startOf returns when the process started, in clock ticks since the boot that it names, and whether it
// runs: one that waits to be reaped does not.
func startOf(pid int) (started string, running bool, err error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false, err
	}
	ticks, running, err := parseStat(stat)
	if err != nil {
		return "", false, fmt.Errorf("process %d: %w", pid, err)
	}
	return string(bytes.TrimSpace(boot)) + "/" + ticks, running, nil
}

// parseStat reads the state (field 3), the number of threads (20) and the start time (22) of /proc/PID/stat, see proc(5). Field 2
// is the name in parentheses, which may itself contain spaces and parentheses. A killed process of which only the first thread has
// been deleted still holds its files and ports: it runs until the last thread has been deleted.
func parseStat(stat []byte) (ticks string, running bool, err error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", false, fmt.Errorf("unexpected content of its stat file: %q", stat)
	}
	state, threads := string(fields[0]), string(fields[17])
	exited := threads == "0" || threads == "1"
	running = state != "X" && (state != "Z" || !exited)
	return string(fields[19]), running, nil
}

// attributes detaches a process from the terminal and from Groundskeeper, or ties its life to Groundskeeper's.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
