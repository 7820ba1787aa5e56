// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remotecleanup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/deleter"
)

// passTimeout cancels a reconcile that blocks; it is retried. One that deletes a thousand objects takes seconds.
const passTimeout = 2 * time.Minute

// runnable is a component that runs until a context is done.
type runnable interface {
	Start(ctx context.Context) error
}

// Run cleans up the local volumes of a cluster until ctx is done. When it returns, its goroutines have ended and its gauges are removed.
// It may be retried after an error, which wraps a ForbiddenError if the credentials lack permissions.
func Run(ctx context.Context, c Cluster) error {
	scheme, err := sharedScheme()
	if err != nil {
		return err
	}
	known := mapper()
	serverClock := localvolume.NewServerClock(c.Clock)
	clientFor := func(config *rest.Config, http *http.Client) (client.Client, error) {
		return client.New(config, client.Options{HTTPClient: http, Scheme: scheme, Mapper: known})
	}
	own, err := clientFor(c.Config, serverClock.Client(c.HTTPClient))
	if err != nil {
		return fmt.Errorf("create a client of cluster %s: %w", c.Name, err)
	}
	limited := rest.CopyConfig(c.Config)
	limited.QPS, limited.Burst, limited.RateLimiter = cleanup.EventQPS, cleanup.EventBurst, nil
	forEvents, err := clientFor(limited, c.HTTPClient)
	if err != nil {
		return fmt.Errorf("create a client of cluster %s for events: %w", c.Name, err)
	}
	found, err := findPermissions(ctx, own, &c.Settings)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	logger := logr.FromContextOrDiscard(ctx).WithValues("cluster", c.Name)
	if !found.record || !found.cleaners || !found.namespaces {
		logger.Info("The functionality of the local volume cleanup is reduced because of missing permissions", "timesSurviveRestarts", found.record,
			"othersAreRecognized", found.cleaners, "namespacesAreSeen", found.namespaces)
	}
	holder := c.Holder
	if !found.cleaners {
		holder = ""
	}
	byObject, err := localvolume.CacheOptions()
	if err != nil {
		return err
	}
	objects, err := cache.New(c.Config, cache.Options{
		HTTPClient: c.HTTPClient, Scheme: scheme, Mapper: known, ByObject: byObject, DefaultTransform: cache.TransformStripManagedFields(),
		ReaderFailOnMissingInformer: true, NewInformer: newInformer,
		// The HTTP client reports failures; a log line for each retry of each cluster would add nothing.
		DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector, error) {},
	})
	if err != nil {
		return fmt.Errorf("create a cache of cluster %s: %w", c.Name, err)
	}
	sender := localvolume.NewEventSender(forEvents, c.Clock, c.Metrics, eventQueue)
	site := localvolume.NewSite(localvolume.Dependencies{
		Name: c.Name, Cache: objects, Client: own, Recorder: watchful{sender, c.Braked, c.Elsewhere}, Clock: c.Clock, ServerClock: serverClock, Metrics: c.Metrics,
		Config: c.Settings, RecordNamespace: localvolume.WorkloadRecordNamespace, NoRecord: !found.record, Holder: holder, Namespaces: found.namespaces,
	})
	defer c.Metrics.Drop(c.Name)
	controllers, err := controllersOf(site, logger)
	if err != nil {
		return err
	}
	return start(ctx, c, site, sender, append(controllers, objects)...)
}

// controllersOf returns the CleanupController and the Deleter of a Site.
func controllersOf(site *localvolume.Site, logger logr.Logger) ([]runnable, error) {
	options := controller.TypedOptions[localvolume.Pass]{
		SkipNameValidation: new(true), // each cluster has a controller of this name
		Logger:             logr.Discard(),
		// The start and the end of a controller are not logged for each cluster.
		LogConstructor: func(pass *localvolume.Pass) logr.Logger {
			if pass == nil {
				return logr.Discard()
			}
			return logger
		},
		ReconciliationTimeout: passTimeout,
	}
	first, err := cleanup.New(site, options)
	if err != nil {
		return nil, fmt.Errorf("create the cleanup: %w", err)
	}
	second, err := deleter.New(site, options)
	if err != nil {
		return nil, fmt.Errorf("create the deleter: %w", err)
	}
	return []runnable{first, second}, nil
}

// start runs all parts until ctx is done or one of them fails. The sender is stopped after them, so that it sends the last events.
func start(ctx context.Context, c Cluster, site *localvolume.Site, sender *localvolume.EventSender, parts ...runnable) error {
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	var senders, group sync.WaitGroup
	senders.Go(func() { _ = sender.Start(sending) }) // it never fails
	defer senders.Wait()
	defer stopSending()

	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, part := range parts {
		group.Go(func() { stop(part.Start(running)) })
	}
	select {
	case <-site.Known():
		c.Running()
	case <-running.Done():
	}
	group.Wait()
	if err := context.Cause(running); ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run the local volume cleanup in cluster %s: %w", c.Name, err)
	}
	return nil
}
