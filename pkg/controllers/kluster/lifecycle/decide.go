// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

const (
	// interval is the time between two probes, and retryPause after one that failed. Up to a tenth is added, so that probes
	// are distributed.
	interval   = 5 * time.Minute
	retryPause = time.Minute
	jitter     = 0.1
	// preflightAge is when a good preflight is repeated: permissions may be revoked. preflightRetry is when one that found something is:
	// they may be granted without a change that Groundskeeper sees.
	preflightAge   = 24 * time.Hour
	preflightRetry = 15 * time.Minute
)

func pause(good bool) time.Duration {
	if good {
		return wait.Jitter(interval, jitter)
	}
	return wait.Jitter(retryPause, jitter)
}

func nextPreflight(c metav1.Condition, now time.Time) time.Time {
	if c.Status == metav1.ConditionTrue {
		return now.Add(preflightAge)
	}
	return now.Add(preflightRetry)
}

// identityOf returns which cluster the Secret of a Kluster leads to, by the last check, nil when there was none yet. What was learnt over
// the same connection stays while the cluster does not respond. A Secret that leads to another API server has to prove it again.
func identityOf(k *kubernikusv1.Kluster, secret *corev1.Secret, seen *workloadView) *kubernikusv1.KlusterIdentity {
	next := &kubernikusv1.KlusterIdentity{}
	if secret != nil {
		if config, err := kluster.Workload(k, secret.Data); err == nil {
			next.Server, next.Connection = kluster.ConnectionOf(config)
		} else {
			next.Server, _ = kluster.ServerOf(secret.Data[kluster.KeyKubeconfig]) // it may lead to another Kluster's cluster
		}
	}
	if next.Connection == "" && k.ClusterID() != "" {
		return k.Status.Identity // nothing leads anywhere else
	}
	if next.Connection != "" && seen != nil {
		next.ClusterID = seen.clusterID
	}
	next.ClusterID = cmp.Or(next.ClusterID, kluster.ProvenID(k, next.Connection))
	switch {
	case next.ClusterID != "":
	case seen == nil:
		next.Reason = clusterid.ReasonPending
	default:
		next.Reason = cmp.Or(seen.reason, reasonUnidentified)
	}
	return next
}

type findings struct {
	// cloud and workload are the last checks; nil: there was none yet, so that what the status reports about it stays.
	cloud    *cloudView
	workload *workloadView
	// permissions and services are the last preflights of the Secret; nil: there was none yet.
	permissions, services *metav1.Condition
	identity              *kubernikusv1.KlusterIdentity
	sharers               sharers
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
	if c := found.sharers.condition(); c != nil {
		reported = append(reported, *c)
	} else if last := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique); last != nil && found.sharers.unknown &&
		last.Reason == kubernikusv1.ReasonSameClusterBackend {
		stay = append(stay, *last)
	}
	if found.paused {
		reported = append(reported, metav1.Condition{Type: kubernikusv1.ConditionPaused, Status: metav1.ConditionTrue, Reason: reasonPaused,
			Message: "nothing is done while the annotation groundskeeper.io/paused is there"})
	}
	return reported, stay
}

// nextStatus returns the part of a status that this controller writes, and whether it differs from what is there. A phase and a version
// that are empty are none, or those of another client.
func nextStatus(k *kubernikusv1.Kluster, found findings, now time.Time) (next kubernikusv1.KlusterStatus, changed bool) {
	reported, stay := conditionsOf(k, found)
	next.Conditions, changed = kluster.Conditions(k, reported, now)
	next.Conditions = append(next.Conditions, stay...)
	for _, kind := range ownConditions() {
		is := func(c metav1.Condition) bool { return c.Type == kind }
		changed = changed || slices.ContainsFunc(k.Status.Conditions, is) && !slices.ContainsFunc(next.Conditions, is)
	}
	next.ObservedGeneration, next.Openstack, next.Identity = k.Generation, k.Status.Openstack, found.identity
	if found.paused {
		next.ObservedGeneration = k.Status.ObservedGeneration
	}
	if k.Spec.NoCloud {
		next.Openstack = nil
	}
	if found.cloud != nil && found.cloud.found != nil {
		next.Openstack = found.cloud.found
		if known := k.Status.Openstack; known != nil && known.LBFloatingNetworkID != "" { // the builder of the cluster writes it
			next.Openstack = next.Openstack.DeepCopy()
			next.Openstack.LBFloatingNetworkID = known.LBFloatingNetworkID
		}
	}
	responded, version := false, k.Status.ApiserverVersion
	if found.workload != nil && found.workload.version != "" {
		responded, version = true, found.workload.version
	}
	if !writtenByOthers(k, fieldAPIServerVersion) {
		next.ApiserverVersion = version
		changed = changed || k.Status.ApiserverVersion != version
	}
	if !writtenByOthers(k, fieldPhase) {
		next.Phase = k.Status.Phase
		// Before the first check since this process began nothing is known that the phase did not report.
		if !found.paused && (found.workload != nil || k.Status.Phase == "" || !k.DeletionTimestamp.IsZero()) {
			next.Phase = phaseOf(k, responded, found.expected, version)
		}
		changed = changed || k.Status.Phase != next.Phase
	}
	return next, changed || k.Status.ObservedGeneration != next.ObservedGeneration ||
		!equality.Semantic.DeepEqual(k.Status.Openstack, next.Openstack) || !equality.Semantic.DeepEqual(k.Status.Identity, next.Identity)
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
