// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// patience is how long an object may wait for its controller before that is a finding if no controller runs that could reconcile it.
const patience = time.Minute

// Idle returns why the controller with a name does not run, and "" if it does, or if that is unknown.
type Idle func(controller string) string

// Of returns the findings about an object of Groundskeeper. An object is ok if Ready is True for its generation and it is not being
// deleted. Else the first finding is its state, from Ready, Stalled and the deletion alone. The others are for information.
func Of(object client.Object, idle Idle, now time.Time) []Finding {
	return slices.Concat(state(object, idle, now), notes(object, now))
}

// state returns the finding about an object that is not ok.
func state(object client.Object, idle Idle, now time.Time) []Finding {
	s, since := conditions.Of(object)
	deleted := object.GetDeletionTimestamp()
	if s.Ready == "" || deleted.IsZero() && s.Ready == metav1.ConditionTrue { // it is of another kind, or ok
		return nil
	}
	f, stuck := Found(InProgress, "%s", problem(&s)), false
	if !deleted.IsZero() {
		since = deleted.Time
		f.Message, stuck = deletion(object, &s, now)
	}
	if s.Stalled || stuck {
		f.Level = Warning
	}
	// What stalls it may have been repaired: as long as nobody reconciles it, its status stays, such as that the Secret is missing.
	if reason := waiting(object, idle, since, now); reason != "" {
		f.Level, f.Message = Warning, f.Message+"; "+reason
	}
	return []Finding{f}
}

// problem returns why an object is not ready.
func problem(s *conditions.Summary) string {
	if s.Reason == conditions.ReasonProgressing {
		return s.Message
	}
	return strings.TrimSuffix(s.Reason+": "+s.Message, ": ")
}

// waiting returns why no controller reconciles an object that has waited for a while, "" if one does, or if that is unknown.
func waiting(object client.Object, idle Idle, since, now time.Time) string {
	if idle == nil || now.Sub(since) < patience {
		return ""
	}
	for _, name := range controllers(object) {
		if reason := idle(name); reason != "" {
			return "no controller reconciles it: " + reason
		}
	}
	return ""
}

// controllers returns the names of those that an object waits for, none of one that only the finalizers of others keep.
func controllers(object client.Object) (names []string) {
	deleted := !object.GetDeletionTimestamp().IsZero()
	holds := func(finalizers ...string) bool {
		return !deleted || slices.ContainsFunc(finalizers, func(f string) bool { return slices.Contains(object.GetFinalizers(), f) })
	}
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		if holds(gardenerv1beta1.FinalizerName) {
			names = []string{"project"}
		}
	case *kubernikusv1.Kluster:
		switch {
		case !deleted:
			names = []string{"kluster"}
		case o.HasDeorbiter():
			names = []string{"kluster-deorbit"}
		case holds(kubernikusv1.ClusterAPIFinalizer):
			names = []string{"kluster-capi"}
		}
	case *gimbalv1.DiscoveryBackend:
		if holds(gimbalv1.FinalizerName) {
			names = []string{"discovery-operator"}
		}
		if !deleted && o.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
			names = append(names, "discovery-maintenance")
		}
	case *midonetv1.Translation:
		if holds(midonetv1.FinalizerName) {
			names = []string{"translation-push"}
		}
	}
	return names
}

// deletion returns how far the deletion of an object is, and whether it makes no progress.
func deletion(object client.Object, s *conditions.Summary, now time.Time) (text string, stuck bool) {
	text = "is being deleted, for " + Lasts(object.GetDeletionTimestamp(), now)
	k, ok := object.(*kubernikusv1.Kluster)
	if !ok {
		if s.Message != conditions.MessageTerminating && s.Message != "" {
			text += ": " + s.Message
		}
		return OneLine(text), false
	}
	if d := k.Status.Deorbit; d != nil && d.Stage != "" {
		text += ", stage " + string(d.Stage)
		if d.LastProgressAt != nil && now.Sub(d.LastProgressAt.Time) >= stageTimeout(k) {
			stuck = true
			text += fmt.Sprintf(", stuck (no progress for %s)", Lasts(d.LastProgressAt, now))
		}
	}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited); c != nil {
		text += ": " + DeorbitMessage(k, c)
	}
	return OneLine(text), stuck
}

// DeorbitMessage returns the reason and the message of the condition Deorbited without the stage, behind which it is printed.
func DeorbitMessage(k *kubernikusv1.Kluster, c *metav1.Condition) string {
	var stage string
	if d := k.Status.Deorbit; d != nil {
		stage = string(d.Stage)
	}
	message := strings.TrimPrefix(c.Message, stage+": ")
	if c.Reason == stage {
		return message
	}
	return c.Reason + ": " + message
}

// stageTimeout returns how long a stage of a Kluster may make no progress: its own time, or the default, as the configuration of the
// controller manager is not known here.
func stageTimeout(k *kubernikusv1.Kluster) time.Duration {
	if own := k.Spec.Deorbit.StageTimeout; own != nil {
		return own.Duration
	}
	return kubernikusv1.DefaultDeorbitStageTimeout
}

// notes returns what is worth knowing about an object even where it is ok.
func notes(object client.Object, now time.Time) (all []Finding) {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		if since := o.Status.StaleSinceTimestamp; since != nil {
			all = append(all, stale(o, since, now))
		}
	case *kubernikusv1.Kluster:
		if c := meta.FindStatusCondition(o.Status.Conditions, kubernikusv1.ConditionPaused); c != nil && c.Status == metav1.ConditionTrue {
			all = append(all, Found(Info, "is paused: %s", c.Message))
		}
	case *gimbalv1.DiscoveryBackend:
		if o.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
			all = append(all, Found(Info, "%s", maintenance(o)))
		}
		if c := meta.FindStatusCondition(o.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance); c != nil {
			switch {
			case c.Status == metav1.ConditionTrue:
				all = append(all, Found(Info, "is in automatic maintenance: %s", c.Message))
			case c.Reason == "Held":
				all = append(all, Found(Info, "is not in automatic maintenance: %s", c.Message))
			}
		}
	}
	return all
}

func maintenance(b *gimbalv1.DiscoveryBackend) string {
	if meta.IsStatusConditionTrue(b.Status.Conditions, gimbalv1.ConditionDrained) {
		return "is in maintenance and drained"
	}
	if r := b.Status.Routes; r != nil {
		return fmt.Sprintf("is in maintenance, being drained: %d of %d routes", r.Drained, r.Matching)
	}
	return "is in maintenance, being drained"
}

// stale reports since when a Project is unused, and what happens to it. Only the message of its condition states that staleDryRun
// keeps the controller from deleting it.
func stale(p *gardenerv1beta1.Project, since *metav1.Time, now time.Time) Finding {
	unused := "is unused for " + Lasts(since, now)
	end := p.Status.StaleAutoDeleteTimestamp
	if end == nil {
		return Found(Info, "%s", unused)
	}
	due, what := end.After(now), ""
	for _, c := range p.Status.Conditions {
		if c.Type == gardenerv1beta1.ProjectStale && strings.Contains(c.Message, "staleDryRun") {
			what = "would have been deleted %s; staleDryRun prevents it"
			if due {
				what = "would be deleted %s; staleDryRun prevents it"
			}
		}
	}
	switch {
	case what != "":
	case due:
		what = "will be deleted %s"
	default:
		what = "its deletion was due %s"
	}
	return Found(Info, "%s, and "+what, unused, Ago(end, now))
}
