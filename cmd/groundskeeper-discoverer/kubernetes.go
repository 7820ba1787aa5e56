// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/kubernetes"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// Limits of the requests to the backend. There are few: watches, a question each period, a second listing at times.
const (
	backendQPS   = 50
	backendBurst = 100
)

// cluster is a Kubernetes cluster as a backend.
type cluster struct {
	*kubernetes.Upstream
	*discoverer
}

func (d *discoverer) kubernetes() (backend, error) {
	text, err := os.ReadFile(d.discoverKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--discover-kubecfg-file: %w", err)
	}
	config, err := remote.Config(text, remote.Options{
		QPS: backendQPS, Burst: backendBurst, Timeout: d.timeout, UserAgent: version.UserAgent(name), Wrap: d.measured(pathOf),
	})
	if err != nil {
		return nil, fmt.Errorf("--discover-kubecfg-file: %w", err)
	}
	d.server = config.Host
	querying, err := client.New(config)
	if err != nil {
		return nil, err
	}
	watching, err := client.New(unlimited(config))
	if err != nil {
		return nil, err
	}
	var exports *kubernetes.Exports
	if d.services == string(gimbalv1.ServicesExported) {
		exports = &kubernetes.Exports{Client: querying.ServiceExports, Watching: watching.ServiceExports}
	}
	upstream := kubernetes.New(kubernetes.Options{
		Exports: exports, Backend: d.backend, Client: querying, Watching: watching, Namespaces: d.allow, Annotations: d.annotations,
		ExternalNames: d.externalNames, Recognize: d.recognize, Contact: d.contact.Note, Meters: d.meters, Clock: clock.RealClock{},
	})
	return &cluster{upstream, d}, nil
}

// Unknown implements backend: a service that is missing in a watch does not exist.
func (c *cluster) Unknown(types.NamespacedName) bool { return false }

func (c *cluster) listen(to *replica.Replica) { c.Listen(to) }

func (c *cluster) watch(ctx context.Context) { c.Watch(ctx) }

func (c *cluster) probeUntilDone(ctx context.Context) {
	c.Probe(ctx, clock.RealClock{}, min(c.probe, c.resync), c.handle(ctx))
}

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
