// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// maxVerbosity is the highest verbosity that means something to one of the libraries.
const maxVerbosity = 10

// serveDebugging serves profiles and the level of the log if the configuration enables it. stop ends it.
func serveDebugging(
	ctx context.Context, logger logr.Logger, config v1alpha1.DebuggingConfiguration, level *logLevel,
) (stop func(), err error) {
	if !*config.Enabled {
		return func() {}, nil
	}
	listener, err := listen(ctx, config.AddressConfiguration)
	if err != nil {
		return nil, fmt.Errorf("server.debugging: %w", err)
	}
	logger.Info("Serving profiles and the log level", "debugging", listener.Addr().String())
	// A profile takes as long as its reader requests.
	server := &http.Server{Handler: debuggingHandler(logger, level), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Failed to serve profiles", "address", listener.Addr().String())
		}
	}()
	return func() { _ = server.Close(); <-ended }, nil
}

func debuggingHandler(logger logr.Logger, level *logLevel) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // and the profiles by their names
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	// As the API servers have it.
	mux.HandleFunc("PUT /debug/flags/v", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		verbosity, err := strconv.ParseUint(strings.TrimSpace(string(body)), 10, 8)
		if err != nil || verbosity > maxVerbosity {
			http.Error(w, fmt.Sprintf("%q is not a verbosity: set a number from 0 to %d", body, maxVerbosity), http.StatusBadRequest)
			return
		}
		level.set(logging.Verbosity(int(verbosity)))
		logger.Info("Set the verbosity of the log", "v", verbosity)
		_, _ = fmt.Fprintf(w, "successfully set klog.logging.verbosity to %d", verbosity)
	})
	return mux
}

// logLevel is the level of a log, which may change while the process runs.
type logLevel struct{ slog.LevelVar }

// set shows lines from a level on, those of klog, which has a dedicated level, too.
func (l *logLevel) set(level slog.Level) {
	l.Set(level)
	var verbosity klog.Level
	// Set fails only for what is not a number.
	_ = verbosity.Set(strconv.Itoa(max(0, -int(level))))
}

// installLogger makes one logger that the controllers, controller-runtime and client-go share. The last two
// keep theirs in global variables, so this is called once per process, before anything else runs.
func installLogger(out io.Writer, config v1alpha1.LogConfiguration, verbosity int) (logr.Logger, *logLevel) {
	level := &logLevel{}
	level.set(threshold(config.Level, verbosity))
	logger := logging.New(out, string(config.Format), level)
	logging.Install(logger)
	klog.SetLoggerWithOptions(logger.WithName("client-go"), klog.ContextualLogger(true))
	ctrl.SetLogger(logger)
	return logger, level
}

// threshold returns the lowest level that is logged. Debug is level -4 of slog, where the libraries begin to explain
// themselves.
func threshold(level v1alpha1.LogLevel, verbosity int) slog.Level {
	lowest := map[v1alpha1.LogLevel]slog.Level{
		v1alpha1.LogLevelDebug: slog.LevelDebug,
		v1alpha1.LogLevelInfo:  slog.LevelInfo,
		v1alpha1.LogLevelError: slog.LevelError,
	}[level]
	if verbosity > 0 {
		lowest = min(lowest, logging.Verbosity(verbosity))
	}
	return lowest
}
