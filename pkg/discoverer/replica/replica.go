// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package replica keeps the copies of a backend's services in this cluster what they should be. It is the same for every kind of
// backend: a mode of the discoverer reports what the backend has (Upstream) and when that changes (Touch, Deleted); the rest, which
// is who owns what, what may be deleted, what is written and what is reported, is here.
package replica

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

const (
	// A problem that a user has to repair, and that causes no event, is retried after a pause that doubles as well.
	minPatience = 5 * time.Second
	maxPatience = time.Minute
)

// Upstream is what a backend has, as far as known. All of its functions may be called at any time.
type Upstream interface {
	// Synced reports whether everything was listed once.
	Synced() bool
	// Keys returns the namespaces and names of all services.
	Keys() []types.NamespacedName
	// Source returns a service, nil when it does not exist or not to be copied; excluded reports that it is there.
	Source(key types.NamespacedName) (source *desired.Source, excluded bool)
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
	// Unknown reports about a service that does not exist whether it is unknown that: what it may be in was never listed, or not
	// lately. Its copy remains unchanged. It may be nil: a service that does not exist has been deleted.
	Unknown func(key types.NamespacedName) bool
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
	local *local
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// patience is how long a service with an obstacle waits.
	patience workqueue.TypedRateLimiter[types.NamespacedName]
	sweep    chan struct{}
	relisted chan struct{}

	mu sync.Mutex
	// sure are copies that may be deleted: a watch notified that their source has been deleted, or a second listing.
	sure  sets.Set[desired.Ref]
	ahead ahead
	// waiting are the services that wait for a namespace.
	waiting map[string]sets.Set[types.NamespacedName]
	// legacy are Services that only the labels of the original's released images mark as Groundskeeper's.
	legacy    map[types.NamespacedName]*corev1.Service
	cycle     cycle
	readiness readiness
	// surveyed reports that both sides were compared once.
	surveyed bool
	// working reports that writing is allowed, began since when: other discoverers wrote before.
	working bool
	began   time.Time
}

// cycle is the way from a listing to copies that agree with it.
type cycle struct {
	begun, synced time.Time
	pending       sets.Set[types.NamespacedName]
}

// New returns a Replica that does nothing yet. Its queue is there for the metrics. An error is a programming error.
func New(options Options, queue workqueue.TypedRateLimitingInterface[types.NamespacedName]) (*Replica, error) {
	r := &Replica{
		Options:  options,
		queue:    queue,
		patience: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](minPatience, maxPatience),
		sweep:    make(chan struct{}, 1),
		relisted: make(chan struct{}, 1),
		sure:     sets.New[desired.Ref](),
		ahead: ahead{
			written: map[types.NamespacedName]map[desired.Ref]metav1.Object{}, removed: map[desired.Ref]types.UID{}, inFlight: map[desired.Ref]types.UID{},
		},
		waiting:   map[string]sets.Set[types.NamespacedName]{},
		legacy:    map[types.NamespacedName]*corev1.Service{},
		readiness: readiness{disputed: map[types.NamespacedName]time.Time{}},
	}
	local, err := newLocal(r)
	if err != nil {
		return nil, err
	}
	r.local = local
	return r, nil
}

// NewQueue returns the queue of a Replica.
func NewQueue() workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return workqueue.NewTypedRateLimitingQueue(kit.RateLimiter[types.NamespacedName]())
}

// Touch has a service checked.
func (r *Replica) Touch(key types.NamespacedName) {
	r.mu.Lock()
	working := r.working
	r.mu.Unlock()
	// Everything is checked when the work starts.
	if working {
		r.queue.Add(key)
	}
}

// Deleted reports that the source of a copy has certainly been deleted, because the backend itself reported it.
func (r *Replica) Deleted(key types.NamespacedName, copies ...desired.Ref) {
	r.mu.Lock()
	r.sure.Insert(copies...)
	r.mu.Unlock()
	r.Touch(key)
}

// Listed reports that the backend was listed as a whole: everything is compared with that now, not after Resync.
func (r *Replica) Listed() {
	select {
	case r.relisted <- struct{}{}:
	default:
	}
}

// unknown reports whether a service without a source is one whose copy remains unchanged.
func (r *Replica) unknown(key types.NamespacedName, source *desired.Source, excluded bool) bool {
	return source == nil && !excluded && r.Unknown != nil && r.Unknown(key)
}

// source returns a service that is to be copied, without the addresses that are denied.
func (r *Replica) source(key types.NamespacedName) (source *desired.Source, excluded bool) {
	source, _, excluded = r.admit(key)
	return source, excluded
}

// admit is source, and returns the addresses that are denied as well.
func (r *Replica) admit(key types.NamespacedName) (source *desired.Source, denied []desired.Denial, excluded bool) {
	source, excluded = r.Upstream.Source(key)
	return r.admitted(key, source, excluded)
}

// admitted is admit for a service that the backend has, or has not.
func (r *Replica) admitted(key types.NamespacedName, source *desired.Source, excluded bool) (*desired.Source, []desired.Denial, bool) {
	source, excluded = r.selected(key, source, excluded)
	if source == nil {
		return nil, nil, excluded
	}
	source, denied := r.Addresses.Filter(source)
	return source, denied, excluded || source == nil
}

// selected returns a service that is to be copied, with all its addresses.
func (r *Replica) selected(key types.NamespacedName, source *desired.Source, excluded bool) (*desired.Source, bool) {
	if source == nil {
		return nil, excluded
	}
	if !r.Policy.Admits(key.Namespace) || r.Confined != "" && key.Namespace != r.Confined {
		return nil, true
	}
	if r.Selector != nil && !r.Selector.Matches(labels.Set(source.Labels)) {
		return nil, true
	}
	return source, excluded
}

func (r *Replica) isSure(ref desired.Ref) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sure.Has(ref)
}
