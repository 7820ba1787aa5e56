// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const (
	day = 24 * time.Hour
	// lastWarning is how long before its deletion a project is warned about for the last time.
	lastWarning = day
	// soon is the shortest pause between two passes.
	soon = time.Second

	// pausedAnnotation with the value "true" makes the controllers leave an object alone.
	pausedAnnotation = "groundskeeper.io/paused"
)

// Reasons of the condition Stale while it is true, in the order of a project's way out.
const (
	// reasonUnused: nothing uses the project. It has no date of deletion yet.
	reasonUnused = "Unused"
	// reasonDeletionPlanned: it has a date.
	reasonDeletionPlanned = "DeletionPlanned"
	// reasonDeletionImminent: the date is less than a day away.
	reasonDeletionImminent = "DeletionImminent"
	// reasonDryRun: the date has come, and nothing happens because of staleDryRun.
	reasonDryRun = "DryRun"
)

// Reasons of the condition Stale while it is false.
const (
	// reasonExempt: the namespace is annotated.
	reasonExempt = "Exempt"
	// reasonTooYoung: the project is younger than minimumLifetimeDays.
	reasonTooYoung = "TooYoung"
	// reasonRecentlyActive: its last activity is.
	reasonRecentlyActive = "RecentlyActive"
	// reasonInUse: something uses it.
	reasonInUse = "InUse"
)

// policy is what the configuration says about stale projects.
type policy struct {
	minimumLifetime, gracePeriod, expiration time.Duration
	syncPeriod                               time.Duration
	dryRun                                   bool
}

func newPolicy(config configv1alpha1.ProjectControllerConfiguration) policy {
	days := func(n *int32) time.Duration { return time.Duration(*n) * day }
	return policy{
		minimumLifetime: days(config.MinimumLifetimeDays),
		gracePeriod:     days(config.StaleGracePeriodDays),
		expiration:      days(config.StaleExpirationTimeDays),
		syncPeriod:      config.StaleSyncPeriod.Duration,
		dryRun:          *config.StaleDryRun,
	}
}

// decision is what is to be said about a project, and done with it.
type decision struct {
	stale bool
	// since and autoDelete are the timestamps of the status.
	since, autoDelete *metav1.Time
	// reason and message are those of the condition Stale.
	reason, message string
	// delete is true when the time is over. The status says so already: nothing is deleted on a date that nobody could read.
	delete bool
	// after is the pause until the next pass.
	after time.Duration
}

// isConcerned says whether a project is looked at: it lives, nobody asked to leave it alone, and it has a namespace
// that carries its uid. What is in a namespace that it was refused says nothing about it.
func isConcerned(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return project.DeletionTimestamp.IsZero() && project.Annotations[pausedAnnotation] != "true" &&
		namespace != nil && namespace.DeletionTimestamp.IsZero() &&
		namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] == string(project.UID)
}

// spare decides about a project that is not stale whether something uses it or not; nil about any other.
func (p policy) spare(project *gardenerv1beta1.Project, namespace *corev1.Namespace, now time.Time) *decision {
	if exempt, err := strconv.ParseBool(namespace.Annotations[gardenerv1beta1.AnnotationSkipStaleCheck]); err == nil && exempt {
		return &decision{reason: reasonExempt, after: p.syncPeriod, message: fmt.Sprintf(
			"namespace %q has the annotation %s", namespace.Name, gardenerv1beta1.AnnotationSkipStaleCheck)}
	}
	if end := project.CreationTimestamp.Add(p.minimumLifetime); end.After(now) {
		return &decision{reason: reasonTooYoung, after: p.until(end, now), message: fmt.Sprintf(
			"the project is younger than %s", inDays(p.minimumLifetime))}
	}
	if active := project.Status.LastActivityTimestamp; active != nil && active.Add(p.minimumLifetime).After(now) {
		return &decision{reason: reasonRecentlyActive, after: p.until(active.Add(p.minimumLifetime), now), message: fmt.Sprintf(
			"the project was active in the last %s", inDays(p.minimumLifetime))}
	}
	return nil
}

// decide decides about a project; use says what uses it, "" when nothing does. A date that is set is never brought
// forward, but it is taken back while the grace period, as it is now, is not over.
func (p policy) decide(project *gardenerv1beta1.Project, namespace *corev1.Namespace, use string, now time.Time) decision {
	if spared := p.spare(project, namespace, now); spared != nil {
		return *spared
	}
	if use != "" {
		return decision{reason: reasonInUse, message: "the project has " + use + " in use", after: p.syncPeriod}
	}
	status := &project.Status
	d := decision{stale: true, since: status.StaleSinceTimestamp}
	if d.since == nil {
		d.since = new(metav1.NewTime(now).Rfc3339Copy())
	}
	expiry := metav1.NewTime(d.since.Add(p.expiration))
	if end := d.since.Add(p.gracePeriod); end.After(now) {
		d.reason, d.after = reasonUnused, p.until(end, now)
		d.message = p.describe(namespace.Name, d.since, &expiry)
		return d
	}
	d.autoDelete = &expiry
	if stored := status.StaleAutoDeleteTimestamp; stored != nil && !stored.Before(&expiry) {
		d.autoDelete = stored
	}
	d.message = p.describe(namespace.Name, d.since, d.autoDelete)
	warning := d.autoDelete.Add(-lastWarning)
	switch {
	case warning.After(now):
		d.reason, d.after = reasonDeletionPlanned, p.until(warning, now)
	case d.autoDelete.After(now):
		d.reason, d.after = reasonDeletionImminent, p.until(d.autoDelete.Time, now)
	case p.dryRun:
		d.reason, d.after = reasonDryRun, p.syncPeriod
	default:
		d.reason, d.after = reasonDeletionImminent, soon
		d.delete = d.since.Equal(status.StaleSinceTimestamp) && d.autoDelete.Equal(status.StaleAutoDeleteTimestamp)
	}
	return d
}

// describe says since when a project is unused, when it goes, and how to keep it.
func (p policy) describe(namespace string, since, date *metav1.Time) string {
	is := "is"
	if p.dryRun {
		is = "would be (staleDryRun is on)"
	}
	return fmt.Sprintf("nothing uses the project since %s: it %s deleted on %s, unless it is used or namespace %q gets the annotation %s=true",
		inWords(since), is, inWords(date), namespace, gardenerv1beta1.AnnotationSkipStaleCheck)
}

// until is the pause until a time, not longer than the period of the passes.
func (p policy) until(end, now time.Time) time.Duration {
	return min(p.syncPeriod, max(end.Sub(now), soon))
}

// inWords is a time in UTC, "" when there is none.
func inWords(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func inDays(d time.Duration) string { return fmt.Sprintf("%d days", d/day) }
