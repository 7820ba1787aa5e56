// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/deleter"
)

const (
	// EventQPS is the limit of the client that sends events, in requests per second.
	EventQPS = 20
	// EventBurst is the burst of the rate limit of events. It is sufficient for the announcements of all claims of lost nodes. Later
	// events can be sent slowly, because they have timestamps and the API server is busy with the deletions.
	EventBurst = 1000
)

// Options specify how the controllers fit into a process.
type Options struct {
	// RecordNamespace is the namespace of the ConfigMap that records since when nodes are missing. NoRecord disables it: there is
	// no permission to write it.
	RecordNamespace string
	NoRecord        bool
	// Holder names the process for others that would clean up the same cluster; empty: there is no permission to record it.
	Holder string
	// Namespaces reports that namespaces may be listed and watched: without them their annotations are not seen.
	Namespaces bool
	// Deleter adds the Deleter, too.
	Deleter bool
}

// AddToManager adds the CleanupController, and the Deleter with it, for the cluster that a manager runs against. Its
// cache should be built with localvolume.CacheOptions. Without a storage class nothing is added, nothing watched, and
// the Site is nil.
func AddToManager(mgr manager.Manager, config configv1alpha1.LocalVolumeConfiguration, options Options) (*localvolume.Site, error) {
	if len(config.StorageClassNames) == 0 {
		mgr.GetLogger().Info("No storage class is opted in, local volumes are not watched", "controller", ControllerName)
		return nil, nil
	}
	serverClock := localvolume.NewServerClock(clock.RealClock{})
	own, err := newClient(mgr, mgr.GetConfig(), serverClock.Client(mgr.GetHTTPClient()))
	if err != nil {
		return nil, err
	}
	limited := rest.CopyConfig(mgr.GetConfig())
	limited.QPS, limited.Burst, limited.RateLimiter = EventQPS, EventBurst, nil
	forEvents, err := newClient(mgr, limited, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	telemetry, err := localvolume.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	sender := localvolume.NewEventSender(forEvents, clock.RealClock{}, telemetry, localvolume.EventQueue)
	if err := mgr.Add(sender); err != nil {
		return nil, fmt.Errorf("add the events of controller %s: %w", ControllerName, err)
	}
	site := localvolume.NewSite(localvolume.Dependencies{
		Cache: mgr.GetCache(), Client: own, Recorder: sender, Clock: clock.RealClock{}, ServerClock: serverClock, Metrics: telemetry,
		Config: config, RecordNamespace: options.RecordNamespace, NoRecord: options.NoRecord, Holder: options.Holder, Namespaces: options.Namespaces,
	})
	return site, addControllers(mgr, site, options.Deleter)
}

func addControllers(mgr manager.Manager, site *localvolume.Site, withDeleter bool) error {
	constructors := []func(*localvolume.Site, controller.TypedOptions[localvolume.Pass]) (controller.TypedController[localvolume.Pass], error){New}
	if withDeleter {
		constructors = append(constructors, deleter.New)
	}
	for _, construct := range constructors {
		var defaults controller.TypedOptions[localvolume.Pass]
		defaults.DefaultFromConfig(mgr.GetControllerOptions())
		c, err := construct(site, defaults)
		if err != nil {
			return err
		}
		if err := mgr.Add(c); err != nil {
			return err
		}
	}
	return nil
}

// newClient returns a client without the cache. The client of the manager waits until the cache has its own writes, which would slow the
// deletion of a thousand claims.
func newClient(mgr manager.Manager, config *rest.Config, http *http.Client) (client.Client, error) {
	c, err := client.New(config, client.Options{HTTPClient: http, Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("create a client of controller %s: %w", ControllerName, err)
	}
	return c, nil
}
