// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// Reasons of the conditions.
const (
	// Of CredentialsValid.
	reasonSecretMissing   = "SecretMissing"
	reasonSecretInvalid   = "SecretInvalid"
	reasonSecretUnknown   = "SecretUnknown"
	reasonRefused         = "Refused"
	reasonNotTried        = "NotTried"
	reasonAccepted        = "Accepted"
	reasonDiscoverer      = "DiscovererRunning"
	reasonRollingOut      = "RollingOut"
	reasonRolloutStuck    = "RolloutStuck"
	reasonStarting        = "DiscovererStarting"
	reasonNotStarted      = "DiscovererNotStarted"
	reasonDeletionPending = "Terminating"
)

// maxMessage is how long a message may be.
const maxMessage = 512

// findings are what a pass found out.
type findings struct {
	credentials credentials
	// unread says why the Secret could not be read.
	unread error
	// deployment is the one of the backend, nil when there is none.
	deployment *appsv1.Deployment
	// conflict says who else has an object that a part needs, "" when nobody does.
	conflict string
	// terminating says what the deletion waits for, "" when the backend lives.
	terminating string
}

// conditionsOf are the conditions that the operator is the only one to write.
func conditionsOf(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError) []metav1.Condition {
	if found.terminating != "" {
		return []metav1.Condition{
			condition(backend, gimbalv1.ConditionAvailable, metav1.ConditionFalse, reasonDeletionPending, found.terminating),
		}
	}
	return []metav1.Condition{available(backend, found), credentialsValid(backend, found, own)}
}

// credentialsValid says whether the credentials can be used: first by their form, then by what the discoverer met.
func credentialsValid(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError) metav1.Condition {
	with := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(backend, gimbalv1.ConditionCredentialsValid, status, reason, message)
	}
	switch {
	case found.unread != nil:
		return with(metav1.ConditionUnknown, reasonSecretUnknown, found.unread.Error())
	case !found.credentials.usable():
		return with(metav1.ConditionFalse, found.credentials.reason, found.credentials.problem)
	}
	for _, entry := range backend.Status.Errors {
		if entry.Type == gimbalv1.ErrorAuthentication && !slices.ContainsFunc(own, sameError(entry)) {
			return with(metav1.ConditionFalse, reasonRefused, entry.Message)
		}
	}
	if backend.Status.LastSyncTime == nil {
		return with(metav1.ConditionUnknown, reasonNotTried, "the discoverer has not listed the backend yet")
	}
	return with(metav1.ConditionTrue, reasonAccepted, "the backend accepts the credentials")
}

// available says whether a discoverer runs, be it that of former credentials.
func available(backend *gimbalv1.DiscoveryBackend, found findings) metav1.Condition {
	with := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(backend, gimbalv1.ConditionAvailable, status, reason, message)
	}
	deployment := found.deployment
	if deployment == nil {
		message := "the discoverer is started when its credentials can be used"
		switch {
		case found.conflict != "":
			message = found.conflict
		case found.unread == nil && found.credentials.usable():
			message = "the discoverer is about to be started"
		}
		return with(metav1.ConditionFalse, reasonNotStarted, message)
	}
	status := deployment.Status
	rolled := status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas == status.Replicas && status.UpdatedReplicas > 0
	failed := ""
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse || c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			failed = c.Message
		}
	}
	switch {
	case status.AvailableReplicas == 0 && failed != "":
		return with(metav1.ConditionFalse, reasonRolloutStuck, "the discoverer does not start: "+failed)
	case status.AvailableReplicas == 0:
		return with(metav1.ConditionFalse, reasonStarting, "the discoverer is not ready yet: see the pods and the log of "+describe(deployment))
	case !found.credentials.usable() || found.unread != nil:
		return with(metav1.ConditionTrue, reasonDiscoverer, "the discoverer goes on with the credentials that it has")
	case !rolled && failed != "":
		return with(metav1.ConditionTrue, reasonRolloutStuck, "the former discoverer goes on, because the new one does not get ready: "+failed)
	case !rolled:
		return with(metav1.ConditionTrue, reasonRollingOut, "the former discoverer goes on until the new one is ready")
	}
	return with(metav1.ConditionTrue, reasonDiscoverer, "the discoverer runs")
}

func condition(backend *gimbalv1.DiscoveryBackend, kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: bounded(message), ObservedGeneration: backend.Generation}
}

// errorsOf are the entries of status.errors that the operator is to have.
func errorsOf(found findings) []gimbalv1.DiscoveryError {
	var entries []gimbalv1.DiscoveryError
	if found.terminating != "" {
		return nil
	}
	if found.unread == nil && !found.credentials.usable() {
		entries = append(entries, gimbalv1.DiscoveryError{Type: gimbalv1.ErrorAuthentication, Message: bounded(found.credentials.problem)})
	}
	if found.conflict != "" {
		entries = append(entries, gimbalv1.DiscoveryError{Type: gimbalv1.ErrorConflict, Message: bounded(found.conflict)})
	}
	return entries
}

func sameError(entry gimbalv1.DiscoveryError) func(gimbalv1.DiscoveryError) bool {
	return func(other gimbalv1.DiscoveryError) bool {
		return other.Type == entry.Type && other.Message == entry.Message
	}
}

// nextStatus is the part of the status that the operator writes, and whether it is not there yet. Own are the entries
// of status.errors that it wrote. Times stay as long as what they speak of does.
func nextStatus(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError, now time.Time) (next gimbalv1.DiscoveryBackendStatus, changed bool) {
	at := metav1.NewTime(now).Rfc3339Copy()
	before := &backend.Status
	next.ObservedGeneration = backend.Generation
	changed = before.ObservedGeneration != backend.Generation
	for _, reported := range conditionsOf(backend, found, own) {
		last := meta.FindStatusCondition(before.Conditions, reported.Type)
		reported.LastTransitionTime = at
		if last != nil && last.Status == reported.Status {
			reported.LastTransitionTime = last.LastTransitionTime
		}
		changed = changed || last == nil || !equality.Semantic.DeepEqual(*last, reported)
		next.Conditions = append(next.Conditions, reported)
	}
	for _, entry := range errorsOf(found) {
		entry.StatusTime = &metav1.Time{Time: at.Truncate(time.Minute)}
		if i := slices.IndexFunc(own, sameError(entry)); i >= 0 && own[i].StatusTime != nil {
			entry.StatusTime = own[i].StatusTime
		} else {
			changed = true
		}
		next.Errors = append(next.Errors, entry)
	}
	changed = changed || len(own) != len(next.Errors)
	if found.deployment != nil {
		next.DiscovererRef = &gimbalv1.DiscovererReference{
			APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: found.deployment.Name, UID: found.deployment.UID,
		}
	}
	return next, changed || !equality.Semantic.DeepEqual(before.DiscovererRef, next.DiscovererRef)
}

// statusApplied is the patch that writes it. What the discoverer and maintenance write is not in it.
func statusApplied(backend *gimbalv1.DiscoveryBackend, status *gimbalv1.DiscoveryBackendStatus) *gimbalapply.DiscoveryBackendApplyConfiguration {
	applied := gimbalapply.DiscoveryBackendStatus().WithObservedGeneration(status.ObservedGeneration)
	for _, c := range status.Conditions {
		applied.WithConditions(metaapply.Condition().WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).
			WithMessage(c.Message).WithLastTransitionTime(c.LastTransitionTime).WithObservedGeneration(c.ObservedGeneration))
	}
	for _, entry := range status.Errors {
		applied.WithErrors(gimbalapply.DiscoveryError().WithType(entry.Type).WithMessage(entry.Message).WithStatusTime(*entry.StatusTime))
	}
	if ref := status.DiscovererRef; ref != nil {
		applied.WithDiscovererRef(gimbalapply.DiscovererReference().
			WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).WithUID(ref.UID))
	}
	// With the uid, a backend of the same name that came meanwhile is not touched.
	return gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithUID(backend.UID).WithStatus(applied)
}

// bounded is a message on one line, and not longer than it may be.
func bounded(message string) string {
	message = strings.ReplaceAll(message, "\n", "; ")
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
}

func plural(count int, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}
