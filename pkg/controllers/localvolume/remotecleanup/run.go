// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remotecleanup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
)

// passTimeout cancels a reconcile that blocks; it is retried. One that deletes a thousand objects takes seconds.
const passTimeout = 2 * time.Minute

// Run cleans up the local volumes of a cluster until ctx is done. When it returns, its goroutines have ended and its gauges are removed.
// It may be retried after an error, which wraps a ForbiddenError if the credentials lack permissions.
func Run(ctx context.Context, c Cluster) error {
	scheme, err := sharedScheme()
	if err != nil {
		return err
	}
	known := mapper()
	d := localvolume.Dependencies{Name: c.Name, Clock: c.Clock, Metrics: c.Metrics, Config: c.Settings,
		RecordNamespace: localvolume.WorkloadRecordNamespace}
	sender, err := cleanup.Connect(&d, c.Config, client.Options{HTTPClient: c.HTTPClient, Scheme: scheme, Mapper: known}, eventQueue)
	if err != nil {
		return fmt.Errorf("create a client of cluster %s: %w", c.Name, err)
	}
	found, err := findPermissions(ctx, d.Client, &c.Settings)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	logger := logr.FromContextOrDiscard(ctx).WithValues("cluster", c.Name)
	if !found.record || !found.cleaners || !found.namespaces {
		logger.Info("The functionality of the local volume cleanup is reduced because of missing permissions",
			"timesSurviveRestarts", found.record, "othersAreRecognized", found.cleaners, "namespacesAreSeen", found.namespaces)
	}
	d.NoRecord, d.Namespaces = !found.record, found.namespaces
	if found.cleaners {
		d.Holder = c.Holder
	}
	byObject, err := localvolume.CacheOptions()
	if err != nil {
		return err
	}
	d.Cache, err = cache.New(c.Config, cache.Options{
		HTTPClient: c.HTTPClient, Scheme: scheme, Mapper: known, ByObject: byObject, DefaultTransform: cache.TransformStripManagedFields(),
		ReaderFailOnMissingInformer: true, NewInformer: newInformer,
		// The HTTP client reports failures; a log line for each retry of each cluster would add nothing.
		DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector, error) {},
	})
	if err != nil {
		return fmt.Errorf("create a cache of cluster %s: %w", c.Name, err)
	}
	d.Recorder = watchful{sender, c.Braked, c.Elsewhere}
	site := localvolume.NewSite(d)
	defer c.Metrics.Drop(c.Name)
	controllers, err := cleanup.Controllers(site, controller.TypedOptions[localvolume.Pass]{
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
	}, true)
	if err != nil {
		return err
	}
	if d.Nodes != nil {
		controllers = append(controllers, d.Nodes)
	}
	return start(ctx, c, site, sender, append(controllers, d.Cache))
}

// start runs all parts until ctx is done or one of them fails. The sender is stopped after them, so that it sends the last events.
func start(ctx context.Context, c Cluster, site *localvolume.Site, sender *localvolume.EventSender, parts []manager.Runnable) error {
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
