// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package remotecleanup runs the two controllers of local volumes in a remote cluster, with dedicated clients and caches that exist until
// a context is done. Clusters share nothing except the counters of deletions.
package remotecleanup

import (
	"context"
	"net/http"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// eventQueue is the maximum number of queued events per cluster. There may be a thousand clusters.
const eventQueue = 2000

// Cluster is a remote cluster, and how its local volumes are cleaned up.
type Cluster struct {
	// Name distinguishes clusters in metrics and logs.
	Name string
	// Config has the address of the API server, and the rate limits of all requests except events. HTTPClient sends them.
	Config     *rest.Config
	HTTPClient *http.Client
	// Settings have to be defaulted and valid, with at least one storage class.
	Settings configv1alpha1.LocalVolumeConfiguration
	Metrics  *localvolume.Metrics
	Clock    clock.PassiveClock
	// Holder names who cleans up, for others that would clean up the same cluster.
	Holder string
	// Running is called when the caches have synced and the controllers start to reconcile.
	Running func()
	// Braked is called with the reason when the brake stops all deletions, and with "" when it is released. It must not block.
	Braked func(reason string)
	// Elsewhere is called with the reason when another process cleans up the same volumes, and with "" when it does not any more. It must
	// not block.
	Elsewhere func(reason string)
}

// sharedScheme has the kinds that are read and written. It is immutable.
var sharedScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
})

// mapper maps these kinds without discovery requests.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion,
		storagev1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion})
	for _, kind := range []string{"Node", "Namespace", "PersistentVolume"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	for _, kind := range []string{"PersistentVolumeClaim", "Pod", "ConfigMap", "Event"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(storagev1.SchemeGroupVersion.WithKind("StorageClass"), meta.RESTScopeRoot)
	m.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	m.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	return m
}

// watchful forwards events, and reports those of the brake and of others that clean up.
type watchful struct {
	localvolume.Recorder
	braked, elsewhere func(reason string)
}

// Event implements localvolume.Recorder.
func (w watchful) Event(object client.Object, eventType, reason, message string) {
	switch reason {
	case localvolume.EventBrakeEngaged:
		w.braked(message)
	case localvolume.EventBrakeReleased:
		w.braked("")
	case localvolume.EventElsewhere:
		w.elsewhere(message)
	case localvolume.EventHere:
		w.elsewhere("")
	}
	w.Recorder.Event(object, eventType, reason, message)
}

// newInformer returns an informer whose watches leak no goroutine. The cache of controller-runtime forwards the events of a metadata
// watch in a goroutine that blocks indefinitely if the watch is stopped before its last event was received. That matters here, because
// clusters are added and removed while the process runs.
func newInformer(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	whole := toolscache.ToListerWatcherWithContext(source)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: whole.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := whole.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return &drained{Interface: w}, nil
		},
	}, example, resync, indexers)
}

// drained is a watch whose remaining events are received after it was stopped.
type drained struct {
	watch.Interface
	once sync.Once
}

// Stop implements watch.Interface.
func (d *drained) Stop() {
	d.Interface.Stop()
	d.once.Do(func() {
		go func() {
			for range d.ResultChan() { // until it is closed
			}
		}()
	})
}
