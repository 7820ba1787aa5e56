// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

const (
	// dialTimeout and handshakeTimeout are how long a connection may take to come about.
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// keepAlive is the pause between two probes of a connection that is idle.
	keepAlive = 30 * time.Second
)

// httpClient is a client of one session, with separate connections. It follows no redirect, which would carry the credentials to
// another server. The returned function closes its connections.
func httpClient(config *rest.Config, health *health, fence func() error) (*http.Client, func(), error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, errors.New("the credentials of the cluster cannot be used")
	}
	// What is not set here is as in any client of Kubernetes, proxies by the environment and probes of connections too.
	base := utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: tlsConfig, Proxy: config.Proxy, TLSHandshakeTimeout: handshakeTimeout,
		DialContext: (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
	})
	wrapped, err := rest.HTTPWrappersForConfig(config, &observed{next: base, health: health, fence: fence})
	if err != nil {
		base.CloseIdleConnections()
		return nil, nil, errors.New("the credentials of the cluster cannot be used")
	}
	client := &http.Client{Transport: wrapped, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client, base.CloseIdleConnections, nil
}

// observed sends requests, and reports what becomes of them.
type observed struct {
	next   http.RoundTripper
	health *health
	// fence has to allow each write: the workload cluster knows nothing of the Lease of this process.
	fence func() error
}

// RoundTrip implements http.RoundTripper.
func (o *observed) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		if err := o.fence(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // it is not read
			}
			return nil, fmt.Errorf("nothing is written to the workload cluster: %w", err)
		}
	}
	response, err := o.next.RoundTrip(request)
	if request.Context().Err() == nil {
		o.health.observe(request, response, err)
	}
	return response, err
}
