// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// listen opens the port right away, so that a port that is taken ends the process before anything happens.
func listen(ctx context.Context, address v1alpha1.AddressConfiguration) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address.BindAddress, strconv.Itoa(int(*address.Port))))
}

// pages are what is served besides health and metrics, by their paths.
type pages map[string]http.Handler

// serveHealth serves /healthz and /livez (the process lives), /readyz, /metrics and more pages over plain HTTP, on every
// replica and from the first moment. The returned function ends it.
func serveHealth(logger logr.Logger, listener net.Listener, ready *readiness, metrics prometheus.Gatherer, more pages) (stop func()) {
	server := &http.Server{Handler: healthHandler(ready, metrics, more), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second}
	var group sync.WaitGroup
	group.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Failed to serve health and metrics", "address", listener.Addr().String())
		}
	})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // whoever still reads is cut off
		}
		group.Wait()
	}
}

func healthHandler(ready *readiness, metrics prometheus.Gatherer, more pages) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	lives := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }
	mux.HandleFunc("GET /healthz", lives)
	mux.HandleFunc("GET /livez", lives)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := ready.check()
		report := "ok"
		if r.URL.Query().Has("verbose") {
			report = ready.report()
		} else if err != nil {
			report = err.Error() + "\n"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(report))
	})
	for path, handler := range more {
		mux.Handle("GET "+path, handler)
	}
	return mux
}
