// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// fake-openstack serves the fake of OpenStack on loopback, for manual use: a project with a network, a router and servers. GET /_fake/
// shows what it holds.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags.
type settings struct {
	address, user, passwordFile, project string
	network, external                    string
	servers                              []string
	options                              openstack.Options
}

// execute reads the flags, serves until the context ends, and returns the exit code.
func execute(ctx context.Context, args []string, out, problems io.Writer) int {
	var s settings
	cmd := &cobra.Command{
		Use:           "fake-openstack",
		Short:         "A fake of Keystone, Neutron, Nova, Cinder and Octavia, as strict as the real ones",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return s.serve(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&s.address, "address", "127.0.0.1:5000", "loopback address and port to listen on; port 0 takes a free one")
	flags.StringVar(&s.user, "user", "demo", "user that may log in, of the domain Default")
	flags.StringVar(&s.passwordFile, "password-file", "", "file with the password of the user")
	flags.StringVar(&s.project, "project", "demo", "name and id of the project of the user")
	flags.StringVar(&s.network, "network", "10.0.0.0/24", "subnet of the project's network, which its router is on")
	flags.StringVar(&s.external, "external-network", "203.0.113.0/24", "subnet of the network that floating IPs are from")
	flags.StringSliceVar(&s.servers, "servers", nil, "addresses of servers of the project, for instance 10.0.0.5,10.0.0.6")
	flags.DurationVar(&s.options.Delay, "delay", 0, "how long Cinder and Octavia take for what they do behind a response")
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(problems)
	if err := cmd.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(problems, "error:", err)
		return 1
	}
	return 0
}

// serve makes the content, listens and prints where, until the context ends.
func (s *settings) serve(ctx context.Context, out io.Writer) error {
	// Its pages need no password, so that it must not be reachable from outside.
	if a, err := netip.ParseAddrPort(s.address); err != nil || !a.Addr().IsLoopback() {
		return fmt.Errorf("--address: %q is not a loopback address with a port, like 127.0.0.1:5000", s.address)
	}
	password, err := os.ReadFile(s.passwordFile)
	if err != nil {
		return fmt.Errorf("--password-file: %w", err)
	}
	inside, err := netip.ParsePrefix(s.network)
	if err != nil {
		return fmt.Errorf("--network: %w", err)
	}
	if _, err := netip.ParsePrefix(s.external); err != nil {
		return fmt.Errorf("--external-network: %w", err)
	}
	for _, server := range s.servers {
		if a, err := netip.ParseAddr(server); err != nil || !inside.Contains(a) {
			return fmt.Errorf("--servers: %q is not an address of %s", server, inside)
		}
	}
	if s.options.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.address); err != nil {
		return err
	}
	fake := openstack.New(s.options)
	defer fake.Close()
	fake.AddUser(s.user, strings.TrimSpace(string(password)), s.project)
	network := fake.AddNetwork(s.network)
	fake.AddExternalNetwork(s.external)
	fake.AddRouter(s.project, network)
	for _, server := range s.servers {
		fake.AddServer(s.project, network, server, "ACTIVE")
	}
	_, err = fmt.Fprintf(out, "Keystone: %s\nContent:  http://%s%s\n", fake.AuthURL(), s.options.Listener.Addr(), openstack.PagesRoot)
	if err == nil {
		<-ctx.Done()
	}
	return err
}
