// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// kubectl-groundskeeper is a plugin of kubectl: "kubectl groundskeeper" runs it when it is on the PATH.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"groundskeeper.io/groundskeeper/pkg/plugin"
)

func main() {
	os.Exit(run())
}

// run returns the exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, text := plugin.ExitCode(ctx, plugin.New(os.Stdin, os.Stdout).ExecuteContext(ctx))
	if text != "" {
		fmt.Fprintln(os.Stderr, "error:", text)
	}
	return code
}
