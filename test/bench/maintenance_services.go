// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

const (
	benchmarkWithheldName = "maintenance-services"

	servicesOfMaintenance = 10000
	// servicesOfLargeProxy is how many Services a large HTTPProxy has, each in a route. Half of the Services are in such, the
	// others in an Ingress each.
	servicesOfLargeProxy = 500

	// goalWithheldTime is how long it may take until the endpoints of 10,000 Services are withheld, or ready again, on two cores.
	goalWithheldTime = 30.0
	// goalWritesPerService is one per Service, and the few of the status and of leases.
	goalWritesPerService = 1.02
)

// benchmarkWithheld drains a backend with Services that have no alternative, so that all their endpoints are withheld, and enables it
// again.
func benchmarkWithheld(ctx context.Context, reporter *report.Reporter, services, workers int) error {
	proxies := services / 2 / servicesOfLargeProxy
	inProxies := proxies * servicesOfLargeProxy
	m := &maintained{
		reporter: reporter, benchmark: benchmarkWithheldName, objects: services, routes: proxies + services - inProxies,
		unit: "Service", goalWrites: goalWritesPerService, written: []string{"rest_client_requests_total"},
	}
	if services <= servicesOfMaintenance {
		m.goalTime = goalWithheldTime
	}
	return m.run(ctx, func(m *maintained) error {
		c, err := m.prepare(ctx)
		if err != nil {
			return err
		}
		name := func(i int) string { return fmt.Sprintf("%s-%d", drainedBackend, i) }
		if err := parallel(workers, services, func(i int) error { return c.service(ctx, drainedBackend, name(i)) }); err != nil {
			return err
		}
		return parallel(workers, proxies+services-inProxies, func(i int) error {
			if i < proxies {
				return c.route(ctx, proxyResource, newLargeHTTPProxy(i, name))
			}
			return c.route(ctx, ingressResource, newIngress(inProxies+i-proxies, name))
		})
	})
}

// newLargeHTTPProxy returns the HTTPProxy with the i-th of the parts of the Services.
func newLargeHTTPProxy(i int, name func(int) string) *unstructured.Unstructured {
	var routes []any
	for at := i * servicesOfLargeProxy; at < (i+1)*servicesOfLargeProxy; at++ {
		routes = append(routes, map[string]any{
			"conditions": []any{map[string]any{"prefix": "/" + name(at)}},
			"services":   []any{map[string]any{"name": name(at), "port": int64(80)}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": map[string]any{"name": fmt.Sprintf("large-%d", i)},
		"spec": map[string]any{"virtualhost": map[string]any{"fqdn": fmt.Sprintf("large-%d.example.com", i)}, "routes": routes},
	}}
}

// newIngress returns an Ingress with the i-th Service.
func newIngress(i int, name func(int) string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": name(i)},
		"spec": map[string]any{"defaultBackend": map[string]any{"service": map[string]any{"name": name(i), "port": map[string]any{"number": int64(80)}}}},
	}}
}
