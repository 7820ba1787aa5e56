// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// maxVerbosity is the highest verbosity that means something to one of the libraries.
const maxVerbosity = 10

// serveDebugging serves profiles and the level of the log if the configuration enables it. stop ends it.
func serveDebugging(ctx context.Context, logger logr.Logger, config v1alpha1.DebuggingConfiguration, level *logLevel) (stop func(), err error) {
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
