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

// serveHealth serves /healthz (the process lives), /readyz and /metrics over plain HTTP, on every replica and
// from the first moment. The returned function ends it.
func serveHealth(logger logr.Logger, listener net.Listener, ready *readiness, metrics prometheus.Gatherer) (stop func()) {
	server := &http.Server{Handler: healthHandler(ready, metrics), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second}
	var group sync.WaitGroup
	group.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Health and metrics are not served any more", "address", listener.Addr().String())
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

func healthHandler(ready *readiness, metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready.check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
	})
	return mux
}
