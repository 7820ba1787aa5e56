// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"net"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// listen opens the port right away, so that a port that is taken ends the process before anything happens.
func listen(ctx context.Context, address v1alpha1.AddressConfiguration) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address.BindAddress, strconv.Itoa(int(*address.Port))))
}

// pages are what is served besides health and metrics, by their paths.
type pages map[string]http.Handler

// healthHandler serves /healthz and /livez (the process is running), /readyz, /metrics and more pages.
func healthHandler(ready *readiness, metrics prometheus.Gatherer, more pages) http.Handler {
	mux := process.Mux("/metrics", metrics, func(w http.ResponseWriter, r *http.Request) {
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
	mux.HandleFunc("GET /livez", process.Alive)
	for path, handler := range more {
		mux.Handle("GET "+path, handler)
	}
	return mux
}
