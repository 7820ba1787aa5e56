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

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/run"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// gcPercent is the default of GOGC. There is a discoverer for each backend and most of
// them have little to do: memory matters more than CPU time here. The environment variable GOGC takes precedence.
const gcPercent = 25

func main() {
	process.SetGCPercent(gcPercent)
	os.Exit(execute(signals.SetupSignalHandler(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr, discover))
}

func discover(ctx context.Context, o *options) error {
	return run.Run(logr.NewContext(ctx, o.logger()), &o.Options)
}

// credentialsHelp describes the sources of the credentials.
const credentialsHelp = `Copy the load balancers of an OpenStack cloud: what Octavia has in the projects of a user.

The credentials are in the environment: OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME (or OS_TENANT_NAME) or
OS_PROJECT_ID, OS_USER_DOMAIN_NAME or OS_USER_DOMAIN_ID, OS_PROJECT_DOMAIN_NAME or OS_PROJECT_DOMAIN_ID (both "Default"
when they are not set), OS_REGION_NAME, OS_INTERFACE. OS_APPLICATION_CREDENTIAL_ID and OS_APPLICATION_CREDENTIAL_SECRET
take the place of user, password and project. Instead of all of them OS_CLIENT_CONFIG_FILE names a clouds.yaml, and
OS_CLOUD one of several clouds in it.`

// execute reads the command line, runs, and returns the exit code.
func execute(
	ctx context.Context, args []string, getenv func(string) string, out, problems io.Writer, do func(context.Context, *options) error,
) int {
	root := &cobra.Command{
		Use:     run.Name,
		Short:   "Copy the services of a backend cluster into this one",
		Version: version.String(),
		Args:    process.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return process.UsageError(fmt.Errorf("specify the type of the backend: %s kubernetes, or %s openstack", run.Name, run.Name))
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newMode(gimbalv1.BackendKubernetes, "Copy the Services and EndpointSlices of another Kubernetes cluster", "", getenv, do),
		newMode(gimbalv1.BackendOpenStack, "Copy the load balancers of an OpenStack cloud", credentialsHelp, getenv, do),
	)
	return process.Execute(ctx, root, args, out, problems)
}

// newMode returns the command for backends of one type.
func newMode(
	mode gimbalv1.BackendType, short, long string, getenv func(string) string, do func(context.Context, *options) error,
) *cobra.Command {
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
			return do(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}
