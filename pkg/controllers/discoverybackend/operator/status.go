// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// Reasons of the conditions.
const (
	// Reasons of CredentialsValid.
	reasonSecretMissing   = "SecretMissing"
	reasonSecretInvalid   = "SecretInvalid"
	reasonSecretUnknown   = "SecretUnknown"
	reasonRefused         = "Refused"
	reasonAnotherCluster  = "AnotherCluster"
	reasonNotTried        = "NotTried"
	reasonAccepted        = "Accepted"
	reasonDiscoverer      = "DiscovererRunning"
	reasonRollingOut      = "RollingOut"
	reasonRolloutStuck    = "RolloutStuck"
	reasonStarting        = "DiscovererStarting"
	reasonNotStarted      = "DiscovererNotStarted"
	reasonDeletionPending = "Terminating"
	reasonNoImage         = "NoImage"
)

// findings are what a reconciliation found out.
type findings struct {
	credentials credentials
	// unread reports why the Secret could not be read.
	unread error
	// deployment is the one of the backend, nil when there is none.
	deployment *appsv1.Deployment
	// conflict returns the other owner of an object that a part needs, "" if there is none.
	conflict string
	// terminating returns what the deletion waits for, "" if the backend is not being deleted.
	terminating string
	// noImage is true when no discoverers are run, so that nothing was checked.
	noImage bool
	// removed is the condition ReferencesRemoved as of this reconciliation, nil for that of an earlier one.
	removed *metav1.Condition
}

// conditionsOf returns the conditions that the operator is the only one to write.
func conditionsOf(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError) []metav1.Condition {
	if found.terminating != "" {
		conditions := []metav1.Condition{
			status.Condition(backend, gimbalv1.ConditionAvailable, metav1.ConditionFalse, reasonDeletionPending, found.terminating),
		}
		removed := found.removed
		if removed == nil {
			removed = meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionReferencesRemoved)
		}
		if removed != nil {
			conditions = append(conditions, *removed)
		}
		return conditions
	}
	if found.noImage {
		return []metav1.Condition{status.Condition(backend, gimbalv1.ConditionAvailable, metav1.ConditionFalse, reasonNoImage, messageNoImage)}
	}
	return []metav1.Condition{available(backend, found), credentialsValid(backend, found, own)}
}

// credentialsValid reports whether the credentials can be used: first by their form, then by what the discoverer met.
func credentialsValid(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError) metav1.Condition {
	with := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(backend, gimbalv1.ConditionCredentialsValid, value, reason, message)
	}
	switch {
	case found.unread != nil:
		return with(metav1.ConditionUnknown, reasonSecretUnknown, found.unread.Error())
	case !found.credentials.usable():
		return with(metav1.ConditionFalse, found.credentials.reason, found.credentials.problem)
	}
	for _, entry := range backend.Status.Errors {
		switch {
		case slices.ContainsFunc(own, status.Same(entry)):
		case entry.Type == gimbalv1.ErrorAuthentication:
			return with(metav1.ConditionFalse, reasonRefused, entry.Message)
		case entry.Type == gimbalv1.ErrorAnotherCluster:
			return with(metav1.ConditionFalse, reasonAnotherCluster, entry.Message)
		}
	}
	switch {
	case backend.Status.LastSyncTime == nil:
		return with(metav1.ConditionUnknown, reasonNotTried, "the discoverer has not listed the backend yet")
	case !tried(backend, found):
		return with(metav1.ConditionUnknown, reasonNotTried, "no discoverer has listed the backend with these credentials yet")
	}
	return with(metav1.ConditionTrue, reasonAccepted, "the backend accepts the credentials")
}

// tried reports whether a discoverer with the present content of the Secret has become ready, which it does when it has
// listed the backend. Only then the pods with former credentials are removed; one that is restarted later proves nothing new.
func tried(backend *gimbalv1.DiscoveryBackend, found findings) bool {
	deployment := found.deployment
	if deployment == nil || deployment.Spec.Template.Annotations[annotationDigest] != found.credentials.digest || !rolledOut(deployment) {
		return false
	}
	return deployment.Status.AvailableReplicas > 0 || meta.IsStatusConditionTrue(backend.Status.Conditions, gimbalv1.ConditionCredentialsValid)
}

// rolledOut reports whether all pods of a Deployment are of its present template.
func rolledOut(deployment *appsv1.Deployment) bool {
	observed := deployment.Status
	return observed.ObservedGeneration >= deployment.Generation && observed.UpdatedReplicas == observed.Replicas && observed.UpdatedReplicas > 0
}

// available reports whether a discoverer runs, be it that of former credentials.
func available(backend *gimbalv1.DiscoveryBackend, found findings) metav1.Condition {
	with := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(backend, gimbalv1.ConditionAvailable, value, reason, message)
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
	observed := deployment.Status
	rolled := rolledOut(deployment)
	failed := ""
	for _, c := range observed.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse || c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			failed = c.Message
		}
	}
	switch {
	case observed.AvailableReplicas == 0 && failed != "":
		return with(metav1.ConditionFalse, reasonRolloutStuck, "the discoverer does not start: "+failed)
	case observed.AvailableReplicas == 0:
		return with(metav1.ConditionFalse, reasonStarting, "the discoverer is not ready yet: see the pods and the log of "+describe(deployment))
	case !found.credentials.usable() || found.unread != nil:
		return with(metav1.ConditionTrue, reasonDiscoverer, "the discoverer continues with the credentials that it has")
	case !rolled && failed != "":
		return with(metav1.ConditionTrue, reasonRolloutStuck, "the former discoverer continues, because the new one does not get ready: "+failed)
	case !rolled:
		return with(metav1.ConditionTrue, reasonRollingOut, "the former discoverer continues until the new one is ready")
	}
	return with(metav1.ConditionTrue, reasonDiscoverer, "the discoverer runs")
}

// errorsOf returns the entries of status.errors that the operator is to have.
func errorsOf(found findings) []gimbalv1.DiscoveryError {
	var entries []gimbalv1.DiscoveryError
	if found.terminating != "" {
		return nil
	}
	if found.unread == nil && !found.credentials.usable() {
		entries = append(entries, gimbalv1.DiscoveryError{Type: gimbalv1.ErrorAuthentication, Message: status.Bounded(found.credentials.problem)})
	}
	if found.conflict != "" {
		entries = append(entries, gimbalv1.DiscoveryError{Type: gimbalv1.ErrorConflict, Message: status.Bounded(found.conflict)})
	}
	return entries
}

// nextStatus returns the part of the status that the operator writes, and whether it does not exist yet. Own are the entries of
// status.errors that it wrote. Times stay as long as what they mention does.
func nextStatus(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError, now time.Time) (next gimbalv1.DiscoveryBackendStatus, changed bool) {
	var conditions, errors bool
	next.ObservedGeneration = backend.Generation
	next.Conditions, conditions = status.Conditions(backend, conditionsOf(backend, found, own), now)
	next.Errors, errors = status.Errors(own, errorsOf(found), now)
	if found.deployment != nil {
		next.DiscovererRef = &gimbalv1.DiscovererReference{
			APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: found.deployment.Name, UID: found.deployment.UID,
		}
	}
	return next, conditions || errors || backend.Status.ObservedGeneration != backend.Generation ||
		!equality.Semantic.DeepEqual(backend.Status.DiscovererRef, next.DiscovererRef)
}

// statusApplied returns the apply configuration, without the fields that the discoverer and maintenance write.
func statusApplied(backend *gimbalv1.DiscoveryBackend, next *gimbalv1.DiscoveryBackendStatus) *gimbalapply.DiscoveryBackendApplyConfiguration {
	applied := status.Apply(backend, next.Conditions, next.Errors)
	applied.Status.WithObservedGeneration(next.ObservedGeneration)
	if ref := next.DiscovererRef; ref != nil {
		applied.Status.WithDiscovererRef(gimbalapply.DiscovererReference().
			WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).WithUID(ref.UID))
	}
	return applied
}
