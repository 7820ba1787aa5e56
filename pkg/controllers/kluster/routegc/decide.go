// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Limits report how sure one has to be.
type Limits struct {
	// ConfirmAfter is how long a route must have been an orphan at least.
	ConfirmAfter time.Duration
	// Interval is the time between two passes, and how long it must have been one when much is to be removed.
	Interval time.Duration
	// MaxRemovalFraction is the part of the cluster's routes that may be orphans without that being suspicious.
	MaxRemovalFraction float64
}

// Target is the router of a cluster and how to keep it.
type Target struct {
	RouterID string
	Scope    Scope
	Limits   Limits
	// DryRun reports what would be removed, and removes nothing.
	DryRun bool
	// Shared is a Kluster on the router that has a part of the range and Route GC disabled; "": there is none. It may still have
	// routes, so only those are removed whose next hop is no longer a port.
	Shared string
}

// same reports whether another target leads to the same removals.
func (t *Target) same(other *Target) bool {
	return other != nil && t.RouterID == other.RouterID && t.DryRun == other.DryRun && t.Shared == other.Shared &&
		t.Scope.ClusterCIDR == other.Scope.ClusterCIDR && t.Scope.SecondCIDR == other.Scope.SecondCIDR &&
		slices.Equal(t.Scope.Siblings, other.Scope.Siblings)
}

func isEnabled(k *kubernikusv1.Kluster, config settings) bool {
	enabled := *config.Enabled && k.UsesRouter()
	if k.Spec.RouteGC != nil {
		return ptr.Deref(k.Spec.RouteGC.Enabled, enabled)
	}
	return enabled
}

// hasNone reports whether Route GC has no business with a Kluster: it has no cloud, or is released unchanged. To be deleted is of no
// account otherwise.
func hasNone(k *kubernikusv1.Kluster) bool {
	return k.Spec.NoCloud || !k.DeletionTimestamp.IsZero() && (k.Detached() || !k.HasDeorbiter())
}

// Enabled reports whether Route GC manages a Kluster, as soon as its router is known.
func Enabled(k *kubernikusv1.Kluster, config configv1alpha1.RouteGCConfiguration) bool {
	return !hasNone(k) && !kit.IsPaused(k) && isEnabled(k, config)
}

// settings are the configuration of Route GC, which a Kluster may override in part.
type settings = configv1alpha1.RouteGCConfiguration

// decide returns the router of a Kluster, and why no route of it is removed: "" if they are. The text is about a conflict.
func decide(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster, config settings) (t *Target, reason, text string) {
	own := k.PodRanges()
	t = &Target{
		RouterID: k.RouterID(), Scope: Scope{ClusterCIDR: own[0], SecondCIDR: own[1]}, DryRun: *config.DryRun,
		Limits: Limits{config.ConfirmAfter.Duration, config.Interval.Duration, *config.MaxRemovalFraction},
	}
	if spec := k.Spec.RouteGC; spec != nil {
		t.DryRun = ptr.Deref(spec.DryRun, t.DryRun)
		t.Limits.Interval = ptr.Deref(spec.Interval, metav1.Duration{Duration: t.Limits.Interval}).Duration
	}
	if t.RouterID != "" {
		text = t.spare(k, siblings(k, all))
	}
	switch {
	case !isEnabled(k, config):
		return t, ReasonDisabled, ""
	case t.RouterID == "":
		return t, ReasonRouterUnknown, ""
	case text != "":
		return t, kubernikusv1.ReasonCIDRConflict, text
	}
	return t, "", ""
}

// spare takes the ranges of siblings out of the scope. It returns what is wrong when one of them has a part of the range.
func (t *Target) spare(k *kubernikusv1.Kluster, siblings []*kubernikusv1.Kluster) (conflict string) {
	own := k.PodRanges()
	for _, s := range siblings {
		theirs := s.PodRanges()
		overlaps := kubernikusv1.Overlap(own, theirs)
		switch {
		case overlaps && !s.UsesRouter():
			// An overlay has the same range and no routes. Where only Route GC is off, that is not certain.
			if !s.Spec.CustomCNI && t.Shared == "" {
				t.Shared = s.Namespace + "/" + s.Name
			}
			continue
		case overlaps && s.RouterID() != k.RouterID():
			return fmt.Sprintf("Kluster %[1]s/%[2]s has clusterCIDR %[3]s, which overlaps %[4]s, and its router is unknown: nothing is removed; "+
				"correct its credentials, or set its spec.openstack.routerID; "+
				"if it is on another router, set the annotation %[5]s=%[6]s on this one",
				s.Namespace, s.Name, kubernikusv1.RangesString(theirs), kubernikusv1.RangesString(own), kubernikusv1.AcceptUnknownIdentityAnnotation,
				k.AcceptingIdentities(kubernikusv1.IdentityReference("Kluster", s.Namespace+"/"+s.Name)))
		case overlaps:
			return fmt.Sprintf("Kluster %s/%s on the same router has clusterCIDR %s, which overlaps %s: nothing is removed for either; "+
				"one of them has to be recreated with another clusterCIDR, or needs no routes and sets customCNI",
				s.Namespace, s.Name, kubernikusv1.RangesString(theirs), kubernikusv1.RangesString(own))
		}
		for _, pods := range theirs {
			if pods.IsValid() {
				t.Scope.Siblings = append(t.Scope.Siblings, pods)
			}
		}
	}
	return ""
}

// targetOf returns the router of a Kluster to be checked, and the reason and the message if it is not: "" if it is. Without a target and a
// reason, Route GC has no business with the Kluster.
func targetOf(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster, config settings) (t *Target, reason, message string) {
	switch {
	case hasNone(k):
		return nil, "", ""
	case kit.IsPaused(k):
		return nil, ReasonPaused, "nothing is checked or removed while the annotation groundskeeper.io/paused is there"
	}
	switch t, reason, message = decide(k, all, config); reason {
	case ReasonDisabled:
		message = "Route GC is off: set spec.routeGC.enabled to turn it on"
	case ReasonRouterUnknown:
		message = "the router is not known: see condition OpenStackReachable, or set spec.openstack.routerID"
	}
	return t, reason, message
}

// TargetFor returns the router of a Kluster that is being deleted, and why its routes are left alone: "" when they are not. A
// reason that Route GC has, too, begins the text. Without a target the Kluster has no cloud; a target without a router means that
// the router is not known. That the Kluster is paused or detached is for the caller to see.
func TargetFor(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster, config settings) (t *Target, why string) {
	if k.Spec.NoCloud {
		return nil, ""
	}
	t, reason, text := decide(k, all, config)
	switch reason {
	case "":
		return t, ""
	case ReasonDisabled:
		text = "Route GC is off"
	case ReasonRouterUnknown:
		text = "set spec.openstack.routerID, or spec.routeGC.enabled to false when the cluster has no routes"
	case kubernikusv1.ReasonCIDRConflict:
		// It is unknown whose the routes of the range are, so that all are named and none is removed.
		t.Scope.Siblings = nil
	}
	return t, reason + ": " + text
}

// Suspicion is why a removal waits for a whole interval.
type Suspicion string

// Suspicions.
const (
	// NoServers means that Nova lists no server at all, though there are routes to some.
	NoServers Suspicion = "NoServers"
	// TooManyOrphans means that more than MaxRemovalFraction of the routes are orphans.
	TooManyOrphans Suspicion = "TooManyOrphans"
)

// Orphan is a route that leads to no server.
type Orphan struct {
	openstack.Route
	Reason kubernikusv1.OrphanReason
	// Since is when it was observed first, Due when it is removed if it is still an orphan.
	Since, Due time.Time
}

// Result is what a reconciliation saw and did.
type Result struct {
	// Owned is how many routes of the cluster the router had.
	Owned int
	// Removed are the routes that have been deleted now.
	Removed []openstack.Route
	// Spared are orphans that only DryRun keeps, Waiting those that have to be seen once more.
	Spared, Waiting []Orphan
	// Suspicion is why they have to wait for a whole interval, if they do.
	Suspicion Suspicion
	// Again is when the next reconciliation may remove more; 0: nothing is urgent, the interval will do.
	Again time.Duration
}

// judge checks the orphans of one reconciliation, in the light of those before it. It returns what to remember instead, and the orphans
// that are to be removed; the others wait.
func (h History) judge(now time.Time, own, servers int, orphans []Orphan, limits Limits) (next History, doomed []Orphan, r Result) {
	next = History{first: make(map[openstack.Route]time.Time, len(orphans))}
	r = Result{Owned: own, Suspicion: suspect(own, len(orphans), servers, limits.MaxRemovalFraction)}
	patience := limits.ConfirmAfter
	if r.Suspicion != "" {
		if next.suspicious = h.suspicious; next.suspicious.IsZero() {
			next.suspicious = now
		}
		patience = max(patience, limits.Interval)
	}
	for _, o := range orphans {
		first, seen := h.first[o.Route]
		if !seen {
			first = now
		}
		next.first[o.Route], o.Since = first, first
		if next.suspicious.After(first) {
			first = next.suspicious
		}
		o.Due = first.Add(patience)
		left := o.Due.Sub(now)
		if seen && left <= 0 {
			doomed = append(doomed, o)
			continue
		}
		r.Waiting = append(r.Waiting, o)
		if left = max(left, time.Second); r.Again == 0 || left < r.Again {
			r.Again = left
		}
	}
	return next, doomed, r
}

func suspect(own, orphans, servers int, limit float64) Suspicion {
	switch {
	case orphans == 0:
		return ""
	case servers == 0:
		return NoServers
	case float64(orphans) > limit*float64(own):
		return TooManyOrphans
	default:
		return ""
	}
}
