// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package elsewhere runs the two controllers of local volumes in another cluster than the one that the process runs for: with
// clients and caches that live as long as a context. Nothing of one cluster is shared with another, except for the counters of
// deletions.
package elsewhere

import (
	"context"
	"net/http"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
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

// RecordNamespace is the namespace in the remote cluster that has the record of missing nodes: one that every cluster has.
const RecordNamespace = "kube-system"

// eventQueue is how many events may wait in each cluster. There may be a thousand clusters.
const eventQueue = 2000

// Cluster is another cluster, and how its local volumes are cleaned up.
type Cluster struct {
	// Name distinguishes clusters in metrics and logs.
	Name string
	// Config specifies where the API server is, and the limits of all requests but events. HTTPClient sends them.
	Config     *rest.Config
	HTTPClient *http.Client
	// Settings have to be defaulted and valid, with at least one storage class.
	Settings configv1alpha1.LocalVolumeConfiguration
	Metrics  *localvolume.Metrics
	Clock    clock.PassiveClock
	// Running is called when everything that exists is known, and passes begin.
	Running func()
	// Braked is called with the reason why the brake keeps everything, and with "" when that is over. It returns immediately.
	Braked func(reason string)
}

// sharedScheme has the kinds that are read and written. It is never changed.
var sharedScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
})

// mapper knows these kinds without querying the API server for all that it serves.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion})
	for kind, scope := range map[string]meta.RESTScope{
		"Node": meta.RESTScopeRoot, "Namespace": meta.RESTScopeRoot, "PersistentVolume": meta.RESTScopeRoot, "PersistentVolumeClaim": meta.RESTScopeNamespace,
		"Pod": meta.RESTScopeNamespace, "ConfigMap": meta.RESTScopeNamespace, "Event": meta.RESTScopeNamespace,
	} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), scope)
	}
	m.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	return m
}

// watchful passes events on, and hears of the brake.
type watchful struct {
	localvolume.Recorder
	braked func(reason string)
}

// Event implements localvolume.Recorder.
func (w watchful) Event(object client.Object, eventType, reason, message string) {
	switch reason {
	case localvolume.EventBrakeEngaged:
		w.braked(message)
	case localvolume.EventBrakeReleased:
		w.braked("")
	}
	w.Recorder.Event(object, eventType, reason, message)
}

// newInformer is an informer whose watches leave no goroutine behind. A cache passes the events of a watch of metadata through a
// goroutine that waits indefinitely when the watch ends and no client takes its last event. In a process that ends with its caches
// that does not matter; here clusters come and go.
func newInformer(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
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

// drained is a watch of which a user takes the last events.
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
