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

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/plugin"
)

func main() {
	log.SetLogger(logr.Discard()) // without a logger the library prints a stack
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
