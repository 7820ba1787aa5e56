// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// passTimeout ends a reconciliation that is stuck; it is retried. One that deletes a thousand objects takes seconds.
const passTimeout = 2 * time.Minute

// run runs the two controllers until ctx is done. A requested shutdown is not an error.
func run(ctx context.Context, o *options) error {
	o.logFormat.Install(os.Stderr)
	logger := klog.Background()
	ctrl.SetLogger(logger)
	ctx = logr.NewContext(ctx, logger)
	config, err := restConfig(o)
	if err != nil {
		return err
	}
	ready := &readiness{}
	address := ""
	if o.listenAddress != "" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listenAddress)
		if err != nil {
			return fmt.Errorf("--listen-address: %w", err)
		}
		address = listener.Addr().String()
		defer process.Serve(logger, listener, process.Mux(o.metricsPath, metrics.Registry, process.Readyz(ready.check)))()
	}
	logger.Info("Starting", "version", version.Version(), "commit", version.Commit(), "server", config.Host, "address", address,
		"storageClasses", listOf(o.classes))
	mgr, err := newManager(ctx, config, o, ready)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// restConfig reads the kubeconfig or takes the service account of the pod. An endpoint takes precedence over both,
// and does alone, too.
func restConfig(o *options) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if o.kubeconfig != "" || o.endpoint != "" {
		// The current context of the file; with neither file nor context the endpoint is all there is.
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: o.kubeconfig},
			&clientcmd.ConfigOverrides{ClusterInfo: api.Cluster{Server: o.endpoint}}).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig %q, --kube-api-endpoint %q: %w", o.kubeconfig, o.endpoint, err)
		}
	} else if config, err = rest.InClusterConfig(); err != nil {
		return nil, fmt.Errorf("neither --kubeconfig nor --kube-api-endpoint is set and this is not a pod: %w", err)
	}
	config.QPS, config.Burst = o.qps, o.burst
	config.UserAgent = version.UserAgent(name)
	return config, nil
}

// newManager reviews the permissions and builds a manager with the two controllers.
func newManager(ctx context.Context, config *rest.Config, o *options, ready *readiness) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authorizationv1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	found, err := findPermissions(ctx, direct, o)
	if err != nil {
		return nil, err
	}
	byObject, err := localvolume.CacheOptions()
	if err != nil {
		return nil, err
	}
	caches := cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject, ReaderFailOnMissingInformer: true}
	if o.resync > 0 {
		caches.SyncPeriod = &o.resync
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Logger: logr.FromContextOrDiscard(ctx),
		Cache:  caches,
		Controller: ctrlconfig.Controller{EnableWarmup: new(true), UsePriorityQueue: new(true), SkipNameValidation: new(true),
			ReconciliationTimeout: passTimeout},
		LeaderElection:                found.leases,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionID:              name,
		LeaderElectionReleaseOnCancel: true,
		// The server of this command serves both.
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", config.Host, err)
	}
	d := localvolume.Dependencies{Config: o.config().Controllers.LocalVolume, RecordNamespace: o.namespace, NoRecord: !found.record,
		Namespaces: found.namespaces}
	if found.cleaners {
		d.Holder = name + " in namespace " + o.namespace
	}
	site, err := cleanup.AddToManager(mgr, d, true)
	ready.knows(site)
	return mgr, err
}

// readiness knows whether the process could work: on a standby replica, too, as soon as its caches are filled.
type readiness struct {
	mu      sync.Mutex
	started bool
	site    *localvolume.Site
}

// knows notes which Site has to be synced; nil when there is nothing to watch.
func (r *readiness) knows(site *localvolume.Site) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.site = true, site
}

func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.started:
		return errors.New("waiting for the API server")
	case r.site != nil && !r.site.Inventory.Synced():
		return errors.New("waiting for the caches of volumes, claims and nodes")
	}
	return nil
}
