// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package run puts a discoverer together and runs it: backend.go connects to the backend, maintenance.go follows the DiscoveryBackend,
// status.go has what is reported about it; the rest is in the packages beside it.
package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// Name is the name of the binary.
const Name = "groundskeeper-discoverer"

// Options are what a discoverer is started with, all of it valid. Its errors name the flags of the binary.
type Options struct {
	// Mode is the type of the backend, Backend its name. BackendNamespace has its DiscoveryBackend and its Lease.
	Mode                      gimbalv1.BackendType
	Backend, BackendNamespace string
	// GimbalKubeconfig is the file for this cluster, "" for the service account of the pod. DiscoverKubeconfig is that of the backend.
	GimbalKubeconfig, DiscoverKubeconfig string
	// Identity is that of this process alone.
	Identity string
	// Resync is how often everything is compared, Probe how often the backend is probed. Timeout is that of requests.
	Resync, Probe, Timeout time.Duration
	Threads                int
	ListenAddress          string
	QPS                    float32
	Burst                  int
	Policy                 replica.Policy
	// Confined is the only namespace that may be touched here, "" when all may.
	Confined      string
	Services      gimbalv1.ServicePolicy
	Zones         gimbalv1.ZonePolicy
	ExternalNames bool
	Annotations   []string
	Labels        desired.Labels
	Addresses     desired.Addresses
	Selector      labels.Selector
	// AllowProxyURL and AllowPlainHTTP are for credentials of the backend that would otherwise be rejected.
	AllowProxyURL, AllowPlainHTTP bool
	// The following options are for OpenStack.
	Getenv         func(string) string
	CAFile         string
	Watchlist      []string
	OpenStackQPS   float32
	OpenStackBurst int
}

// Run discovers a backend until ctx is done. A requested shutdown is not an error.
func Run(ctx context.Context, o *Options) error {
	logger := logr.FromContextOrDiscard(ctx)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.ListenAddress)
	if err != nil {
		return fmt.Errorf("--prometheus-listen-address: %w", err)
	}
	d, err := newDiscoverer(o)
	if err != nil {
		_ = listener.Close()
		return err
	}
	stop := process.Serve(logger, listener, process.Mux("/metrics", d.registry, process.Readyz(d.replica.Check)))
	defer stop()
	logger.Info("Starting", "version", version.Version(), "commit", version.Commit(), "server", d.there.server,
		"address", listener.Addr().String())
	return d.run(ctx)
}

// discoverer is what a process is made of.
type discoverer struct {
	*Options
	registry *prometheus.Registry
	ledger   *report.Ledger
	contact  *report.Contact
	meters   *telemetry.Meters
	there    *backend
	replica  *replica.Replica
	// backends and leases are in the namespace of the DiscoveryBackend.
	backends    client.DiscoveryBackends
	leases      client.Leases
	maintenance *maintenance
	// keeper recognizes the cluster of the backend.
	keeper *identity.Keeper
}

func newDiscoverer(o *Options) (*discoverer, error) {
	// The file is the administrator's own, so its content does not matter.
	config, err := process.RESTConfig(o.GimbalKubeconfig, "--gimbal-kubecfg-file")
	if err != nil {
		return nil, err
	}
	querying, watching, err := clientsOf(remote.Limited(config, remote.Options{
		QPS: o.QPS, Burst: o.Burst, Timeout: o.Timeout, UserAgent: version.UserAgent(Name),
	}))
	if err != nil {
		return nil, err
	}
	queue := replica.NewQueue()
	d := &discoverer{
		Options: o, registry: prometheus.NewRegistry(),
		ledger: report.NewLedger(clock.RealClock{}), contact: report.NewContact(clock.RealClock{}),
		meters:   telemetry.New(o.Backend, string(o.Mode), version.Version(), queue.Len),
		backends: querying.DiscoveryBackends(o.BackendNamespace), leases: querying.Leases(o.BackendNamespace),
	}
	d.registry.MustRegister(d.meters, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.keeper = &identity.Keeper{Client: d.backends, Namespace: d.BackendNamespace, Name: d.Backend}
	connect := d.kubernetes
	if o.Mode == gimbalv1.BackendOpenStack {
		connect = d.openstack
	}
	if d.there, err = connect(); err != nil {
		return nil, err
	}
	d.maintenance = newMaintenance(d.backends, watching.DiscoveryBackends(d.BackendNamespace), d.BackendNamespace, d.Backend, d.Timeout,
		func(withheld bool) { d.replica.SetWithheld(withheld) })
	d.replica = replica.New(replica.Options{
		Backend: d.Backend, Upstream: d.there, Client: querying, Watching: watching, Policy: d.Policy, Annotations: d.Annotations,
		Labels: d.Labels, Addresses: d.Addresses, Selector: d.Selector, Confined: d.Confined, Withheld: d.maintenance.withheld,
		Workers: d.Threads, Resync: d.Resync, Ledger: d.ledger, Meters: d.meters, Clock: clock.RealClock{},
	}, queue)
	return d, nil
}

// clientsOf returns a client for requests, and one for watches, which do not end.
func clientsOf(config *rest.Config) (querying, watching *client.Client, err error) {
	if querying, err = client.New(config); err != nil {
		return nil, nil, err
	}
	unlimited := rest.CopyConfig(config)
	unlimited.Timeout = 0
	watching, err = client.New(unlimited)
	return querying, watching, err
}

// run works until ctx is done or the Lease is lost.
func (d *discoverer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	logger := logr.FromContextOrDiscard(ctx)
	// The process does not wait for these on shutdown: they only read, and while a cluster is unavailable they sleep without
	// observing the context.
	go d.there.watch(ctx)
	go d.replica.Watch(ctx)
	go d.maintenance.follow(ctx)
	group.Go(func() {
		if different, err := d.replica.Survey(ctx); err == nil {
			logger.Info("Compared the two clusters", "different", different)
		} else if ctx.Err() == nil {
			logger.Error(err, "The two clusters cannot be compared")
		}
	})
	group.Go(func() { d.there.probe(ctx) })
	group.Go(func() {
		select {
		case <-ctx.Done():
		case <-d.maintenance.deleted:
			logger.Info("Stopped: the DiscoveryBackend is being deleted")
			cancel()
		}
	})
	// One that is restarted while its backend is being deleted must not copy before it knows that.
	if _, err := d.maintenance.withheld(ctx); err != nil {
		logger.Info("Cannot determine whether the backend is being deleted", "err", err)
	}
	select {
	case <-d.maintenance.deleted:
		return nil
	default:
	}
	err := d.hold(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // a requested shutdown
		return nil
	}
	return err
}

// hold works and reports while it holds the Lease of the backend. While it waits for the Lease, it reports what blocks it.
func (d *discoverer) hold(ctx context.Context) error {
	waiting, acquired := context.WithCancel(ctx)
	stoodBy := make(chan struct{})
	go func() {
		defer close(stoodBy)
		standby := &report.Standby{Client: d.backends, Namespace: d.BackendNamespace, Name: d.Backend, Ledger: d.ledger, Clock: clock.RealClock{}}
		standby.Run(waiting)
	}()
	defer func() {
		acquired()
		<-stoodBy
	}()
	return lease.Hold(ctx, d.leases, d.BackendNamespace, d.Backend, d.Identity, func(ctx context.Context) {
		reported := make(chan struct{})
		go func() { // copies do not wait for it
			defer close(reported)
			acquired()
			<-stoodBy
			d.adoptLease(ctx)
			writer := &report.Writer{
				Client: d.backends, Namespace: d.BackendNamespace, Name: d.Backend, Ledger: d.ledger, State: d.state, Contact: d.contact,
				Clock: clock.RealClock{},
			}
			writer.Run(ctx)
		}()
		d.work(ctx)
		<-reported
	})
}

// adoptLease sets the DiscoveryBackend, if it exists, as the owner of the Lease.
func (d *discoverer) adoptLease(ctx context.Context) {
	backend, err := d.backends.Get(ctx, d.Backend, metav1.GetOptions{})
	if err == nil {
		owner := metav1.OwnerReference{
			APIVersion: gimbalv1.SchemeGroupVersion.String(), Kind: "DiscoveryBackend", Name: backend.Name, UID: backend.UID,
		}
		err = lease.Adopt(ctx, d.leases, d.BackendNamespace, d.Backend, owner)
	}
	if err != nil && ctx.Err() == nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to set the owner of the Lease, it remains when the DiscoveryBackend is deleted", "err", err)
	}
}

// work writes copies until ctx is done. It retries if it cannot start.
func (d *discoverer) work(ctx context.Context) {
	for ctx.Err() == nil {
		err := d.replica.Work(ctx)
		if ctx.Err() != nil {
			return
		}
		logr.FromContextOrDiscard(ctx).Error(err, "Failed to start the replication, retrying")
		d.meters.Error("StartFailed")
		_ = kit.Pause(ctx, d.Timeout)
	}
}
