// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package etcdspace observes whether etcd is full: it serves reads then, and rejects every write.
package etcdspace

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/registry/etcd"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

const (
	// Name is that of the readiness check that fails while etcd is full. The manifests exclude it from the readiness probe: a
	// full etcd still serves reads and deletions, and without ready replicas no namespace of the cluster could be deleted.
	Name = "etcd-space"

	interval = 30 * time.Second
	timeout  = 5 * time.Second
)

var errFull = errors.New("etcd has used up its quota and rejects writes (alarm NOSPACE): see GroundskeeperStoreFull in docs/monitoring.md")

// Space is whether etcd is full, as far as that is known.
type Space struct {
	full  atomic.Bool
	gauge prometheus.Gauge
}

// New returns a Space with its metric in a registry.
func New(registry prometheus.Registerer) (*Space, error) {
	gauge, err := telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "groundskeeper_store_full",
		Help: "Whether etcd has used up its quota and rejects writes.",
	}))
	return &Space{gauge: gauge}, err
}

// ReadyCheck returns the readiness check.
func (s *Space) ReadyCheck() healthz.HealthChecker {
	return healthz.NamedCheck(Name, func(*http.Request) error {
		if s.full.Load() {
			return errFull
		}
		return nil
	})
}

// Run observes etcd until the context ends.
func (s *Space) Run(ctx context.Context, config storagebackend.TransportConfig) {
	client, err := etcd.NewClient(ctx, config)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to observe whether etcd is full")
		return
	}
	defer func() { _ = client.Close() }()
	wait.UntilWithContext(ctx, func(ctx context.Context) { s.observe(ctx, client, config.ServerList) }, interval)
}

// statuses is the part of a client of etcd that is used.
type statuses interface {
	Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error)
}

// observe asks the members. One of them knows the alarms of all. If none responds, what was known stays: that etcd does not respond is what
// another check reports.
func (s *Space) observe(ctx context.Context, client statuses, endpoints []string) {
	for _, endpoint := range endpoints {
		request, cancel := context.WithTimeout(ctx, timeout)
		status, err := client.Status(request, endpoint)
		cancel()
		if err != nil {
			klog.FromContext(ctx).V(2).Info("Failed to get the status of etcd", "endpoint", endpoint, "err", err)
			continue
		}
		full := strings.Contains(strings.Join(status.Errors, " "), "NOSPACE")
		s.gauge.Set(map[bool]float64{true: 1}[full])
		switch before := s.full.Swap(full); {
		case full && !before: // the response of the check has no reason
			klog.FromContext(ctx).Error(errFull, "Failing all writes")
		case before && !full:
			klog.FromContext(ctx).Info("Etcd accepts writes again")
		}
		return
	}
}
