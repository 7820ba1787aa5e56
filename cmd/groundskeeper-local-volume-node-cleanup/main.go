// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// groundskeeper-local-volume-node-cleanup deletes local volumes, and their claims, whose node no longer exists. It has the
// flags, metrics and exit codes of sig-storage-local-static-provisioner's node-cleanup controller and takes its place.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"groundskeeper.io/groundskeeper/pkg/version"
)

// name is the name of the binary, of its lease and of its service account.
const name = "groundskeeper-local-volume-node-cleanup"

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(execute(signals.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr, run))
}

// errUsage is in the chain of errors that are about the flags.
var errUsage = errors.New("bad usage")

// execute reads the flags, runs, and returns the exit code.
func execute(ctx context.Context, args []string, out, problems io.Writer, run func(context.Context, *options) error) int {
	o := newOptions()
	cmd := &cobra.Command{
		Use:           name,
		Short:         "Delete local volumes, and their claims, of lost nodes",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	o.addFlags(cmd.Flags())
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(problems)
	err := cmd.ExecuteContext(ctx)
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
