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
)

// level says who has to do with a finding.
type level int

const (
	// busy: our controllers are at work, nobody has to do anything.
	busy level = iota
	// warning: somebody has to put something right.
	warning
)

// finding is something about an object that is not as on an ordinary day.
type finding struct {
	level level
	text  string
}

func found(level level, format string, args ...any) finding {
	return finding{level, oneLine(fmt.Sprintf(format, args...))}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ago is a time as people say it.
func ago(t *metav1.Time, now time.Time) string {
	d := now.Sub(t.Time).Round(time.Second)
	switch {
	case d < 0:
		return "in " + short(-d)
	default:
		return short(d) + " ago"
	}
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

// projectFindings are those of a Project.
func projectFindings(p *gardenerv1beta1.Project, now time.Time) (all []finding) {
	if !p.DeletionTimestamp.IsZero() {
		all = append(all, found(busy, "is being deleted since %s", ago(p.DeletionTimestamp, now)))
	}
	switch since, end := p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp; {
	case end != nil:
		all = append(all, found(warning, "nobody uses it since %s: it is deleted %s", ago(since, now), ago(end, now)))
	case since != nil:
		all = append(all, found(busy, "nobody uses it since %s", ago(since, now)))
	}
	for _, c := range p.Status.Conditions {
		// Deletable and Stale are answers, not troubles.
		if c.Status == gardenerv1beta1.ConditionFalse && (c.Type == gardenerv1beta1.ProjectNamespaceReady || c.Type == gardenerv1beta1.ProjectRBACReady) {
			all = append(all, found(warning, "%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	if len(all) == 0 && p.Status.Phase != gardenerv1beta1.ProjectReady {
		all = append(all, found(busy, "is %s", cmp.Or(string(p.Status.Phase), "not looked at yet")))
	}
	return all
}

// klusterFindings are those of a Kluster.
func klusterFindings(k *kubernikusv1.Kluster, now time.Time) (all []finding) {
	if k.DeletionTimestamp != nil {
		all = append(all, deorbitFinding(k, now))
	}
	for _, c := range k.Status.Conditions {
		switch {
		case c.Type == kubernikusv1.ConditionDeorbited:
		case c.Type == kubernikusv1.ConditionPaused && c.Status == metav1.ConditionTrue:
			all = append(all, found(warning, "is paused: %s", c.Message))
		case c.Type == kubernikusv1.ConditionRoutesClean && slices.Contains([]string{"ConfirmingOrphans", "ChangedMeanwhile"}, c.Reason):
			all = append(all, found(busy, "%s: %s: %s", c.Type, c.Reason, c.Message))
		case c.Status == metav1.ConditionFalse, c.Reason == kubernikusv1.ReasonCIDRConflict:
			all = append(all, found(warning, "%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	if len(all) == 0 && k.Status.Phase != kubernikusv1.KlusterRunning && !k.Spec.NoCloud {
		all = append(all, found(busy, "is %s", cmp.Or(string(k.Status.Phase), "not looked at yet: are the controllers of Klusters on?")))
	}
	return all
}

func deorbitFinding(k *kubernikusv1.Kluster, now time.Time) finding {
	text := "is being deleted since " + ago(k.DeletionTimestamp, now)
	if d := k.Status.Deorbit; d != nil && d.Stage != "" {
		text += fmt.Sprintf(", stage %s, %d remain", d.Stage, len(d.Remaining))
	}
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	if c == nil {
		return found(busy, "%s", text)
	}
	level := busy
	if k.Status.Deorbit == nil || c.Reason != string(k.Status.Deorbit.Stage) {
		level = warning // a reason of its own is a trouble
	}
	return found(level, "%s: %s: %s", text, c.Reason, c.Message)
}

// backendFindings are those of a DiscoveryBackend.
func backendFindings(b *gimbalv1.DiscoveryBackend, now time.Time) (all []finding) {
	if !b.DeletionTimestamp.IsZero() {
		all = append(all, found(busy, "is being deleted since %s", ago(b.DeletionTimestamp, now)))
	}
	if b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		all = append(all, maintenanceFinding(b))
	}
	for _, c := range b.Status.Conditions {
		if c.Type != gimbalv1.ConditionDrained && c.Status == metav1.ConditionFalse {
			all = append(all, found(warning, "%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	for _, e := range b.Status.Errors {
		all = append(all, found(warning, "%s: %s", e.Type, e.Message))
	}
	return all
}

func maintenanceFinding(b *gimbalv1.DiscoveryBackend) finding {
	if meta.IsStatusConditionTrue(b.Status.Conditions, gimbalv1.ConditionDrained) {
		return found(busy, "is in maintenance and drained")
	}
	text := "is in maintenance, being drained"
	if r := b.Status.Routes; r != nil {
		text += fmt.Sprintf(": %d of %d routes", r.Drained, r.Matching)
	}
	return found(busy, "%s", text)
}

// translationFindings are those of a Translation.
func translationFindings(t *midonetv1.Translation, now time.Time) (all []finding) {
	if !t.DeletionTimestamp.IsZero() {
		all = append(all, found(busy, "is being deleted since %s", ago(t.DeletionTimestamp, now)))
	}
	if c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		all = append(all, found(warning, "%s: %s", c.Reason, c.Message))
	} else if c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionSynced); c != nil && c.Status == metav1.ConditionFalse {
		all = append(all, found(busy, "%s: %s", c.Reason, c.Message))
	}
	drifted := 0
	for _, r := range t.Status.Resources {
		if r.State == midonetv1.BackendResourceDrifted {
			drifted++
		}
	}
	if drifted > 0 {
		all = append(all, found(warning, "%d of %d resources were changed in MidoNet by somebody else", drifted, len(t.Status.Resources)))
	}
	return all
}
