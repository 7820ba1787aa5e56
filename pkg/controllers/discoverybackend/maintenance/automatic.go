// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// Reasons of the condition AutomaticMaintenance.
const (
	// reasonReachable: nothing is to be done.
	reasonReachable = "Reachable"
	// reasonUnreachable: the backend is not reachable. The condition is True when that lasted long enough.
	reasonUnreachable = "Unreachable"
	// reasonRecovering: the backend is reachable again, and not yet for long enough.
	reasonRecovering = "Recovering"
	// reasonHeld: it would begin if there were another backend that serves, or if fewer backends were in it.
	reasonHeld = "Held"
	// reasonReachabilityUnknown: no discoverer reports whether the backend is reachable.
	reasonReachabilityUnknown = "ReachabilityUnknown"
)

// reportPeriod is how long a report that the backend does not respond counts: a discoverer repeats it each minute.
const reportPeriod = 3 * time.Minute

// probePeriod is the interval between two requests of a discoverer that uses its default.
const probePeriod = 30 * time.Second

// automatic decides which backends are in automatic maintenance. It remembers what it decided until that is in the caches, so that
// two decisions at the same time do not exceed the limit together.
type automatic struct {
	// limit is how many backends may be in it at the same time.
	limit  int
	admins []string

	mu    sync.Mutex
	begun sets.Set[types.UID]
}

// decide returns the condition AutomaticMaintenance of a backend, nil when its owner wants none, and when to decide again, 0 for after
// the next event. It is called with what is cached after the last write of the backend.
func (a *automatic) decide(backend *gimbalv1.DiscoveryBackend, all map[string]*gimbalv1.DiscoveryBackend, h heard, now time.Time) (*metav1.Condition, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	begun := sets.Set[types.UID]{}
	for _, other := range all {
		if a.begun.Has(other.UID) && other.UID != backend.UID {
			begun.Insert(other.UID)
		}
	}
	condition, after := decideAutomatic(backend, fleet{all: all, clusters: clustersOf(all), silent: h.silent, begun: begun, limit: a.limit, admins: a.admins}, now)
	if h.undecided && condition != nil {
		condition, after = automaticOf(backend).DeepCopy(), pulsePeriod/2
		if condition == nil {
			condition = new(status.Condition(backend, gimbalv1.ConditionAutomaticMaintenance, metav1.ConditionUnknown, reasonReachabilityUnknown, "it is not known yet whether the discoverers run"))
		}
	}
	if condition != nil && (condition.Status != metav1.ConditionFalse || condition.Reason != reasonReachable) && (after == 0 || after > pulsePeriod) {
		after = pulsePeriod // the Leases that it depends on are read again
	}
	if condition != nil && condition.Status == metav1.ConditionTrue {
		begun.Insert(backend.UID)
	}
	a.begun = begun
	return condition, after
}

// alone reports whether a backend with automatic maintenance is the last one that may serve, so that its traffic returns immediately, and not
// in steps.
func (a *automatic) alone(backend *gimbalv1.DiscoveryBackend, all map[string]*gimbalv1.DiscoveryBackend, h heard, now time.Time) bool {
	f := fleet{all: all, clusters: clustersOf(all), silent: h.silent, admins: a.admins}
	return backend.Cluster.Maintenance.Automatic && !h.undecided && !f.servesBeside(backend, now)
}

// fleet is what is known of all backends.
type fleet struct {
	all map[string]*gimbalv1.DiscoveryBackend
	// clusters are those of the backends, as clustersOf returns them.
	clusters map[string]string
	// silent are the backends whose discoverer is not known to run.
	silent sets.Set[types.UID]
	// begun are those whose automatic maintenance is being stored.
	begun  sets.Set[types.UID]
	limit  int
	admins []string
}

// decideAutomatic decides whether a backend is in automatic maintenance: a pure function of the stored state and the time.
func decideAutomatic(backend *gimbalv1.DiscoveryBackend, f fleet, now time.Time) (*metav1.Condition, time.Duration) {
	if !backend.Cluster.Maintenance.Automatic || backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		return nil, 0
	}
	condition := func(value metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return new(status.Condition(backend, gimbalv1.ConditionAutomaticMaintenance, value, reason, message))
	}
	active, reached := status.IsAutomatic(backend), f.reachabilityOf(backend, now)
	if !backend.DeletionTimestamp.IsZero() {
		if last := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance); last != nil {
			return condition(last.Status, last.Reason, last.Message), 0 // its references are removed, drained or not
		}
		return nil, 0
	}
	since := reached.since.UTC().Format(time.RFC3339)
	begins, ends := reached.since.Add(unreachablePeriod(backend)), reached.since.Add(stablePeriod(backend))
	switch {
	case active && reached.status == metav1.ConditionTrue && now.Before(ends) && f.servesBeside(backend, now): // else it is the last one
		return condition(metav1.ConditionTrue, reasonRecovering, "the backend responds since "+since+"; traffic returns at "+ends.UTC().Format(time.RFC3339)), ends.Sub(now)
	case active && reached.status == metav1.ConditionUnknown:
		return condition(metav1.ConditionTrue, reasonReachabilityUnknown, "the traffic stays away: "+reached.message), 0
	case active && reached.status == metav1.ConditionFalse:
		return condition(metav1.ConditionTrue, reasonUnreachable, "the backend does not respond since "+since), 0
	case reached.status == metav1.ConditionTrue:
		return condition(metav1.ConditionFalse, reasonReachable, "the backend responds"), 0
	case reached.status == metav1.ConditionUnknown:
		return condition(metav1.ConditionUnknown, reasonReachabilityUnknown, reached.message), 0
	case now.Before(begins):
		return condition(metav1.ConditionFalse, reasonUnreachable, "the backend does not respond since "+since+"; maintenance begins at "+begins.UTC().Format(time.RFC3339)), begins.Sub(now)
	case !f.servesBeside(backend, now):
		return condition(metav1.ConditionFalse, reasonHeld, "the backend does not respond since "+since+"; it keeps its traffic, because no other cluster is known to serve"), 0
	case f.before(backend, now) >= f.limit:
		return condition(metav1.ConditionFalse, reasonHeld, "the backend does not respond since "+since+"; it keeps its traffic, because "+
			status.Plural(f.limit, "backend")+" may be in automatic maintenance at the same time (controllers.discovery.maxAutomaticMaintenance)"), 0
	}
	return condition(metav1.ConditionTrue, reasonUnreachable, "the backend does not respond since "+since), 0
}

// before counts the other clusters of which backends are in automatic maintenance, or whose turn is before that of a backend.
func (f fleet) before(backend *gimbalv1.DiscoveryBackend, now time.Time) int {
	due := func(b *gimbalv1.DiscoveryBackend) time.Time {
		return reachabilityOf(b, now).since.Add(unreachablePeriod(b))
	}
	clusters := sets.Set[string]{}
	for _, other := range f.all {
		switch {
		case f.sameCluster(other, backend):
		case f.isActive(other), f.isDue(other, now) && cmp.Or(due(other).Compare(due(backend)), cmp.Compare(other.Name, backend.Name)) < 0:
			clusters.Insert(f.clusterOf(other))
		}
	}
	return clusters.Len()
}

// isActive reports whether a backend is in automatic maintenance, be it that this is not in the caches yet.
func (f fleet) isActive(backend *gimbalv1.DiscoveryBackend) bool {
	return status.IsAutomatic(backend) || f.begun.Has(backend.UID)
}

// isDue reports whether the automatic maintenance of a backend is to begin, unless something holds it.
func (f fleet) isDue(backend *gimbalv1.DiscoveryBackend, now time.Time) bool {
	reached := reachabilityOf(backend, now)
	return backend.Cluster.Maintenance.Automatic && backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance && backend.DeletionTimestamp.IsZero() &&
		reached.status == metav1.ConditionFalse && !now.Before(reached.since.Add(unreachablePeriod(backend))) && f.servesBeside(backend, now)
}

func (f fleet) clusterOf(backend *gimbalv1.DiscoveryBackend) string {
	return cmp.Or(f.clusters[backend.Name], backend.Name)
}

// sameCluster reports whether two backends are proven to lead to one cluster, or are one.
func (f fleet) sameCluster(a, b *gimbalv1.DiscoveryBackend) bool {
	return f.clusterOf(a) == f.clusterOf(b)
}

// servesBeside reports whether a backend of another cluster is known to serve wherever this one does.
func (f fleet) servesBeside(backend *gimbalv1.DiscoveryBackend, now time.Time) bool {
	for _, other := range f.all {
		if f.isBeside(other, backend, now) && !f.silent.Has(other.UID) {
			return true
		}
	}
	return false
}

// isBeside reports whether another backend serves wherever this one does, of another cluster, if its discoverer runs.
func (f fleet) isBeside(other, backend *gimbalv1.DiscoveryBackend, now time.Time) bool {
	reaches := other.Namespace == backend.Namespace || slices.Contains(f.admins, other.Namespace)
	return !f.sameCluster(other, backend) && reaches && !f.isActive(other) && serves(other, now)
}

// reachabilityOf returns what the discoverer of a backend reports, if it runs.
func (f fleet) reachabilityOf(backend *gimbalv1.DiscoveryBackend, now time.Time) reachability {
	if f.silent.Has(backend.UID) {
		return reachability{status: metav1.ConditionUnknown, message: "the discoverer does not run: it does not renew Lease " + lease.Name(backend.Name)}
	}
	return reachabilityOf(backend, now)
}

// serves reports whether a backend is known to take requests.
func serves(backend *gimbalv1.DiscoveryBackend, now time.Time) bool {
	services, ramp := backend.Status.Services, backend.Status.Ramp
	return backend.DeletionTimestamp.IsZero() && backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance && !backend.Status.EndpointsDrained &&
		(ramp == nil || ramp.Percent > 0) && services != nil && *services > 0 && reachabilityOf(backend, now).status == metav1.ConditionTrue
}

// reachability is whether a backend is reachable, and since when.
type reachability struct {
	status  metav1.ConditionStatus
	since   time.Time
	message string
}

// reachabilityOf returns what the discoverer reports while it is known to run. That it does not is no reason to take the traffic
// away, nor to bring it back.
func reachabilityOf(backend *gimbalv1.DiscoveryBackend, now time.Time) reachability {
	unknown := func(message string) reachability {
		return reachability{status: metav1.ConditionUnknown, message: message}
	}
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionReachable)
	switch {
	case c == nil:
		return unknown("no discoverer has reported whether the backend responds")
	case c.Status == metav1.ConditionUnknown:
		return unknown(cmp.Or(c.Message, "the discoverer does not know whether the backend responds"))
	}
	known := reachability{c.Status, c.LastTransitionTime.Time, c.Message}
	if c.Status == metav1.ConditionTrue {
		// A discoverer that was started manually is not observed.
		if backend.Status.DiscovererRef != nil && !meta.IsStatusConditionTrue(backend.Status.Conditions, gimbalv1.ConditionAvailable) {
			return unknown("the discoverer does not run")
		}
		return known
	}
	counts := reportPeriod
	if interval := backend.Cluster.RefreshInterval; interval != nil && backend.Cluster.Type == gimbalv1.BackendOpenStack {
		counts += 2 * time.Duration(*interval) * time.Second // there are no more requests
	}
	for _, entry := range backend.Status.Errors {
		if entry.Type == gimbalv1.ErrorConnection && entry.StatusTime != nil && now.Sub(entry.StatusTime.Time).Abs() <= counts {
			return known
		}
	}
	return unknown("the discoverer has stopped to report that the backend does not respond")
}

// unreachablePeriod is at least three intervals between two requests of the discoverer, so that no single failure drains a backend.
func unreachablePeriod(backend *gimbalv1.DiscoveryBackend) time.Duration {
	interval := probePeriod
	if seconds := backend.Cluster.RefreshInterval; seconds != nil && backend.Cluster.Type == gimbalv1.BackendOpenStack {
		interval = time.Duration(*seconds) * time.Second
	}
	period := gimbalv1.DefaultUnreachablePeriod
	if set := backend.Cluster.Maintenance.UnreachablePeriod; set != nil {
		period = set.Duration
	}
	return max(period, 3*interval)
}

func stablePeriod(backend *gimbalv1.DiscoveryBackend) time.Duration {
	if period := backend.Cluster.Maintenance.StablePeriod; period != nil {
		return period.Duration
	}
	return gimbalv1.DefaultStablePeriod
}
