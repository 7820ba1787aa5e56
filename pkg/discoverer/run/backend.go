// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/kubernetes"
	upstream "groundskeeper.io/groundskeeper/pkg/discoverer/openstack"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// Limits of the requests to a Kubernetes cluster. There are few: watches, a request each period, a second listing at times.
const (
	backendQPS   = 50
	backendBurst = 100
)

// backend is what the discoverer does with a backend, whatever its type.
type backend struct {
	replica.Upstream
	server string
	// watch follows the backend until ctx is done. It only reads, and may end later.
	watch func(ctx context.Context)
	// probe probes the backend periodically until ctx is done, and reports problems.
	probe func(ctx context.Context)
}

func (d *discoverer) kubernetes() (*backend, error) {
	text, err := os.ReadFile(d.DiscoverKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--discover-kubecfg-file: %w", err)
	}
	config, err := remote.Config(text, remote.Options{
		QPS: backendQPS, Burst: backendBurst, Timeout: d.Timeout, UserAgent: version.UserAgent(Name), Wrap: d.measured(pathOf),
		AllowProxy: d.AllowProxyURL,
	})
	if err != nil {
		return nil, fmt.Errorf("--discover-kubecfg-file: %w", err)
	}
	querying, watching, err := clientsOf(config)
	if err != nil {
		return nil, err
	}
	var exports *kubernetes.Exports
	if d.Services == gimbalv1.ServicesExported {
		exports = &kubernetes.Exports{Client: querying.ServiceExports, Watching: watching.ServiceExports}
	}
	cluster := kubernetes.New(kubernetes.Options{
		Exports: exports, Backend: d.Backend, Client: querying, Watching: watching, Namespaces: d.Policy.Allow, Annotations: d.Annotations,
		ExternalNames: d.ExternalNames, OmitZones: d.Zones == gimbalv1.ZonesOmit, Recognize: d.keeper.Check, Contact: d.contact.Note,
		Meters: d.meters, Clock: clock.RealClock{},
	})
	return &backend{
		Upstream: cluster, server: config.Host, watch: cluster.Watch,
		probe: func(ctx context.Context) {
			cluster.Probe(ctx, clock.RealClock{}, min(d.Probe, d.Resync), d.handle(ctx))
		},
	}, nil
}

func (d *discoverer) openstack() (*backend, error) {
	environment := openstack.Environment{
		Getenv: d.Getenv, ReadFile: os.ReadFile, CA: d.CAFile, CAFlag: "--openstack-certificate-authority",
	}
	if d.CAFile == "" {
		if environment.CA = d.Getenv("OS_CACERT"); environment.CA != "" {
			environment.CAFlag = "OS_CACERT"
		}
	}
	credentials, err := environment.Credentials()
	if err != nil {
		return nil, err
	}
	if err := openstack.CheckPlainHTTP(credentials.AuthURL, d.AllowPlainHTTP); err != nil {
		return nil, fmt.Errorf("the URL of Keystone in %s %w", environment.Source(), err)
	}
	session := upstream.NewSession(credentials, openstack.Options{
		QPS: d.OpenStackQPS, Burst: d.OpenStackBurst, Timeout: d.Timeout, UserAgent: version.UserAgent(Name), Wrap: d.measured(cloudPathOf),
	}, clock.RealClock{})
	cloud := upstream.New(upstream.Options{
		Backend: d.Backend, Cloud: session, Recognize: d.keeper.Check, Contact: d.contact.Note, Watchlist: d.Watchlist,
		Admits: d.Policy.Admits, Threads: d.Threads, Ledger: d.ledger, Subject: backendSubject, Meters: d.meters, Clock: clock.RealClock{},
	})
	return &backend{
		Upstream: cloud, server: credentials.Host(),
		watch: func(context.Context) {}, // OpenStack has nothing to watch
		probe: func(ctx context.Context) { cloud.Run(ctx, clock.RealClock{}.NewTicker(d.Probe)) },
	}, nil
}

// measured returns an http.RoundTripper that notes how long requests to the backend take, by their paths without names and
// ids. Watches are not requests that end.
func (d *discoverer) measured(pathOf func(path string) string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Query().Get("watch") == "true" {
				return next.RoundTrip(request)
			}
			start := time.Now()
			response, err := next.RoundTrip(request)
			d.meters.Latency(pathOf(request.URL.Path), time.Since(start))
			return response, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// pathOf returns a path without the name of a namespace.
func pathOf(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		if i > 0 && parts[i-1] == "namespaces" {
			parts[i] = "{namespace}"
		}
	}
	return strings.Join(parts, "/")
}

// cloudPathOf returns a path without ids.
func cloudPathOf(path string) string {
	const length = 32 // of an id, with and without dashes
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) >= length && strings.Trim(part, "0123456789abcdefABCDEF-") == "" {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}
