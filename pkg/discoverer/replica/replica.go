// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package replica keeps the copies of a backend's services in this cluster what they should be. It is the same for every kind of
// backend: a mode of the discoverer reports what the backend has (Upstream) and when that changes (Touch, Deleted); the rest, which
// is who owns what, what may be deleted, what is written and what is reported, is here.
package replica

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

const (
	// A problem that a user has to repair, and that causes no event, is retried after a pause that doubles as well.
	minPatience = 5 * time.Second
	maxPatience = time.Minute
)

// Listener is notified of changes of a backend. A Replica is one.
type Listener interface {
	// Touch has a service checked.
	Touch(key types.NamespacedName)
	// Deleted reports that the source of a copy has certainly been deleted, because the backend itself reported it. What is missing in a
	// listing is not: that may be wrong.
	Deleted(key types.NamespacedName, copies ...desired.Ref)
	// Listed reports that the backend was listed as a whole: everything is compared with that now, not after Resync.
	Listed()
}

// Upstream is what a backend has, as far as known. All of its functions may be called at any time.
type Upstream interface {
	// Listen makes a listener be notified of changes. It is called once, before anything is read of the backend.
	Listen(to Listener)
	// Synced reports whether everything was listed once.
	Synced() bool
	// Keys returns the namespaces and names of all services.
	Keys() []types.NamespacedName
	// Source returns a service, nil when it does not exist or is not to be copied; excluded is set if it is there.
	Source(key types.NamespacedName) (source *desired.Source, excluded bool)
	// Unknown reports about a service that is not found whether that shows nothing: what it may be in was never listed, or not lately.
	// Its copy remains unchanged.
	Unknown(key types.NamespacedName) bool
	// Read returns a service like Source, as the backend itself had it at a time or later, whatever is known of it.
	Read(ctx context.Context, key types.NamespacedName, since time.Time) (source *desired.Source, excluded bool, err error)
	// Copies lists the whole backend again and returns the copies that its services should have. A listing that is not complete is
	// an error.
	Copies(ctx context.Context) (sets.Set[desired.Ref], error)
}

// Policy specifies which namespaces are discovered, by exact names.
type Policy struct {
	// Allow are the namespaces that are discovered, all when it is empty. Deny wins.
	Allow, Deny []string
	// Missing specifies what happens to services whose namespace does not exist here.
	Missing gimbalv1.MissingNamespacePolicy
}

// Admits reports whether a namespace is discovered.
func (p Policy) Admits(namespace string) bool {
	return !slices.Contains(p.Deny, namespace) && (len(p.Allow) == 0 || slices.Contains(p.Allow, namespace))
}

// Options are what a Replica needs.
type Options struct {
	// Backend is the name of the backend.
	Backend  string
	Upstream Upstream
	// Client writes to this cluster, and has a timeout. Watching reads from it, and has none.
	Client, Watching client.Interface
	Policy           Policy
	// Annotations are the keys of the annotations that are copied.
	Annotations []string
	// Labels decides which labels are copied.
	Labels desired.Labels
	// Addresses decides which addresses are copied.
	Addresses desired.Addresses
	// Selector selects the services that are copied, by their labels. It may be nil: all are.
	Selector labels.Selector
	// Confined is the only namespace that may be read and written here. Empty means all.
	Confined string
	// Withheld checks with the API server whether the endpoints of the backend are to be not ready, whatever it reports about them.
	// With it the work does not begin before the first SetWithheld. It may be nil: they never are.
	Withheld func(context.Context) (bool, error)
	// Workers is how many services are worked on in parallel.
	Workers int
	// Resync is how often everything is compared when nothing changes.
	Resync time.Duration
	Ledger *report.Ledger
	Meters *telemetry.Meters
	Clock  clock.WithTicker
}

// Replica are the copies of one backend.
type Replica struct {
	Options
	services copies[*corev1.Service, *corev1.ServiceList]
	slices   copies[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
	// namespaces is nil when there is only one: that is there.
	namespaces *remote.Informers[*corev1.Namespace]
	queue      workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// patience is how long a service with an obstacle waits.
	patience workqueue.TypedRateLimiter[types.NamespacedName]
	sweep    chan struct{}
	relisted chan struct{}
	memory   *memory
}

// copies are the objects of one of the two kinds that copies are made of, and all in which these kinds differ.
type copies[T remote.Object, L runtime.Object] struct {
	*remote.Informers[T]
	client   func(namespace string) client.Typed[T, L]
	sourceOf func(backend string, object metav1.Object) (types.NamespacedName, bool)
	trim     func(T) T
	plan     func(want, have T) ([]operation, error)
}

// New returns a Replica that does nothing yet. Its queue is given because the metrics need it, too.
func New(options Options, queue workqueue.TypedRateLimitingInterface[types.NamespacedName]) *Replica {
	r := &Replica{
		Options:  options,
		queue:    queue,
		patience: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](minPatience, maxPatience),
		sweep:    make(chan struct{}, 1),
		relisted: make(chan struct{}, 1),
		memory:   newMemory(),
	}
	r.services.client, r.services.sourceOf, r.services.trim = r.Client.Services, desired.ServiceSource, r.trimService
	r.services.plan = func(want, have *corev1.Service) ([]operation, error) { return planService(want, have, r.Annotations) }
	r.slices.client, r.slices.sourceOf, r.slices.trim, r.slices.plan = r.Client.EndpointSlices, desired.SliceSource, trimSlice, planSlice
	watchCopies(r, &r.services, r.Watching.Services, remote.Kind[*corev1.Service]{Example: &corev1.Service{}})
	watchCopies(r, &r.slices, r.Watching.EndpointSlices, remote.Kind[*discoveryv1.EndpointSlice]{
		Example: &discoveryv1.EndpointSlice{}, Shorten: desired.ShortenZones, Expand: desired.ExpandZones,
		Index: func(slice *discoveryv1.EndpointSlice) string {
			if key, ok := desired.SliceSource(r.Backend, slice); ok {
				return key.String()
			}
			return ""
		},
	})
	if r.Confined == "" {
		all := remote.From(r.Watching, metav1.ListOptions{}, func(string) client.Namespaces { return r.Watching.Namespaces() })
		r.namespaces = remote.NewInformers(nil, all, remote.Kind[*corev1.Namespace]{
			Example: &corev1.Namespace{}, Trim: trimNamespace,
			Set:     func(namespace *corev1.Namespace) { r.namespaceChanged(namespace.Name) },
			Deleted: func(namespace *corev1.Namespace, _ bool) { r.namespaceChanged(namespace.Name) },
		})
	}
	r.Upstream.Listen(r)
	return r
}

// watchCopies caches the copies of a kind, and has the sources of those checked that change.
func watchCopies[T remote.Object, L runtime.Object](
	r *Replica, c *copies[T, L], typed func(namespace string) client.Typed[T, L], kind remote.Kind[T],
) {
	kind.Trim = c.trim
	kind.Changed = func(before, now T) {
		key, own := c.sourceOf(r.Backend, before)
		if after, still := c.sourceOf(r.Backend, now); own && (!still || after != key) { // a user changed its labels
			r.Touch(key)
		}
	}
	kind.Set = func(object T) {
		// The echo of an own write needs no check.
		if key, ok := c.sourceOf(r.Backend, object); ok && !r.memory.caughtUp(key, object) {
			r.Touch(key)
		}
	}
	kind.Deleted = func(object T, _ bool) {
		if key, ok := c.sourceOf(r.Backend, object); ok {
			r.memory.notRemoved(key, object)
			r.Touch(key)
		}
	}
	var scope []string
	if r.Confined != "" {
		scope = []string{r.Confined}
	}
	own := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{gimbalv1.LabelBackend: r.Backend}).String()}
	c.Informers = remote.NewInformers(scope, remote.From(r.Watching, own, typed), kind)
}

// NewQueue returns the queue of a Replica.
func NewQueue() workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return workqueue.NewTypedRateLimitingQueue(kit.RateLimiter[types.NamespacedName]())
}

// Touch implements Listener.
func (r *Replica) Touch(key types.NamespacedName) {
	// Everything is checked when the work starts.
	if r.memory.now().working {
		r.queue.Add(key)
	}
}

// Deleted implements Listener.
func (r *Replica) Deleted(key types.NamespacedName, copies ...desired.Ref) {
	r.memory.permit(copies...)
	r.Touch(key)
}

// Listed implements Listener.
func (r *Replica) Listed() { notify(r.relisted) }

// SetWithheld sets whether endpoints of some Services are withheld. After a change all copies are checked.
func (r *Replica) SetWithheld(withheld bool) {
	if !r.memory.setWithheld(withheld, r.Clock.Now()) {
		return
	}
	for _, key := range r.Upstream.Keys() {
		r.queue.AddAfter(key, settlePeriod)
	}
}

// namespaceChanged has the services of a namespace checked.
func (r *Replica) namespaceChanged(name string) {
	if !r.memory.now().working {
		return
	}
	for _, key := range r.Upstream.Keys() {
		if key.Namespace == name {
			r.queue.Add(key)
		}
	}
}

// notify wakes who waits on a channel of one element.
func notify(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
