// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// fake-midonet serves the fake of MidoNet on loopback, for manual use. GET /_fake/ shows what it holds.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"groundskeeper.io/groundskeeper/test/fakes/midonet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute reads the flags, serves until the context ends, and returns the exit code.
func execute(ctx context.Context, args []string, out, problems io.Writer) int {
	var (
		address string
		file    string
		hosts   []string
		options midonet.Options
		latency time.Duration
	)
	cmd := &cobra.Command{
		Use:           "fake-midonet",
		Short:         "A fake of MidoNet's REST API, as strict as the real one",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				password, err := os.ReadFile(file)
				if err != nil {
					return fmt.Errorf("--password-file: %w", err)
				}
				options.Password = strings.TrimSpace(string(password))
			}
			fake := midonet.New(options)
			for _, host := range hosts {
				fake.AddHost(host)
			}
			if latency != 0 {
				if err := fake.Inject(midonet.Fault{Latency: latency}); err != nil {
					return err
				}
			}
			return serve(cmd.Context(), address, fake, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "address", "127.0.0.1:8181", "loopback address and port to listen on; port 0 takes a free one")
	flags.StringSliceVar(&hosts, "hosts", nil, "names of hosts that have the agent, for instance node-a,node-b")
	flags.StringVar(&options.Username, "username", "", "user that may log in; without it no request needs a token")
	flags.StringVar(&options.Password, "password", "", "password of the user")
	flags.StringVar(&file, "password-file", "", "file with the password of the user, instead of --password")
	flags.StringVar(&options.Project, "project", "", "tenant that a login must name; empty: any")
	flags.DurationVar(&options.TokenLifetime, "token-lifetime", time.Hour, "how long a token is good for")
	flags.DurationVar(&latency, "latency", 0, "pause before each response")
	cmd.MarkFlagsMutuallyExclusive("password", "password-file")
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(problems)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(problems, "error:", err)
		return 1
	}
	return 0
}

// serve listens and prints where, until the context ends.
func serve(ctx context.Context, address string, fake http.Handler, out io.Writer) error {
	// It responds to every client, so that it must not be reachable from outside.
	if a, err := netip.ParseAddrPort(address); err != nil || !a.Addr().IsLoopback() {
		return fmt.Errorf("--address: %q is not a loopback address with a port, like 127.0.0.1:8181", address)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "API:     http://%s%s\nContent: http://%s/_fake/\n", listener.Addr(), midonet.Root, listener.Addr())
	server := &http.Server{Handler: fake, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
