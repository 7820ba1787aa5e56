// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// groundskeeper-local-volume-node-cleanup deletes local volumes, and their claims, whose node no longer exists. It has the
// flags, metrics and exit codes of sig-storage-local-static-provisioner's node-cleanup controller and takes its place.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// name is the name of the binary, of its lease and of its service account.
const name = "groundskeeper-local-volume-node-cleanup"

func main() {
	os.Exit(execute(signals.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr, run))
}

// execute reads the flags, runs, and returns the exit code.
func execute(ctx context.Context, args []string, out, problems io.Writer, run func(context.Context, *options) error) int {
	o := newOptions()
	cmd := &cobra.Command{
		Use:     name,
		Short:   "Delete local volumes, and their claims, of lost nodes",
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
	return process.Execute(ctx, cmd, args, out, problems)
}
