// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

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
