// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// level is who has to act on a finding.
type level int

const (
	// inProgress means that the controllers are working, and no user has to act.
	inProgress level = iota
	// warning: a user has to repair something.
	warning
)

// finding is something about an object that is not as usual.
type finding struct {
	level level
	text  string
}

func found(level level, format string, args ...any) finding {
	return finding{level, oneLine(fmt.Sprintf(format, args...))}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ago returns a time relative to now.
func ago(t *metav1.Time, now time.Time) string {
	if d := now.Sub(t.Time).Round(time.Second); d < 0 {
		return "in " + short(-d)
	}
	return lasts(t, now) + " ago"
}

// lasts is how long something has lasted that began at a time.
func lasts(t *metav1.Time, now time.Time) string {
	return short(max(0, now.Sub(t.Time).Round(time.Second)))
}

func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	}
}

func projectFindings(p *gardenerv1beta1.Project, now time.Time) (all []finding) {
	if !p.DeletionTimestamp.IsZero() {
		all = append(all, found(inProgress, "is being deleted, for %s", lasts(p.DeletionTimestamp, now)))
	}
	if since := p.Status.StaleSinceTimestamp; since != nil {
		all = append(all, staleFinding(p, since, now))
	}
	for _, c := range p.Status.Conditions {
		// Deletable and Stale are no failures.
		if c.Status == gardenerv1beta1.ConditionFalse &&
			(c.Type == gardenerv1beta1.ProjectNamespaceReady || c.Type == gardenerv1beta1.ProjectRBACReady) {
			all = append(all, found(warning, "%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	if len(all) == 0 && p.Status.Phase != gardenerv1beta1.ProjectReady {
		all = append(all, found(inProgress, "is %s", cmp.Or(string(p.Status.Phase), "not reconciled yet")))
	}
	return all
}

// staleFinding reports since when a Project is unused, and what happens to it. Only the message of its condition states that
// staleDryRun keeps the controller from deleting it.
func staleFinding(p *gardenerv1beta1.Project, since *metav1.Time, now time.Time) finding {
	unused := "is unused for " + lasts(since, now)
	end := p.Status.StaleAutoDeleteTimestamp
	if end == nil {
		return found(inProgress, "%s", unused)
	}
	due := end.After(now)
	for _, c := range p.Status.Conditions {
		if c.Type == gardenerv1beta1.ProjectStale && strings.Contains(c.Message, "staleDryRun") {
			would := "would be deleted " + ago(end, now)
			if !due {
				would = "would have been deleted " + ago(end, now)
			}
			return found(inProgress, "%s, and %s; staleDryRun prevents it", unused, would)
		}
	}
	if !due {
		return found(warning, "%s, and its deletion was due %s", unused, ago(end, now))
	}
	return found(warning, "%s, and will be deleted %s", unused, ago(end, now))
}

func klusterFindings(k *kubernikusv1.Kluster, now time.Time) (all []finding) {
	if k.DeletionTimestamp != nil {
		all = append(all, deorbitFinding(k, now))
	}
	for _, c := range k.Status.Conditions {
		switch {
		case c.Type == kubernikusv1.ConditionDeorbited, conditions.IsSummary(c.Type):
		case c.Type == kubernikusv1.ConditionPaused && c.Status == metav1.ConditionTrue:
			all = append(all, found(warning, "is paused: %s", c.Message))
		case c.Type == kubernikusv1.ConditionRoutesClean && slices.Contains([]string{"ConfirmingOrphans", "ChangedMeanwhile"}, c.Reason),
			c.Reason == kubernikusv1.ReasonSameClusterBackend, c.Reason == kubernikusv1.ReasonOwnCluster:
			all = append(all, found(inProgress, "%s: %s: %s", c.Type, c.Reason, c.Message))
		case c.Status == metav1.ConditionFalse, c.Reason == kubernikusv1.ReasonCIDRConflict:
			all = append(all, found(warning, "%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	if len(all) == 0 && k.Status.Phase != kubernikusv1.KlusterRunning && !k.Spec.NoCloud {
		all = append(all, found(inProgress, "is %s", cmp.Or(string(k.Status.Phase), "not reconciled yet: are the controllers for Klusters "+
			"enabled?")))
	}
	return all
}

func deorbitFinding(k *kubernikusv1.Kluster, now time.Time) finding {
	text := "is being deleted, for " + lasts(k.DeletionTimestamp, now)
	if d := k.Status.Deorbit; d != nil && d.Stage != "" {
		text += fmt.Sprintf(", stage %s", d.Stage)
	}
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	if c == nil {
		return found(inProgress, "%s", text)
	}
	level := inProgress
	if k.Status.Deorbit == nil || c.Reason != string(k.Status.Deorbit.Stage) {
		level = warning // any other reason than the stage is a failure
	} else if last := k.Status.Deorbit.LastProgressAt; last != nil && now.Sub(last.Time) >= stageTimeout(k) {
		level = warning
		text += fmt.Sprintf(", stuck (no progress for %s)", lasts(last, now))
	}
	return found(level, "%s: %s", text, deorbitMessage(k, c))
}

// deorbitMessage returns the reason and the message of the condition Deorbited without the stage, behind which it is printed.
func deorbitMessage(k *kubernikusv1.Kluster, c *metav1.Condition) string {
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

func backendFindings(b *gimbalv1.DiscoveryBackend, now time.Time) (all []finding) {
	if !b.DeletionTimestamp.IsZero() {
		all = append(all, found(inProgress, "is being deleted, for %s", lasts(b.DeletionTimestamp, now)))
	}
	if b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		all = append(all, maintenanceFinding(b))
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance); c != nil {
		switch {
		case c.Status == metav1.ConditionTrue:
			all = append(all, found(warning, "is in automatic maintenance: %s", c.Message))
		case c.Reason == "Held":
			all = append(all, found(warning, "is not in automatic maintenance: %s", c.Message))
		}
	}
	for _, c := range b.Status.Conditions {
		if c.Type != gimbalv1.ConditionDrained && c.Type != gimbalv1.ConditionAutomaticMaintenance && !conditions.IsSummary(c.Type) &&
			c.Status == metav1.ConditionFalse {
			level := warning
			if c.Reason == gimbalv1.ReasonSameClusterKluster {
				level = inProgress
			}
			all = append(all, found(level, "%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	for _, e := range b.Status.Errors {
		all = append(all, found(warning, "%s: %s", e.Type, e.Message))
	}
	return all
}

func maintenanceFinding(b *gimbalv1.DiscoveryBackend) finding {
	if meta.IsStatusConditionTrue(b.Status.Conditions, gimbalv1.ConditionDrained) {
		return found(inProgress, "is in maintenance and drained")
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained); c != nil && c.Reason == gimbalv1.ReasonSameCluster {
		return found(warning, "is in maintenance: %s", c.Message)
	}
	text := "is in maintenance, being drained"
	if r := b.Status.Routes; r != nil {
		text += fmt.Sprintf(": %d of %d routes", r.Drained, r.Matching)
	}
	return found(inProgress, "%s", text)
}

func translationFindings(t *midonetv1.Translation, now time.Time) (all []finding) {
	if !t.DeletionTimestamp.IsZero() {
		all = append(all, found(inProgress, "is being deleted, for %s", lasts(t.DeletionTimestamp, now)))
	}
	if c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		all = append(all, found(warning, "%s: %s", c.Reason, c.Message))
	} else if c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionSynced); c != nil && c.Status == metav1.ConditionFalse {
		all = append(all, found(inProgress, "%s: %s", c.Reason, c.Message))
	}
	drifted := 0
	for _, r := range t.Status.Resources {
		if r.State == midonetv1.BackendResourceDrifted {
			drifted++
		}
	}
	if drifted > 0 {
		all = append(all, found(warning, "%d of %d resources were changed in MidoNet by another client", drifted, len(t.Status.Resources)))
	}
	return all
}
