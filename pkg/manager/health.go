// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// listen opens the port right away, so that a port that is taken ends the process before anything happens.
func listen(ctx context.Context, address v1alpha1.AddressConfiguration) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address.BindAddress, strconv.Itoa(int(*address.Port))))
}

// healthServer serves /healthz (the process lives), /readyz and /metrics over plain HTTP on every replica.
func healthServer(listener net.Listener, ready *readiness, metrics prometheus.Gatherer) *manager.Server {
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
	return &manager.Server{
		Name:     "health",
		Listener: listener,
		Server:   &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second},
	}
}
