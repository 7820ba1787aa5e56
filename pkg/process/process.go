// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package process contains what the commands of Groundskeeper share: how they are executed, how they connect to the cluster that they
// work for, and how they serve health and metrics.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// SetGCPercent sets how much garbage the process may have in proportion to its live heap. The environment variable GOGC takes
// precedence.
func SetGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// RESTConfig returns the configuration of a kubeconfig or, if its path is empty, of the service account of the pod. The options that
// set the path are named by errors.
func RESTConfig(path, options string) (*rest.Config, error) {
	if path == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no kubeconfig is set (%s) and this is not a pod: %w", options, err)
		}
		return config, nil
	}
	raw, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}).Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s (%s): %w", path, options, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("kubeconfig %s (%s): it has no cluster", path, options)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s (%s): %w", path, options, err)
	}
	return config, nil
}

// Exit codes of a command. A process that succeeds returns 0.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

// usageError is an error of flags or arguments.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// UsageError marks an error of flags or arguments, for which a command exits with ExitUsage. It returns nil for nil.
func UsageError(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// NoArgs rejects arguments of a command, as a usage error. A word may be a command that was misspelled.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s has no arguments, remove %q", cmd.CommandPath(), strings.Join(args, " "))
	if names := commandsOf(cmd); len(names) > 0 {
		text = fmt.Sprintf("%q is no command of %s, which has %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
	return UsageError(errors.New(text))
}

// commandsOf returns the names of the commands that a command has.
func commandsOf(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// OneFile accepts one argument, a file. Without optional, it is required.
func OneFile(optional bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		switch {
		case len(args) > 1:
			return UsageError(fmt.Errorf("%q are several files, name one: %s", strings.Join(args, " "), usage))
		case len(args) == 0 && !optional:
			return UsageError(fmt.Errorf("name a file: %s", usage))
		}
		return nil
	}
}

// Execute executes a command with its arguments, writes its error to problems, and returns the exit code.
func Execute(ctx context.Context, cmd *cobra.Command, args []string, out, problems io.Writer) int {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError(err) })
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(problems)
	err := cmd.ExecuteContext(ctx)
	_, usage := errors.AsType[usageError](err)
	switch {
	case err == nil:
		return 0
	case usage:
		fmt.Fprintf(problems, "error: %v\nSee %s --help.\n", err, cmd.Name())
		return ExitUsage
	default:
		fmt.Fprintln(problems, "error:", err)
		return ExitFailed
	}
}

// shutdownTimeout is how long pending requests may take when the server stops.
const shutdownTimeout = 5 * time.Second

// Mux serves the metrics of a registry, /healthz (the process is running), and /readyz.
func Mux(metricsPath string, metrics prometheus.Gatherer, readyz http.HandlerFunc) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	mux.HandleFunc("GET /healthz", Alive)
	mux.HandleFunc("GET /readyz", readyz)
	return mux
}

// Alive responds that the process is running.
func Alive(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }

// Readyz responds with the error of a check, if there is one.
func Readyz(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
	}
}

// Serve serves health and metrics over plain HTTP. The returned function stops it.
func Serve(logger logr.Logger, listener net.Listener, handler http.Handler) (stop func()) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Failed to serve health and metrics", "address", listener.Addr().String())
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close()
		}
		<-ended
	}
}
