// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

var (
	reasons = []string{"Reachable", "Unreachable", "SecretMissing", "NoImage", "Enabled", "Draining", "NamespaceInUse", "Conflict", "CIDRConflict", "Claims"}
	types   = []string{
		kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable, kubernikusv1.ConditionRoutesClean,
		kubernikusv1.ConditionDeorbited, kubernikusv1.ConditionPaused, gimbalv1.ConditionAvailable, gimbalv1.ConditionDiscovered,
		gimbalv1.ConditionCredentialsValid, gimbalv1.ConditionDrained, gimbalv1.ConditionAutomaticMaintenance, midonetv1.ConditionSynced,
		midonetv1.ConditionStalled, string(gardenerv1beta1.ProjectNamespaceReady), string(gardenerv1beta1.ProjectRBACReady),
		string(gardenerv1beta1.ProjectDeletable), string(gardenerv1beta1.ProjectStale),
	}
)

// drawn is an object with any conditions, as the API server stores it.
func drawn(t *rapid.T) client.Object {
	meta := metav1.ObjectMeta{Generation: rapid.Int64Range(1, 2).Draw(t, "generation")}
	if rapid.Bool().Draw(t, "deleted") {
		meta.DeletionTimestamp = at(-rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "since"))
		meta.Finalizers = []string{kubernikusv1.DeorbiterFinalizer, gimbalv1.FinalizerName, midonetv1.FinalizerName, gardenerv1beta1.FinalizerName}
	}
	observed := rapid.Int64Range(0, meta.Generation).Draw(t, "observed")
	var list []metav1.Condition
	for _, kind := range types {
		if rapid.Bool().Draw(t, kind) {
			list = append(list, metav1.Condition{Type: kind, Message: "message", ObservedGeneration: observed, LastTransitionTime: *at(-time.Hour),
				Status: rapid.SampledFrom([]metav1.ConditionStatus{"True", "True", "False", "Unknown"}).Draw(t, "status"), Reason: rapid.SampledFrom(reasons).Draw(t, "reason")})
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		p := &gardenerv1beta1.Project{ObjectMeta: meta, Status: gardenerv1beta1.ProjectStatus{ObservedGeneration: observed}}
		for _, c := range list {
			p.Status.Conditions = append(p.Status.Conditions, gardenerv1beta1.Condition{Type: gardenerv1beta1.ConditionType(c.Type),
				Status: gardenerv1beta1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
		}
		conditions.SetProject(p, p.DeepCopy(), noon)
		return p
	case 1:
		k := &kubernikusv1.Kluster{ObjectMeta: meta, Status: kubernikusv1.KlusterStatus{ObservedGeneration: observed, Conditions: list}}
		conditions.SetKluster(k, k.DeepCopy(), noon)
		return k
	case 2:
		b := &gimbalv1.DiscoveryBackend{ObjectMeta: meta, Status: gimbalv1.DiscoveryBackendStatus{ObservedGeneration: observed, Conditions: list}}
		b.Cluster.ClusterStatus = rapid.SampledFrom([]gimbalv1.ClusterStatus{gimbalv1.ClusterEnabled, gimbalv1.ClusterMaintenance}).Draw(t, "clusterStatus")
		conditions.SetDiscoveryBackend(b, b.DeepCopy(), noon)
		return b
	default:
		tr := &midonetv1.Translation{ObjectMeta: meta, Status: midonetv1.TranslationStatus{ObservedGeneration: observed, Conditions: list}}
		conditions.SetTranslation(tr, tr.DeepCopy(), noon)
		return tr
	}
}

// An object is ok if and only if Ready is True for its generation and it is not being deleted; what why adds does not change that; and
// without a controller nothing that waits for one is in progress.
func TestFindingsFollowReady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := drawn(t)
		s, _ := conditions.Of(object)
		ok := s.Ready == metav1.ConditionTrue && object.GetDeletionTimestamp() == nil
		all := Of(object, nil, noon)
		if OK(all) != ok {
			t.Errorf("%T with Ready %s, deleted at %v: findings = %+v", object, s.Ready, object.GetDeletionTimestamp(), all)
		}
		if !ok && (Worst(all) == Warning) != s.Stalled {
			t.Errorf("%T, stalled: %t: findings = %+v", object, s.Stalled, all)
		}
		if worst := Worst(Why(object, nil, noon)); worst.Rank() > max(Worst(all).Rank(), Info.Rank()) {
			t.Errorf("%T: why has level %q, status %q", object, worst, Worst(all))
		}
		late := Of(object, func(name string) string { return "the controller " + name + " is disabled" }, noon.Add(time.Hour))
		if OK(late) != ok || !ok && Worst(late) != Warning {
			t.Errorf("%T without a controller: findings = %+v", object, late)
		}
	})
}
