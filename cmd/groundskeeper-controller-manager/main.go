// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// groundskeeper-controller-manager runs the controllers of Groundskeeper.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"groundskeeper.io/groundskeeper/pkg/manager"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// gcPercent is the default of GOGC. All Translations are in memory, up to 100,000, and most
// of the time little happens to them: memory matters more than CPU time. The environment variable GOGC takes precedence.
const gcPercent = 25

func main() {
	process.SetGCPercent(gcPercent)
	ctx := signals.SetupSignalHandler()
	o := manager.NewOptions()
	cmd := &cobra.Command{
		Use:           manager.Name,
		Short:         "Run the controllers of Groundskeeper",
		Version:       version.String(),
		Args:          process.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			if err := o.Complete(); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return o.Run(ctx)
		},
	}
	o.AddFlags(cmd.Flags())
	if err := cmd.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
