// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes of a command. A process that succeeds returns 0.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

var errUsage = errors.New("bad usage")

// UsageError marks an error of flags or arguments, for which a command exits with ExitUsage. It returns nil for nil.
func UsageError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

// NoArgs rejects arguments of a command, as a usage error.
func NoArgs(cmd *cobra.Command, args []string) error { return UsageError(cobra.NoArgs(cmd, args)) }

// Execute executes a command with its arguments, writes its error to problems, and returns the exit code.
func Execute(ctx context.Context, cmd *cobra.Command, args []string, out, problems io.Writer) int {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError(err) })
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(problems)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(problems, "error: %v\nSee %s --help.\n", err, cmd.Name())
		return ExitUsage
	default:
		fmt.Fprintln(problems, "error:", err)
		return ExitFailed
	}
}
