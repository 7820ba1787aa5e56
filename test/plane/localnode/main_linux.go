// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Localnode is the node of a plane: a machine of namespaces, with a network, mounts and process ids, in which containerd, kubelet,
// kube-proxy and the pods run. The host sees one process and one end of a network link.
//
// Nothing outlives the process: the kernel ends what runs in the machine with its first process, and takes the mounts,
// the link, the addresses and the rules of the firewall with it. Only empty cgroups stay when it is killed, and the next
// start removes those.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// settings are the flags. The plane gives all of them.
type settings struct {
	disk         string // directory of what the node stores; emptied at the start
	config       string // directory of the configuration files
	kubeconfigs  string // directory of the kubeconfigs
	bin          string // directory of kubelet and kube-proxy
	logs         string // directory of the logs
	name         string // of the Node
	link         string // name of the host's end of the link
	host, node   netip.Prefix
	pods         string // network of the pods
	server       string // host:port of kube-apiserver
	images       string // archives to import, separated by commas
	healthListen string // host:port of /healthz
}

// inside is the first argument of the process that is the first one of the machine.
const inside = "inside"

func main() {
	// The kernel ends the machine when the thread that made it ends.
	runtime.LockOSThread()
	args := os.Args[1:]
	run := outside
	if len(args) > 0 && args[0] == inside {
		run, args = within, args[1:]
	}
	if err := run(parse(args)); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func parse(args []string) settings {
	var s settings
	flags := flag.NewFlagSet("localnode", flag.ExitOnError)
	for name, value := range map[string]*string{
		"disk": &s.disk, "config": &s.config, "kubeconfigs": &s.kubeconfigs, "bin": &s.bin, "logs": &s.logs, "name": &s.name, "link": &s.link,
		"pods": &s.pods, "server": &s.server, "images": &s.images, "health-address": &s.healthListen,
	} {
		flags.StringVar(value, name, "", "")
	}
	flags.TextVar(&s.host, "host-address", netip.Prefix{}, "")
	flags.TextVar(&s.node, "node-address", netip.Prefix{}, "")
	_ = flags.Parse(args) // it ends the process itself
	return s
}

// outside makes the machine and its link, and ends with it.
func outside(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := errors.Join(removeCgroups(s.disk), os.RemoveAll(s.disk), os.MkdirAll(s.disk, 0o700)); err != nil {
		return err
	}
	connected, connect, err := os.Pipe()
	if err != nil {
		return err
	}
	first := exec.Command("/proc/self/exe", append([]string{inside}, os.Args[1:]...)...) //nolint:noctx // the signal ends it below
	first.Stdout, first.Stderr, first.ExtraFiles = os.Stdout, os.Stderr, []*os.File{connected}
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := first.Start(); err != nil {
		return fmt.Errorf("make the machine: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = first.Process.Kill() })()
	err = link(s, first.Process.Pid)
	if err != nil {
		_ = first.Process.Kill()
	}
	_ = errors.Join(connect.Close(), connected.Close()) // the end of the pipe notifies the machine
	if ended := first.Wait(); err == nil && ctx.Err() == nil {
		err = fmt.Errorf("the machine ended: %w", ended)
	}
	return errors.Join(err, unlink(s.link), removeCgroups(s.disk))
}

// link connects the host with the machine. The host's end is deleted when the other one does.
func link(s settings, pid int) error {
	return commands(
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", s.link, pid),
		fmt.Sprintf("ip address add %s dev %s", s.host, s.link),
		fmt.Sprintf("ip link set %s up", s.link),
		// kube-apiserver on the host reaches API servers and webhooks that are pods.
		fmt.Sprintf("ip route add %s via %s", s.pods, s.node.Addr()),
	)
}

// unlink removes the link now: the kernel does so too, but later.
func unlink(name string) error {
	failed := commands("ip link delete " + name)
	links, err := net.Interfaces()
	if slices.ContainsFunc(links, func(link net.Interface) bool { return link.Name == name }) {
		return failed
	}
	return err
}

// commands runs commands one after the other.
func commands(lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil { //nolint:noctx // it takes no time
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
