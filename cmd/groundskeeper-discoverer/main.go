// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// groundskeeper-discoverer copies the services of a backend cluster into this one, so that routes here can send traffic
// there. There is one for each DiscoveryBackend.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// name is the name of the binary.
const name = "groundskeeper-discoverer"

// gcPercent is the default of GOGC. There is a discoverer for each backend and most of
// them have little to do: memory matters more than CPU time here. The environment variable GOGC takes precedence.
const gcPercent = 25

func main() {
	process.SetGCPercent(gcPercent)
	os.Exit(execute(signals.SetupSignalHandler(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr, run))
}

// execute reads the command line, runs, and returns the exit code.
func execute(ctx context.Context, args []string, getenv func(string) string, out, problems io.Writer, run func(context.Context, *options) error) int {
	root := &cobra.Command{
		Use:     name,
		Short:   "Copy the services of a backend cluster into this one",
		Version: version.String(),
		Args:    process.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return process.UsageError(fmt.Errorf("specify the type of the backend: %s kubernetes, or %s openstack", name, name))
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newMode(gimbalv1.BackendKubernetes, "Copy the Services and EndpointSlices of another Kubernetes cluster", "", getenv, run),
		newMode(gimbalv1.BackendOpenStack, "Copy the load balancers of an OpenStack cloud", credentialsHelp, getenv, run),
	)
	return process.Execute(ctx, root, args, out, problems)
}

// newMode returns the command for backends of one type.
func newMode(mode gimbalv1.BackendType, short, long string, getenv func(string) string, run func(context.Context, *options) error) *cobra.Command {
	o := newOptions(mode, getenv)
	cmd := &cobra.Command{
		Use:     string(mode),
		Short:   short,
		Long:    long,
		Version: version.String(),
		Args:    process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return process.UsageError(err)
			}
			return run(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}
