// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// groundskeeper-discoverer copies the services of a backend cluster into this one, so that routes here can send traffic
// there. There is one for each DiscoveryBackend.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// name is the name of the binary.
const name = "groundskeeper-discoverer"

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// gcPercent is how much garbage there may be beside what is in use. There is a discoverer for each backend and most of
// them have little to do: memory matters more than CPU time here. The environment variable GOGC takes precedence.
const gcPercent = 25

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(execute(signals.SetupSignalHandler(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr, run))
}

// errUsage is in the chain of errors that are about the flags.
var errUsage = errors.New("bad usage")

// execute reads the command line, runs, and returns the exit code.
func execute(ctx context.Context, args []string, getenv func(string) string, out, problems io.Writer, run func(context.Context, *options) error) int {
	root := &cobra.Command{
		Use:           name,
		Short:         "Copy the services of a backend cluster into this one",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%w: specify the type of the backend: %s kubernetes, or %s openstack", errUsage, name, name)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newMode(gimbalv1.BackendKubernetes, "Copy the Services and EndpointSlices of another Kubernetes cluster", "", getenv, run),
		newMode(gimbalv1.BackendOpenStack, "Copy the load balancers of an OpenStack cloud", credentialsHelp, getenv, run),
	)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(problems)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(problems, "error: %v\nSee %s --help.\n", err, name)
		return exitUsage
	default:
		fmt.Fprintln(problems, "error:", err)
		return exitFailed
	}
}

// newMode is the command for backends of one type.
func newMode(mode gimbalv1.BackendType, short, long string, getenv func(string) string, run func(context.Context, *options) error) *cobra.Command {
	o := newOptions(mode, getenv)
	cmd := &cobra.Command{
		Use:     string(mode),
		Short:   short,
		Long:    long,
		Version: version.String(),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return run(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return nil
}
