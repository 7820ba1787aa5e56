// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	kubernikusapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/kubernikus/v1"
)

// reasonPaused is the reason of the condition Paused.
const reasonPaused = "Annotated"

// ownConditions returns the conditions that this controller is the only one to write.
func ownConditions() []string {
	return []string{
		kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable, kubernikusv1.ConditionPaused,
		kubernikusv1.ConditionClusterPermissionsGranted, kubernikusv1.ConditionOpenStackServicesUsable, kubernikusv1.ConditionClusterUnique,
	}
}

// findings are what is known of a Kluster now.
type findings struct {
	// cloud and workload are the last checks; nil: there was none yet, so that what the status reports about it stays.
	cloud    *cloudView
	workload *workloadView
	// permissions and services are the last preflights of the Secret; nil: there was none yet.
	permissions, services *metav1.Condition
	// identity is which cluster the Secret leads to.
	identity *kubernikusv1.KlusterIdentity
	// twins are the other Klusters that lead to the same cluster.
	twins []string
	// expected is true when there is a workload cluster to check.
	expected bool
	// paused keeps all unchanged.
	paused bool
}

// conditionsOf returns the conditions that are to be there: new ones, and those that stay because nothing new is known.
func conditionsOf(k *kubernikusv1.Kluster, found findings) (reported, stay []metav1.Condition) {
	keep := func(kind string) {
		if c := meta.FindStatusCondition(k.Status.Conditions, kind); c != nil {
			stay = append(stay, *c)
		}
	}
	if found.workload != nil {
		reported = append(reported, found.workload.condition())
	} else {
		keep(kubernikusv1.ConditionAPIServerReachable)
	}
	switch {
	case found.cloud != nil:
		reported = append(reported, found.cloud.condition())
	case !k.Spec.NoCloud:
		keep(kubernikusv1.ConditionOpenStackReachable)
	}
	// A preflight follows each successful probe. After a failed probe, the last preflight may be that of another Secret.
	preflight := func(kind string, last *metav1.Condition, failed bool, probe string) {
		switch {
		case last != nil:
			reported = append(reported, *last)
		case failed:
			reported = append(reported, notChecked(kind, "could not be checked: see condition "+probe))
		default:
			keep(kind)
		}
	}
	preflight(kubernikusv1.ConditionClusterPermissionsGranted, found.permissions,
		found.workload != nil && found.workload.version == "", kubernikusv1.ConditionAPIServerReachable)
	if !k.Spec.NoCloud {
		preflight(kubernikusv1.ConditionOpenStackServicesUsable, found.services,
			found.cloud != nil && found.cloud.err != nil, kubernikusv1.ConditionOpenStackReachable)
	}
	if len(found.twins) > 0 {
		reported = append(reported, sharedWith(found.twins))
	}
	if found.paused {
		reported = append(reported, metav1.Condition{Type: kubernikusv1.ConditionPaused, Status: metav1.ConditionTrue, Reason: reasonPaused,
			Message: "nothing is done while the annotation groundskeeper.io/paused is there"})
	}
	return reported, stay
}

// status is the part of a status that this controller writes.
type status struct {
	observed   int64
	phase      kubernikusv1.KlusterPhase // "": another client's
	version    string                    // "": none, or another client's
	openstack  *kubernikusv1.OpenstackStatus
	identity   *kubernikusv1.KlusterIdentity
	conditions []metav1.Condition
}

// nextStatus returns what to write, and whether it does not exist yet.
func nextStatus(k *kubernikusv1.Kluster, found findings, now time.Time) (next status, changed bool) {
	reported, stay := conditionsOf(k, found)
	next.conditions, changed = kluster.Conditions(k, reported, now)
	next.conditions = append(next.conditions, stay...)
	for _, kind := range ownConditions() {
		is := func(c metav1.Condition) bool { return c.Type == kind }
		changed = changed || slices.ContainsFunc(k.Status.Conditions, is) && !slices.ContainsFunc(next.conditions, is)
	}
	next.observed, next.openstack, next.identity = k.Generation, k.Status.Openstack, found.identity
	if found.paused {
		next.observed = k.Status.ObservedGeneration
	}
	if k.Spec.NoCloud {
		next.openstack = nil
	}
	if found.cloud != nil && found.cloud.found != nil {
		next.openstack = found.cloud.found
	}
	responded, version := false, k.Status.ApiserverVersion
	if found.workload != nil && found.workload.version != "" {
		responded, version = true, found.workload.version
	}
	if !writtenByOthers(k, fieldAPIServerVersion) {
		next.version = version
		changed = changed || k.Status.ApiserverVersion != version
	}
	if !writtenByOthers(k, fieldPhase) {
		next.phase = k.Status.Phase
		// Before the first check since this process began nothing is known that the phase did not report.
		if !found.paused && (found.workload != nil || k.Status.Phase == "" || !k.DeletionTimestamp.IsZero()) {
			next.phase = phaseOf(k, responded, found.expected, version)
		}
		changed = changed || k.Status.Phase != next.phase
	}
	return next, changed || k.Status.ObservedGeneration != next.observed || !equality.Semantic.DeepEqual(k.Status.Openstack, next.openstack) ||
		!equality.Semantic.DeepEqual(k.Status.Identity, next.identity)
}

// applied returns the patch that writes it.
func (s status) applied(k *kubernikusv1.Kluster) *kubernikusapply.KlusterApplyConfiguration {
	patch := kluster.Apply(k, s.conditions)
	patch.Status.WithObservedGeneration(s.observed)
	if s.phase != "" {
		patch.Status.WithPhase(s.phase)
	}
	if s.version != "" {
		patch.Status.WithApiserverVersion(s.version)
	}
	if found := s.openstack; found != nil {
		openstack := kubernikusapply.OpenstackStatus()
		for _, field := range []struct {
			value string
			set   func(string) *kubernikusapply.OpenstackStatusApplyConfiguration
		}{
			{found.ProjectID, openstack.WithProjectID}, {found.Region, openstack.WithRegion}, {found.RouterID, openstack.WithRouterID},
			{found.NetworkID, openstack.WithNetworkID}, {found.LBSubnetID, openstack.WithLBSubnetID}, {found.AuthHost, openstack.WithAuthHost},
		} {
			if field.value != "" {
				field.set(field.value)
			}
		}
		patch.Status.WithOpenstack(openstack)
	}
	if found := s.identity; found != nil {
		identity := kubernikusapply.KlusterIdentity()
		for _, field := range []struct {
			value string
			set   func(string) *kubernikusapply.KlusterIdentityApplyConfiguration
		}{
			{found.ClusterID, identity.WithClusterID}, {found.Server, identity.WithServer}, {found.Connection, identity.WithConnection}, {found.Reason, identity.WithReason},
		} {
			if field.value != "" {
				field.set(field.value)
			}
		}
		patch.Status.WithIdentity(identity)
	}
	return patch
}

// phaseOf sums up a Kluster. Responded is true when its API server responded just now, with the version it runs; expected is true
// when the Secret has a way into the workload cluster. A cluster that was reached once keeps its phase while it does not respond:
// the condition APIServerReachable reports that.
func phaseOf(k *kubernikusv1.Kluster, responded, expected bool, version string) kubernikusv1.KlusterPhase {
	switch {
	case !k.DeletionTimestamp.IsZero():
		return kubernikusv1.KlusterTerminating
	case responded && differs(k.Spec.Version, version):
		return kubernikusv1.KlusterUpgrading
	case responded:
		return kubernikusv1.KlusterRunning
	case k.Status.Phase == kubernikusv1.KlusterRunning, k.Status.Phase == kubernikusv1.KlusterUpgrading:
		return k.Status.Phase
	case expected:
		return kubernikusv1.KlusterCreating
	default:
		return kubernikusv1.KlusterPending
	}
}

// releaseNumber is the part of a version that the builds of all vendors have in common.
var releaseNumber = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)`)

// differs reports whether a cluster runs another version than the desired one. A version that cannot be parsed is not a difference.
func differs(wanted, runs string) bool {
	a, b := releaseNumber.FindStringSubmatch(wanted), releaseNumber.FindStringSubmatch(runs)
	return a != nil && b != nil && a[1] != b[1]
}

// Fields of the status that Kubernikus, or the builder of the cluster, may write instead of Groundskeeper.
const (
	fieldPhase            = "f:phase"
	fieldAPIServerVersion = "f:apiserverVersion"
)

// writtenByOthers reports whether another client wrote a field of the status, which is then theirs: Groundskeeper does not fight.
// The managed fields show it.
func writtenByOthers(k *kubernikusv1.Kluster, field string) bool {
	for _, entry := range k.ManagedFields {
		if entry.Manager == fieldOwner || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Status map[string]json.RawMessage `json:"f:status"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Status[field] != nil {
			return true
		}
	}
	return false
}
