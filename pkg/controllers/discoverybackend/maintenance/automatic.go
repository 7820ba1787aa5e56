// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

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

// fleet is what is known of all backends together.
type fleet struct {
	all map[string]*gimbalv1.DiscoveryBackend
	// clusters are those of the backends, as clustersOf returns them.
	clusters map[string]string
	// admins are the namespaces whose backends reach every namespace.
	admins []string
	// limit is how many backends may be in automatic maintenance at the same time.
	limit int
	heard
	// begun are those whose automatic maintenance is being stored.
	begun sets.Set[types.UID]
}

// heard is what is known of the discoverers that a decision about a backend depends on.
type heard struct {
	// silent are the backends whose discoverer is not known to run.
	silent sets.Set[types.UID]
	// undecided is set when the decision has to wait for the next read of a Lease.
	undecided bool
	// ahead is how far the clocks of discoverers are ahead of that of this process, of those whose clock is known to be wrong.
	ahead map[types.UID]time.Duration
}

// automatic returns the condition AutomaticMaintenance of a backend, nil when its owner wants none, and when to decide again, 0 for after
// the next event. It is called with what is cached after the last write of the backend.
func (f fleet) automatic(backend *gimbalv1.DiscoveryBackend, now time.Time) (*metav1.Condition, time.Duration) {
	condition, after := decideAutomatic(backend, f, now)
	if condition == nil {
		return nil, after
	}
	if f.undecided {
		after = pulsePeriod / 2
		if condition = automaticOf(backend).DeepCopy(); condition == nil {
			condition = new(status.Condition(backend, gimbalv1.ConditionAutomaticMaintenance, metav1.ConditionUnknown,
				reasonReachabilityUnknown, "it is not known yet whether the discoverers run"))
		}
	}
	if (condition.Status != metav1.ConditionFalse || condition.Reason != reasonReachable) && (after == 0 || after > pulsePeriod) {
		after = pulsePeriod // the Leases that it depends on are read again
	}
	return condition, after
}

// alone reports whether a backend with automatic maintenance is the last one that may serve, so that its traffic returns immediately, and
// not in steps.
func (f fleet) alone(backend *gimbalv1.DiscoveryBackend, now time.Time) bool {
	return backend.Cluster.Maintenance.Automatic && !f.undecided && !f.servesBeside(backend, now)
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
	silent := "the backend has not responded since " + since
	begins, ends := reached.since.Add(unreachablePeriod(backend)), reached.since.Add(stablePeriod(backend))
	switch {
	case active && reached.status == metav1.ConditionTrue && now.Before(ends) && f.servesBeside(backend, now): // else it is the last one
		return condition(metav1.ConditionTrue, reasonRecovering,
			"the backend has responded since "+since+"; traffic returns at "+ends.UTC().Format(time.RFC3339)), ends.Sub(now)
	case active && reached.status == metav1.ConditionUnknown:
		return condition(metav1.ConditionTrue, reasonReachabilityUnknown, "the traffic stays away: "+reached.message), 0
	case active && reached.status == metav1.ConditionFalse:
		return condition(metav1.ConditionTrue, reasonUnreachable, silent), 0
	case reached.status == metav1.ConditionTrue:
		return condition(metav1.ConditionFalse, reasonReachable, "the backend responds"), 0
	case reached.status == metav1.ConditionUnknown:
		return condition(metav1.ConditionUnknown, reasonReachabilityUnknown, reached.message), 0
	case now.Before(begins):
		return condition(metav1.ConditionFalse, reasonUnreachable,
			silent+"; maintenance begins at "+begins.UTC().Format(time.RFC3339)), begins.Sub(now)
	case !f.servesBeside(backend, now):
		return condition(metav1.ConditionFalse, reasonHeld,
			silent+"; it keeps its traffic, because no other cluster is known to serve"), 0
	case f.before(backend, now) >= f.limit:
		return condition(metav1.ConditionFalse, reasonHeld, silent+"; it keeps its traffic, because "+
			status.Plural(f.limit, "backend")+
			" may be in automatic maintenance at the same time (controllers.discovery.maxAutomaticMaintenance)"), 0
	}
	return condition(metav1.ConditionTrue, reasonUnreachable, silent), 0
}

// before counts the other clusters of which backends are in automatic maintenance, or whose turn is before that of a backend.
func (f fleet) before(backend *gimbalv1.DiscoveryBackend, now time.Time) int {
	due := func(b *gimbalv1.DiscoveryBackend) time.Time {
		return f.reported(b, now).since.Add(unreachablePeriod(b))
	}
	clusters := sets.Set[string]{}
	for _, other := range f.all {
		switch {
		case f.sameCluster(other, backend):
		case f.isActive(other), f.isDue(other, now) && cmp.Or(due(other).Compare(due(backend)), cmp.Compare(other.Name, backend.Name)) < 0:
			clusters.Insert(f.clusterOf(other.Name))
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
	reached := f.reported(backend, now)
	return backend.Cluster.Maintenance.Automatic && backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance &&
		backend.DeletionTimestamp.IsZero() && reached.status == metav1.ConditionFalse &&
		!now.Before(reached.since.Add(unreachablePeriod(backend))) && f.servesBeside(backend, now)
}

// clusterOf identifies the cluster of a backend.
func (f fleet) clusterOf(name string) string { return cmp.Or(f.clusters[name], name) }

// sameCluster reports whether two backends are proven to lead to one cluster, or are one.
func (f fleet) sameCluster(a, b *gimbalv1.DiscoveryBackend) bool {
	return f.clusterOf(a.Name) == f.clusterOf(b.Name)
}

// reaches reports whether maintenance of a backend changes routes in a namespace, and counts Services there.
func (f fleet) reaches(backend *gimbalv1.DiscoveryBackend, namespace string) bool {
	return status.Reaches(backend, f.admins, namespace)
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
	return !f.sameCluster(other, backend) && f.reaches(other, backend.Namespace) && !f.isActive(other) && serves(other, now)
}

// reachabilityOf returns what the discoverer of a backend reports, if it runs.
func (f fleet) reachabilityOf(backend *gimbalv1.DiscoveryBackend, now time.Time) reachability {
	if f.silent.Has(backend.UID) {
		return reachability{
			status: metav1.ConditionUnknown, message: "the discoverer does not run: it does not renew Lease " + lease.Name(backend.Name),
		}
	}
	return f.reported(backend, now)
}

// reported returns what the discoverer of a backend reports, by the clock of this process.
func (f fleet) reported(backend *gimbalv1.DiscoveryBackend, now time.Time) reachability {
	ahead := f.ahead[backend.UID]
	reached := reachabilityOf(backend, now.Add(ahead))
	reached.since = reached.since.Add(-ahead)
	return reached
}

// serves reports whether a backend is known to take requests.
func serves(backend *gimbalv1.DiscoveryBackend, now time.Time) bool {
	ramp := backend.Status.Ramp
	return backend.DeletionTimestamp.IsZero() && backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance &&
		!backend.Status.EndpointsDrained && (ramp == nil || ramp.Percent > 0) && ptr.Deref(backend.Status.Services, 0) > 0 &&
		reachabilityOf(backend, now).status == metav1.ConditionTrue
}

// reachability is whether a backend is reachable, and since when.
type reachability struct {
	status  metav1.ConditionStatus
	since   time.Time
	message string
}

// reachabilityOf returns what the discoverer reports while it is known to run, by its clock. That it does not is no reason to take the
// traffic away, nor to bring it back.
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
	return unknown("the discoverer no longer reports that the backend does not respond")
}

// unreachablePeriod is at least three intervals between two requests of the discoverer, so that no single failure drains a backend.
func unreachablePeriod(backend *gimbalv1.DiscoveryBackend) time.Duration {
	interval := probePeriod
	if seconds := backend.Cluster.RefreshInterval; seconds != nil && backend.Cluster.Type == gimbalv1.BackendOpenStack {
		interval = time.Duration(*seconds) * time.Second
	}
	period := ptr.Deref(backend.Cluster.Maintenance.UnreachablePeriod, metav1.Duration{Duration: gimbalv1.DefaultUnreachablePeriod})
	return max(period.Duration, 3*interval)
}

func stablePeriod(backend *gimbalv1.DiscoveryBackend) time.Duration {
	return ptr.Deref(backend.Cluster.Maintenance.StablePeriod, metav1.Duration{Duration: gimbalv1.DefaultStablePeriod}).Duration
}
