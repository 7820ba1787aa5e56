// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reasons of the condition RoutesClean while no pass is made.
const (
	// ReasonPaused means that an annotation requests it.
	ReasonPaused = "Paused"
	// ReasonDisabled means that Route GC is off for the Kluster.
	ReasonDisabled = "Disabled"
	// ReasonRouterUnknown means that the router is neither named nor found.
	ReasonRouterUnknown = "RouterUnknown"
)

// mayShareRouter reports whether another Kluster, whose router is unknown, may have its routes on the router of one: it is in the same
// project; or its project is unknown, too, and the namespace or the name of the cluster is the same.
func mayShareRouter(k, other *kubernikusv1.Kluster) bool {
	released := !other.DeletionTimestamp.IsZero() && !other.HasDeorbiter()
	if other.RouterID() != "" || !other.UsesRouter() || released || k.AcceptsUnknownIdentity(other.Namespace+"/"+other.Name) {
		return false
	}
	name := valueOf(k.Spec.CloudProvider.ClusterName)
	namesake := name != "" && name != kubernikusv1.SharedCloudProviderName && name == valueOf(other.Spec.CloudProvider.ClusterName)
	return kluster.SharesProject(k, other) || kluster.MayShareProject(k, other) && (other.Namespace == k.Namespace || namesake)
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// siblings returns the other Klusters that are or may be on the router of one, in the order of their names.
func siblings(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster) []*kubernikusv1.Kluster {
	var found []*kubernikusv1.Kluster
	for i := range all {
		other := &all[i]
		on := other.RouterID() == k.RouterID() || mayShareRouter(k, other)
		if other.UID != k.UID && on && !kluster.AreDeletedTogether(k, other) && !other.Spec.NoCloud && other.PodRanges()[0].IsValid() {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *kubernikusv1.Kluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// settings are the configuration and what a Kluster specifies otherwise.
type settings struct {
	enabled, dryRun bool
	limits          Limits
}

func settingsOf(k *kubernikusv1.Kluster, config configv1alpha1.RouteGCConfiguration) settings {
	s := settings{
		enabled: *config.Enabled, dryRun: *config.DryRun,
		limits: Limits{ConfirmAfter: config.ConfirmAfter.Duration, Interval: config.Interval.Duration, MaxRemovalFraction: *config.MaxRemovalFraction},
	}
	own := k.Spec.RouteGC
	s.enabled = s.enabled && k.UsesRouter()
	if own == nil {
		return s
	}
	if own.Enabled != nil {
		s.enabled = *own.Enabled
	}
	if own.DryRun != nil {
		s.dryRun = *own.DryRun
	}
	if own.Interval != nil {
		s.limits.Interval = own.Interval.Duration
	}
	return s
}

// Enabled reports whether Route GC manages a Kluster, as soon as its router is known.
func Enabled(k *kubernikusv1.Kluster, config configv1alpha1.RouteGCConfiguration) bool {
	released := !k.DeletionTimestamp.IsZero() && (k.Detached() || !k.HasDeorbiter())
	return !k.Spec.NoCloud && !released && !kit.IsPaused(k) && settingsOf(k, config).enabled
}

// plan is what to do about a Kluster: a target, or the condition that reports why there is none. Neither of them means that Route
// GC has no business with it.
type plan struct {
	target *Target
	why    *metav1.Condition
}

// planFor decides about a Kluster among all others. To be deleted changes nothing, except for a Kluster that is released unchanged.
func planFor(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster, config configv1alpha1.RouteGCConfiguration) plan {
	s := settingsOf(k, config)
	not := func(reason, message string) plan {
		return plan{why: &metav1.Condition{Type: kubernikusv1.ConditionRoutesClean, Status: metav1.ConditionUnknown, Reason: reason, Message: message}}
	}
	switch {
	case k.Spec.NoCloud, !k.DeletionTimestamp.IsZero() && (k.Detached() || !k.HasDeorbiter()):
		return plan{}
	case kit.IsPaused(k):
		return not(ReasonPaused, "nothing is checked or removed while the annotation groundskeeper.io/paused is there")
	case !s.enabled:
		return not(ReasonDisabled, "Route GC is off: set spec.routeGC.enabled to turn it on")
	case k.RouterID() == "":
		return not(ReasonRouterUnknown, "the router is not known: see condition OpenStackReachable, or set spec.openstack.routerID")
	}
	target, conflict := targetOf(k, all, s)
	if conflict != "" {
		return not(kubernikusv1.ReasonCIDRConflict, conflict)
	}
	return plan{target: target}
}

// targetOf returns the router of a Kluster, and what is wrong when a sibling has a part of its range.
func targetOf(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster, s settings) (target *Target, conflict string) {
	own := k.PodRanges()
	target = &Target{RouterID: k.RouterID(), Scope: Scope{ClusterCIDR: own[0], SecondCIDR: own[1]}, Limits: s.limits, DryRun: s.dryRun}
	for _, s := range siblings(k, all) {
		theirs := s.PodRanges()
		switch {
		case kubernikusv1.Overlap(own, theirs) && !s.UsesRouter():
			// An overlay has the same range and no routes. Where only Route GC is off, that is not certain.
			if !s.Spec.CustomCNI && target.Shared == "" {
				target.Shared = s.Namespace + "/" + s.Name
			}
			continue
		case kubernikusv1.Overlap(own, theirs) && s.RouterID() != k.RouterID():
			return target, fmt.Sprintf("Kluster %[1]s/%[2]s has clusterCIDR %[3]s, which overlaps %[4]s, and its router is unknown: nothing is removed; "+
				"correct its credentials, or set its spec.openstack.routerID; if it is on another router, set the annotation %[5]s=%[1]s/%[2]s on this one",
				s.Namespace, s.Name, kubernikusv1.RangesString(theirs), kubernikusv1.RangesString(own), kubernikusv1.AcceptUnknownIdentityAnnotation)
		case kubernikusv1.Overlap(own, theirs):
			return target, fmt.Sprintf("Kluster %s/%s on the same router has clusterCIDR %s, which overlaps %s: nothing is removed for either; "+
				"one of them has to be recreated with another clusterCIDR, or needs no routes and sets customCNI",
				s.Namespace, s.Name, kubernikusv1.RangesString(theirs), kubernikusv1.RangesString(own))
		}
		for _, pods := range theirs {
			if pods.IsValid() {
				target.Scope.Siblings = append(target.Scope.Siblings, pods)
			}
		}
	}
	return target, ""
}

// TargetFor returns the router of a Kluster that is being deleted, and why its routes are left alone: "" when they are not. A
// reason that Route GC has, too, begins the text. Without a target the Kluster has no cloud; a target without a router means that
// the router is not known. That the Kluster is paused or detached is for the caller to see.
func TargetFor(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster, config configv1alpha1.RouteGCConfiguration) (target *Target, why string) {
	s := settingsOf(k, config)
	if k.Spec.NoCloud {
		return nil, ""
	}
	switch {
	case k.RouterID() == "" && !s.enabled:
		return &Target{}, ReasonDisabled + ": Route GC is off"
	case k.RouterID() == "":
		return &Target{}, ReasonRouterUnknown + ": set spec.openstack.routerID, or spec.routeGC.enabled to false when the cluster has no routes"
	}
	target, conflict := targetOf(k, all, s)
	switch {
	case !s.enabled:
		return target, ReasonDisabled + ": Route GC is off"
	case conflict != "":
		// It is unknown whose the routes of the range are, so that all are named and none is removed.
		target.Scope.Siblings = nil
		return target, kubernikusv1.ReasonCIDRConflict + ": " + conflict
	default:
		return target, ""
	}
}

// same reports whether another plan leads to the same removals.
func (t *Target) same(other *Target) bool {
	return other != nil && t.RouterID == other.RouterID && t.DryRun == other.DryRun && t.Scope.ClusterCIDR == other.Scope.ClusterCIDR && t.Scope.SecondCIDR == other.Scope.SecondCIDR && t.Shared == other.Shared &&
		slices.EqualFunc(t.Scope.Siblings, other.Scope.Siblings, func(a, b netip.Prefix) bool { return a == b })
}
