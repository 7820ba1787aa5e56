// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	groundskeeperscheme "groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/statusz"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// startTimeout is how long the manager waits at its start for the API server and the APIs it needs.
const startTimeout = 30 * time.Second

// reconcileTimeout ends a reconcile that blocks; it is tried again. A usual one takes milliseconds.
const reconcileTimeout = 2 * time.Minute

// run runs the enabled controllers until ctx is done. An end that was requested is not an error. The fence is that of the
// configured election.
func run(
	ctx context.Context, config *v1alpha1.ControllerManagerConfiguration, logger logr.Logger, fence *Fence, controllers []controller,
) error {
	ctx = logr.NewContext(ctx, logger)
	restConfig, err := restConfig(config.ClientConnection)
	if err != nil {
		return err
	}
	ctx, flush, err := trace(ctx, restConfig, config.Tracing)
	if err != nil {
		return err
	}
	defer flush()
	listener, err := listen(ctx, config.Server.Health)
	if err != nil {
		return fmt.Errorf("server.health: %w", err)
	}
	ready := &readiness{}
	ready.begin(apiServer)
	enabled := dropOff(logger, selectEnabled(controllers, config.Controllers.Enabled), &config.Controllers)
	overview := newOverview(&config.Controllers, fence, ready, controllers, enabled)
	fence.states = overview.states
	ctx = instrument.With(ctx, overview.activity)
	stop := process.Serve(logger, listener, healthHandler(ready, metrics.Registry, pages{
		"/statusz": statusz.Handler(overview.page),
		"/configz": statusz.Handler(func() any { return config }), // it has no credentials, only paths of them
	}))
	defer stop()
	logger.Info("Starting", "version", version.Version(), "commit", version.Commit(), "server", restConfig.Host,
		"health", listener.Addr().String(), "controllers", names(enabled))
	if slices.Contains(names(enabled), webhooksName) {
		hooks, err := newRuntimeExtension(ctx, restConfig, &config.Controllers)
		if err != nil {
			return err
		}
		server, err := newWebhookServer(ctx, restConfig, config.Server.Webhooks, *config.Controllers.Credentials.AllowProxyURL, hooks)
		if err != nil {
			return err
		}
		logger.Info("Serving webhooks", "webhooks", server.listener.Addr().String(), "certificates", config.Server.Webhooks.Certificates.Mode)
		stop := server.serve(ctx, ready)
		defer stop()
	}
	err = waitForAPIs(ctx, restConfig, requiredAPIs(enabled, &config.Controllers), time.Second, startTimeout)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, restConfig, config, fence, enabled, ready)
	if err != nil {
		return err
	}
	ready.end(apiServer)
	return mgr.Start(ctx)
}

// newManager builds the manager with its client, its cache, its lock and the given controllers.
func newManager(
	ctx context.Context, restConfig *rest.Config, config *v1alpha1.ControllerManagerConfiguration, fence *Fence, controllers []controller,
	ready *readiness,
) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, groundskeeperscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	if err := useProtobuf(ctx, restConfig); err != nil {
		return nil, err
	}
	cacheOptions, err := cacheOptions(controllers, &config.Controllers, scheme)
	if err != nil {
		return nil, err
	}
	election := config.LeaderElection
	lock, stopEvents, err := newLock(restConfig, scheme, election, fence)
	if err != nil {
		return nil, err
	}
	fenced := rest.CopyConfig(restConfig) // not that of the lock
	fenced.Wrap(fence.wrap)
	mgr, err := ctrl.NewManager(fenced, ctrl.Options{
		Scheme: scheme,
		Logger: logr.FromContextOrDiscard(ctx),
		// Reconciles inherit the values of the context; the manager ends them.
		BaseContext: func() context.Context { return context.WithoutCancel(ctx) },
		Cache:       cacheOptions,
		NewClient:   newClient,
		Controller: ctrlconfig.Controller{
			UsePriorityQueue: new(true),
			EnableWarmup:     new(true),
			// The list of controllers has no name twice, and a test may run a second manager.
			SkipNameValidation: new(true),
			// A client that waits to see its own write has no separate limit.
			ReconciliationTimeout: reconcileTimeout,
		},
		LeaderElection:                      *election.LeaderElect,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionID:                    election.ResourceName, // in metrics
		LeaseDuration:                       &election.LeaseDuration.Duration,
		RenewDeadline:                       &election.RenewDeadline.Duration,
		RetryPeriod:                         &election.RetryPeriod.Duration,
		LeaderElectionReleaseOnCancel:       true,
		// serveHealth serves both.
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		stopEvents()
		return nil, fmt.Errorf("API server %s: %w", restConfig.Host, err)
	}
	mgr = &electedManager{Manager: mgr, stop: stopEvents}
	if err := registerObjectMetrics(mgr.GetCache(), controllers, config.Server.ObjectMetrics); err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	p := permitted{authorization.SelfSubjectAccessReviews(), &config.Controllers, ready, permissionInterval}
	start, wait := p.split(ctx, controllers)
	if len(wait) > 0 {
		if err := mgr.Add(awaiting{p, mgr, wait}); err != nil {
			return nil, err
		}
	}
	return mgr, addControllers(mgr, start, &config.Controllers, ready)
}
