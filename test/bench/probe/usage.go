// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package probe reads the resource usage of the processes of a benchmark, and their metrics.
package probe

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTicks is the unit of CPU times in /proc/<pid>/stat, 100 a second on every Linux.
const clockTicks = 100

// Usage is what a process has used so far: CPU time of user and system, and MiB of memory that is, and was at most, resident.
type Usage struct {
	CPU       time.Duration
	RSS, Peak float64
}

// UsageOf reads /proc (proc(5)).
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	// The name of the command, in parentheses, may contain spaces: fields are counted behind it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: time.Duration(user+system) * time.Second / clockTicks}
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	defer func() { _ = status.Close() }()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			u.RSS = kib / 1024
		case "VmHWM":
			u.Peak = kib / 1024
		}
	}
	return u, nil
}
