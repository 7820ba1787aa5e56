// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Localplane runs the local control plane of "make up", "make down", "make status" and "make clean-up":
// a short main over test/plane.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"groundskeeper.io/groundskeeper/test/plane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand(os.Stdout).ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
		return
	case interrupted:
		fmt.Fprintln(os.Stderr, "error: interrupted; components that are ready keep running, and the next start continues from there")
	default:
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
	}
	os.Exit(1)
}

// newCommand returns the command line; out receives the output of the commands.
func newCommand(out io.Writer) *cobra.Command {
	var dir string
	root := &cobra.Command{
		Use:           "localplane",
		Short:         "Run a local control plane with Groundskeeper in it",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return errors.New("--dir must name a directory")
			}
			absolute, err := filepath.Abs(dir)
			dir = absolute
			return err
		},
	}
	root.PersistentFlags().StringVar(&dir, "dir", "_output/localplane", "directory of the control plane: state, data and logs")

	var o upOptions
	up := &cobra.Command{
		Use:   "up",
		Short: "Start what does not run and wait until all is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return locked(dir, func() error { return up(cmd.Context(), out, dir, o) })
		},
	}
	up.Flags().StringVar(&o.binDir, "bin", "_output/bin", "directory of the binaries")
	up.Flags().StringVar(&o.artifacts, "artifacts", "artifacts", "directory of the manifests")
	up.Flags().StringVar(&o.config, "config", "", "configuration file of the controller manager; empty: all defaults")
	up.Flags().StringVar(&o.apiserverFlags, "apiserver-flags", "", "further flags of the API server, separated by spaces")
	up.Flags().StringVar(&o.managerFlags, "manager-flags", "", "further flags of the controller manager, separated by spaces")
	up.Flags().StringVar(&o.midonet, "midonet", "", "backend of Translations to start: fake, or empty for none")
	up.Flags().StringVar(&o.ovn, "ovn", "", "backend of Translations to start: real, or empty for none")
	up.Flags().StringVar(&o.images, "node", "", "directory of images for a node that runs pods and discoverers; empty: no node")

	down := &cobra.Command{
		Use:   "down",
		Short: "Stop all processes and keep the data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return locked(dir, func() error { return stop(cmd.Context(), out, dir, plane.Stop) })
		},
	}
	cleanUp := &cobra.Command{
		Use:   "clean-up",
		Short: "Stop all processes and delete the data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, missing := os.Stat(dir)
			err := locked(dir, func() error { return stop(cmd.Context(), out, dir, plane.Remove) })
			if err == nil && missing == nil {
				fmt.Fprintf(out, "Deleted the data in %s.\n", dir)
			}
			return err
		},
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "Show the processes",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), out, dir) },
	}
	root.AddCommand(up, down, cleanUp, status)
	return root
}

// stop ends the processes of the directory with the action, and prints a message if there were none.
func stop(ctx context.Context, out io.Writer, dir string, action func(context.Context, string, func(string)) error) error {
	stopped := 0
	err := action(ctx, dir, func(line string) {
		stopped++
		fmt.Fprintln(out, line)
	})
	if err == nil && stopped == 0 {
		fmt.Fprintf(out, "Nothing ran in %s.\n", dir)
	}
	return err
}

// locked runs the action as the only one on the directory.
func locked(dir string, action func() error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	release, err := plane.Lock(dir)
	if err != nil {
		return err
	}
	defer release()
	return action()
}
