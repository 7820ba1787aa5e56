// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/plane"
)

// ovn is an OVN without nodes: the servers of both databases, and ovn-northd.
type ovn struct {
	ovnserver.Installation
	// northbound and southbound are the ports of loopback at which the databases are served.
	northbound, southbound int
}

// newOVN returns one that does not run yet, or the reason why it cannot.
func newOVN(dir string) (*ovn, error) {
	o := &ovn{Installation: ovnserver.NewInstallation(dir)}
	if _, err := os.Stat(o.Schema("nb")); err != nil {
		return nil, fmt.Errorf("OVN is not installed: \"make demo OVN=real\" unpacks it: %w", err)
	}
	var err, other error
	o.northbound, err = plane.FreePort()
	o.southbound, other = plane.FreePort()
	return o, errors.Join(err, other)
}

// variables are those with which ovn-nbctl and ovn-trace find the databases and their libraries.
func (o *ovn) variables() []string {
	return append(o.Environment(), "OVN_NB_DB="+database(o.northbound), "OVN_SB_DB="+database(o.southbound))
}

// database returns how clients connect to one.
func database(port int) string { return fmt.Sprintf("tcp:127.0.0.1:%d", port) }

// network starts OVN. It ends with the context of the acts.
func (s *stage) network(ctx context.Context) error {
	dir := s.path("ovn")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, port := range map[string]int{"nb": s.ovn.northbound, "sb": s.ovn.southbound} {
		if err := s.ovnTool(ctx, "ovsdb-tool", "create", filepath.Join(dir, name+".db"), s.ovn.Schema(name)); err != nil {
			return err
		}
		if err := s.serve(ctx, name, "ovsdb-server", filepath.Join(dir, name+".db"), fmt.Sprintf("--remote=ptcp:%d:127.0.0.1", port)); err != nil {
			return err
		}
	}
	served := func(ctx context.Context) error {
		return errors.Join(s.ovnTool(ctx, "ovn-nbctl", "init"), s.ovnTool(ctx, "ovn-sbctl", "init"))
	}
	if err := until(ctx, served); err != nil {
		return err
	}
	if err := s.serve(ctx, "northd", "ovn-northd", "--ovnnb-db="+database(s.ovn.northbound), "--ovnsb-db="+database(s.ovn.southbound)); err != nil {
		return err
	}
	return s.ovnTool(ctx, "ovn-nbctl", "--timeout=60", "--wait=sb", "sync")
}

// serve starts a server, which ends with the context, and with this process.
func (s *stage) serve(ctx context.Context, name, program string, arguments ...string) error {
	files := filepath.Join(s.path("ovn"), name)
	command := s.ovn.Command(ctx, program, append(arguments, "--unixctl="+files+".ctl", "--log-file="+files+".log")...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return err
	}
	s.background.Go(func() { _ = command.Wait() }) // it is killed in the end
	return nil
}

// translate restarts the controller manager with a configuration that has the address of the Northbound database.
func (s *stage) translate(ctx context.Context) error {
	template, err := os.ReadFile(manifest("ovn.yaml"))
	if err != nil {
		return err
	}
	path := s.path("ovn.yaml")
	content := os.Expand(string(template), func(string) string { return database(s.ovn.northbound) })
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return s.management.Managers[0].Restart(ctx, "--config="+path)
}

// addresses does what the kubelets and the CNI plugin do when a Pod runs.
func (s *stage) addresses(ctx context.Context) error {
	for pod, address := range map[string]string{"client": "10.1.0.99", "web-0": "10.1.1.11"} {
		status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}]}}`, address, address)
		if err := s.kubectl(ctx, "patch", "pod", pod, "-n", "default", "--subresource=status", "--type=merge", "-p", status); err != nil {
			return err
		}
	}
	return nil
}

// ovnTool runs a program that ends.
func (s *stage) ovnTool(ctx context.Context, program string, arguments ...string) error {
	command := s.ovn.Command(ctx, program, arguments...)
	command.Env = append(command.Env, s.ovn.variables()...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return nil
}
