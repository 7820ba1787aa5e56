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
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return plugin.New(os.Stdin, os.Stdout).ExecuteContext(ctx)
}
