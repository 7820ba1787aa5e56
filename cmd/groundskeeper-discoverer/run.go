// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// run discovers a backend until ctx is done. A requested shutdown is not an error.
func run(ctx context.Context, o *options) error {
	logger := newLogger(o.debug, &o.logFormat).WithValues("backend", o.backend)
	ctx = logr.NewContext(ctx, logger)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address())
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
	logger.Info("Starting", "version", version.Version(), "commit", version.Commit(), "server", d.server, "address", listener.Addr().String())
	return d.run(ctx)
}

// discoverer is what a process is made of.
type discoverer struct {
	*options
	server   string
	registry *prometheus.Registry
	ledger   *report.Ledger
	contact  *report.Contact
	meters   *telemetry.Meters
	there    backend
	replica  *replica.Replica
	// backends and leases are in the namespace of the DiscoveryBackend.
	backends    client.DiscoveryBackends
	leases      client.Leases
	maintenance *maintenance
	// keeper recognizes the cluster of the backend.
	keeper *identity.Keeper
}

func newDiscoverer(o *options) (*discoverer, error) {
	here, err := configOfThisCluster(o)
	if err != nil {
		return nil, err
	}
	queue := replica.NewQueue()
	d := &discoverer{options: o, registry: prometheus.NewRegistry(), ledger: report.NewLedger(clock.RealClock{}), contact: report.NewContact(clock.RealClock{})}
	d.meters = telemetry.New(o.backend, string(o.mode), version.Version(), queue.Len)
	d.registry.MustRegister(d.meters, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	connect := d.kubernetes
	if o.mode == gimbalv1.BackendOpenStack {
		connect = d.openstack
	}
	there, err := connect()
	if err != nil {
		return nil, err
	}
	if err := d.connect(here, queue, there); err != nil {
		return nil, err
	}
	return d, nil
}

// configOfThisCluster returns how to connect to the cluster that the copies are for. The file is the administrator's
// own, so its content does not matter.
func configOfThisCluster(o *options) (*rest.Config, error) {
	config, err := process.RESTConfig(o.gimbalKubeconfig, "--gimbal-kubecfg-file")
	if err != nil {
		return nil, err
	}
	return remote.Limited(config, remote.Options{QPS: o.qps, Burst: o.burst, Timeout: o.timeout, UserAgent: version.UserAgent(name)}), nil
}

// unlimited returns a config for watches, whose requests do not end.
func unlimited(config *rest.Config) *rest.Config {
	watching := rest.CopyConfig(config)
	watching.Timeout = 0
	return watching
}

// passing ends a run: nil is a requested shutdown.
func passing(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// run works until ctx is done or the Lease is lost.
func (d *discoverer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	// The process does not wait for these on shutdown: they only read, and while a cluster is unavailable they sleep without
	// observing the context.
	go d.there.watch(ctx)
	go d.replica.Watch(ctx)
	go d.maintenance.follow(ctx)
	group.Go(func() {
		if different, err := d.replica.Survey(ctx); err == nil {
			logr.FromContextOrDiscard(ctx).Info("Compared the two clusters", "different", different)
		} else if ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "The two clusters cannot be compared")
		}
	})
	group.Go(func() { d.there.probeUntilDone(ctx) })
	group.Go(func() {
		select {
		case <-ctx.Done():
		case <-d.maintenance.deleted:
			logr.FromContextOrDiscard(ctx).Info("Stopped: the DiscoveryBackend is being deleted")
			cancel()
		}
	})
	// One that is restarted while its backend is being deleted must not copy before it knows that.
	if _, err := d.maintenance.withheld(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).Info("Cannot determine whether the backend is being deleted", "err", err)
	}
	select {
	case <-d.maintenance.deleted:
		return nil
	default:
	}
	return passing(ctx, d.hold(ctx))
}

// hold works and reports while it holds the Lease of the backend. While it waits for the Lease, it reports what blocks it.
func (d *discoverer) hold(ctx context.Context) error {
	waiting, acquired := context.WithCancel(ctx)
	stoodBy := make(chan struct{})
	go func() {
		defer close(stoodBy)
		standby := &report.Standby{Client: d.backends, Namespace: d.backendNamespace, Name: d.backend, Ledger: d.ledger, Clock: clock.RealClock{}}
		standby.Run(waiting)
	}()
	defer func() {
		acquired()
		<-stoodBy
	}()
	return lease.Hold(ctx, d.leases, d.backendNamespace, d.backend, d.identity, func(ctx context.Context) {
		reported := make(chan struct{})
		go func() { // copies do not wait for it
			defer close(reported)
			acquired()
			<-stoodBy
			d.adoptLease(ctx)
			d.report(ctx)
		}()
		d.work(ctx)
		<-reported
	})
}

// adoptLease sets the DiscoveryBackend, if it exists, as the owner of the Lease.
func (d *discoverer) adoptLease(ctx context.Context) {
	backend, err := d.backends.Get(ctx, d.backend, metav1.GetOptions{})
	if err == nil {
		owner := metav1.OwnerReference{APIVersion: gimbalv1.SchemeGroupVersion.String(), Kind: "DiscoveryBackend", Name: backend.Name, UID: backend.UID}
		err = lease.Adopt(ctx, d.leases, d.backendNamespace, d.backend, owner)
	}
	if err != nil && ctx.Err() == nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to set the owner of the Lease, it remains when the DiscoveryBackend is deleted", "err", err)
	}
}

// report writes the status of the DiscoveryBackend until ctx is done.
func (d *discoverer) report(ctx context.Context) {
	writer := &report.Writer{
		Client: d.backends, Namespace: d.backendNamespace, Name: d.backend, Ledger: d.ledger, State: d.state, Contact: d.contact, Clock: clock.RealClock{},
	}
	writer.Run(ctx)
}
