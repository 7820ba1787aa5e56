// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command groundskeeper-apiserver serves Projects, Klusters, Translations and DiscoveryBackends behind the aggregation
// layer of a kube-apiserver.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"

	"groundskeeper.io/groundskeeper/pkg/apiserver"
	"groundskeeper.io/groundskeeper/pkg/apiserver/commands"
	"groundskeeper.io/groundskeeper/pkg/logging"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// gcPercent is the default of GOGC. Requests leave much of it, and a server with few objects
// would collect it several times a second. The environment variable GOGC takes precedence.
const gcPercent = 150

func main() {
	process.SetGCPercent(gcPercent)
	apiserver.IgnoreGoneClients()
	ctx := genericapiserver.SetupSignalContext()
	options := apiserver.NewOptions()
	command := &cobra.Command{
		Use:          "groundskeeper-apiserver",
		Short:        "Serve Projects, Klusters, Translations and DiscoveryBackends behind a kube-apiserver",
		Version:      version.String(),
		Args:         process.NoArgs,
		SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.HasParent() { // the other commands are for a terminal
				options.LogFormat = logging.Format{}
			}
			options.InstallLog(os.Stderr)
			return options.ServerRun.ComponentGlobalsRegistry.Set()
		},
		RunE: func(*cobra.Command, []string) error {
			options.Complete()
			if err := options.Validate(); err != nil {
				return err
			}
			return apiserver.Run(ctx, options)
		},
	}
	options.AddFlags(command.Flags())
	options.GroupHelp(command)
	command.CompletionOptions.DisableDefaultCmd = true
	command.AddCommand(commands.Export(ctx), commands.Import(ctx), commands.Rewrite(ctx))
	if err := cli.RunNoErrOutput(command); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
