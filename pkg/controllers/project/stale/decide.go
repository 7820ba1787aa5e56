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
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	day = 24 * time.Hour
	// lastWarning is the time before the deletion at which the last warning is recorded.
	lastWarning = day
	// soon is the minimum delay between two reconciliations.
	soon = time.Second
)

// Reasons of the condition Stale while it is true, in chronological order.
const (
	// reasonUnused: nothing uses the project. It has no deletion date yet.
	reasonUnused = "Unused"
	// reasonDeletionPlanned: it has a deletion date.
	reasonDeletionPlanned = "DeletionPlanned"
	// reasonDeletionImminent: the date is less than a day away.
	reasonDeletionImminent = "DeletionImminent"
	// reasonDryRun: the date has passed, but staleDryRun prevents the deletion.
	reasonDryRun = "DryRun"
)

// Reasons of the condition Stale while it is false.
const (
	// reasonExempt: the namespace is annotated.
	reasonExempt = "Exempt"
	// reasonTooYoung: the project is younger than minimumLifetimeDays.
	reasonTooYoung = "TooYoung"
	// reasonRecentlyActive: its last activity is younger than minimumLifetimeDays.
	reasonRecentlyActive = "RecentlyActive"
	// reasonInUse: an object uses it.
	reasonInUse = "InUse"
)

// policy is the configuration for stale projects.
type policy struct {
	minimumLifetime, gracePeriod, expiration, notice time.Duration
	syncPeriod                                       time.Duration
	dryRun                                           bool
}

func newPolicy(config configv1alpha1.ProjectControllerConfiguration) policy {
	days := func(n *int32) time.Duration { return time.Duration(*n) * day }
	return policy{
		minimumLifetime: days(config.MinimumLifetimeDays),
		gracePeriod:     days(config.StaleGracePeriodDays),
		expiration:      days(config.StaleExpirationTimeDays),
		notice:          days(config.StaleNoticeDays),
		syncPeriod:      config.StaleSyncPeriod.Duration,
		dryRun:          *config.StaleDryRun,
	}
}

// decision is the result of a check of a project.
type decision struct {
	stale bool
	// since and autoDelete are the timestamps of the status.
	since, autoDelete *metav1.Time
	// reason and message are those of the condition Stale.
	reason, message string
	// delete is true if the date has passed. The status already contains it: nothing is deleted on a date that was not published.
	delete bool
	// after is the delay until the next reconciliation.
	after time.Duration
}

// isConcerned reports whether a project is checked: it is neither being deleted nor paused, and it has a namespace with its
// UID. The contents of a namespace that it was denied do not matter.
func isConcerned(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return project.DeletionTimestamp.IsZero() && !kit.IsPaused(project) &&
		namespace != nil && namespace.DeletionTimestamp.IsZero() &&
		namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] == string(project.UID)
}

// spare decides about a project that is not stale whether it is in use or not; it returns nil for any other.
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

// decide decides about a project; use is what uses it, "" if nothing does. An existing date is never moved to an earlier one,
// but it is removed while the current grace period is not over. A new date leaves time for a notice, however long the project has been
// stale: the controller may have been off, or the clock may have jumped. A project that is stale since the future became so now.
func (p policy) decide(project *gardenerv1beta1.Project, namespace *corev1.Namespace, use string, now time.Time) decision {
	if spared := p.spare(project, namespace, now); spared != nil {
		return *spared
	}
	if use != "" {
		return decision{reason: reasonInUse, message: "the project has " + use + " in use", after: p.syncPeriod}
	}
	status := &project.Status
	d := decision{stale: true, since: status.StaleSinceTimestamp}
	if d.since == nil || d.since.After(now) {
		d.since = new(metav1.NewTime(now).Rfc3339Copy())
	}
	expiry := metav1.NewTime(d.since.Add(p.expiration))
	if end := d.since.Add(p.gracePeriod); end.After(now) {
		d.reason, d.after = reasonUnused, p.until(end, now)
		d.message = p.describe(namespace.Name, d.since, p.noticed(expiry, end))
		return d
	}
	d.autoDelete = &expiry
	if stored := status.StaleAutoDeleteTimestamp; stored == nil {
		d.autoDelete = p.noticed(expiry, now)
	} else if !stored.Before(&expiry) {
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

// noticed returns the date of deletion of a project that gets one now.
func (p policy) noticed(expiry metav1.Time, now time.Time) *metav1.Time {
	if earliest := metav1.NewTime(now.Add(p.notice)).Rfc3339Copy(); p.notice > 0 && expiry.Before(&earliest) {
		return &earliest
	}
	return &expiry
}

// describe returns since when a project is unused, when it will be deleted, and how to prevent it.
func (p policy) describe(namespace string, since, date *metav1.Time) string {
	is := "is"
	if p.dryRun {
		is = "would be (staleDryRun is enabled)"
	}
	return fmt.Sprintf("nothing uses the project since %s: it %s deleted on %s, unless it is used or namespace %q gets the annotation %s=true",
		inWords(since), is, inWords(date), namespace, gardenerv1beta1.AnnotationSkipStaleCheck)
}

// withdraws reports whether a confirmation of a Project was written for a deletion that failed. If it stayed, the next deletion of the
// Project would not require a confirmation.
func withdraws(project *gardenerv1beta1.Project, d *decision, now time.Time) bool {
	date := project.Status.StaleAutoDeleteTimestamp
	return !d.stale && date != nil && !date.After(now) && isConfirmed(project)
}

func isConfirmed(project *gardenerv1beta1.Project) bool {
	return project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] == "true"
}

// until returns the delay until a time, at most the sync period.
func (p policy) until(end, now time.Time) time.Duration {
	return min(p.syncPeriod, max(end.Sub(now), soon))
}

// inWords returns a time in UTC, or "" if there is none.
func inWords(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func inDays(d time.Duration) string { return fmt.Sprintf("%d days", d/day) }
