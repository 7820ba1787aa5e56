// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	// patience is how long containerd may take until it listens.
	patience = 30 * time.Second
	// pollInterval is the interval of the checks whether a server is ready.
	pollInterval = 50 * time.Millisecond
)

// within is the first process of the machine. It ends when one of those that it starts does.
func within(s settings) error {
	// The pipe ends when the link is there.
	if _, err := io.Copy(io.Discard, os.NewFile(3, "connected")); err != nil {
		return err
	}
	if err := furnish(s); err != nil {
		return err
	}
	health, err := serveHealth(s.healthListen)
	if err != nil {
		return err
	}
	children := map[int]string{}
	start := func(name, path string, args ...string) error {
		pid, err := spawn(filepath.Join(s.logs, name+".log"), path, args)
		children[pid] = name
		return err
	}
	if err := start("containerd", "containerd", "--config="+filepath.Join(s.config, "containerd.toml")); err != nil {
		return err
	}
	if err := await("unix", containerdSocket, time.Now().Add(patience)); err != nil {
		return fmt.Errorf("containerd does not listen, see its log: %w", err)
	}
	for _, image := range strings.Split(s.images, ",") {
		if err := commands("ctr --namespace k8s.io images import " + image); err != nil {
			return err
		}
	}
	health.imported()
	// A kubelet that does not reach its server waits ever longer between two attempts.
	if err := await("tcp", s.server, time.Time{}); err != nil {
		return err
	}
	if err := start("kubelet", filepath.Join(s.bin, "kubelet"), kubeletFlags(s)...); err != nil {
		return err
	}
	if err := start("kube-proxy", filepath.Join(s.bin, "kube-proxy"), proxyFlags(s)...); err != nil {
		return err
	}
	health.started()
	return reap(children)
}

// furnish gives the machine its network and the directories that the programs expect, none of which is the host's.
func furnish(s settings) error {
	const private = syscall.MS_REC | syscall.MS_PRIVATE
	if err := syscall.Mount("", "/", "", private, ""); err != nil {
		return fmt.Errorf("take the mounts apart from the host's: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, path := range []string{"/var/lib", "/var/log"} {
		directory := filepath.Join(s.disk, path)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(directory, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	if err := syscall.Sethostname([]byte(s.name)); err != nil {
		return err
	}
	if err := commands("ip link set lo up", "ip link set eth0 up", "ip address add "+s.node.String()+" dev eth0",
		"ip route add default via "+s.host.Addr().String()); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}

// spawn starts a program whose end reap waits for.
func spawn(logFile, name string, args []string) (pid int, err error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return 0, err
	}
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close() //nolint:errcheck // the program has its own handle
	process, err := os.StartProcess(path, append([]string{name}, args...), &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, log, log}})
	if err != nil {
		return 0, err
	}
	return process.Pid, nil
}

// reap waits for the end of one of Groundskeeper's children. Those of processes that have been deleted become Groundskeeper's, and
// are nothing to Groundskeeper.
func reap(children map[int]string) error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case children[pid] != "":
			return fmt.Errorf("%s ended (exit code %d, signal %d), see its log", children[pid], status.ExitStatus(), status.Signal())
		}
	}
}

// await waits until a process listens there, indefinitely without a deadline.
func await(network, address string, deadline time.Time) error {
	for {
		connection, err := (&net.Dialer{Timeout: time.Second}).Dial(network, address)
		if err == nil {
			return connection.Close()
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			return err
		}
		time.Sleep(pollInterval)
	}
}
