// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

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

// Reasons of the events on a DiscoveryBackend, beside the reasons of its conditions.
const (
	eventApplied              = "DiscovererApplied"
	eventStopped              = "DiscovererStopped"
	eventReferencesRemoved    = "ReferencesRemoved"
	eventReferencesUnrecorded = "ReferencesUnrecorded" // they cannot be restored
	eventReferencesKept       = "ReferencesKept"       // a route would not be valid without them
	eventCopiesDeleted        = "CopiesDeleted"
	eventOrphaned             = "BackendMissing"
)

// Actions of the events.
const (
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
	actionReport    = "Report"
)

// messageNoImage does not say that no discoverer runs: a user may run one manually, or a former one may continue.
const messageNoImage = "no discoverer is started or managed: set controllers.discovery.image, see docs/backend-add.md; " +
	"a discoverer that is started manually is not affected"

// findings are what a reconcile found out.
type findings struct {
	credentials credentials
	// unread reports why the Secret could not be read.
	unread error
	// denied are the addresses of the API server of this cluster, which no backend may publish.
	denied []string
	// deployment is the one of the backend, nil when there is none.
	deployment *appsv1.Deployment
	// conflict describes the object of another owner that a part needs, "" if there is none.
	conflict string
	// terminating is what the deletion waits for, "" if the backend is not being deleted.
	terminating string
	// noImage is true when no discoverers are run, so that nothing was checked.
	noImage bool
	// removed is the condition ReferencesRemoved as of this reconcile, nil for that of an earlier one.
	removed *metav1.Condition
}

// conditionsOf returns the conditions that the operator is the only one to write.
func conditionsOf(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError) []metav1.Condition {
	if found.terminating != "" {
		conditions := []metav1.Condition{
			status.Condition(backend, gimbalv1.ConditionAvailable, metav1.ConditionFalse, reasonDeletionPending, found.terminating),
		}
		before := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionReferencesRemoved)
		if removed := cmp.Or(found.removed, before); removed != nil {
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
	now := deployment.Status
	return now.ObservedGeneration >= deployment.Generation && now.UpdatedReplicas == now.Replicas && now.UpdatedReplicas > 0
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
	failed := ""
	for _, c := range observed.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse ||
			c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
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
	case !rolledOut(deployment) && failed != "":
		return with(metav1.ConditionTrue, reasonRolloutStuck, "the former discoverer continues, because the new one does not get ready: "+failed)
	case !rolledOut(deployment):
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

// nextStatus returns the conditions of a backend, the patch with all that the operator writes, and whether that is new. Own are the entries
// of status.errors that it wrote. Times stay as long as what they mention does.
func nextStatus(backend *gimbalv1.DiscoveryBackend, found findings, own []gimbalv1.DiscoveryError, now time.Time) (
	[]metav1.Condition, *gimbalapply.DiscoveryBackendApplyConfiguration, bool,
) {
	conditions, changed := status.Conditions(backend, conditionsOf(backend, found, own), now)
	entries, more := status.Errors(own, errorsOf(found), now)
	applied := status.Apply(backend, conditions, entries)
	applied.Status.WithObservedGeneration(backend.Generation)
	var ref *gimbalv1.DiscovererReference
	if d := found.deployment; d != nil {
		ref = &gimbalv1.DiscovererReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: d.Name, UID: d.UID}
		applied.Status.WithDiscovererRef(gimbalapply.DiscovererReference().
			WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).WithUID(ref.UID))
	}
	return conditions, applied, changed || more || backend.Status.ObservedGeneration != backend.Generation ||
		!equality.Semantic.DeepEqual(backend.Status.DiscovererRef, ref)
}

// writeStatus writes what was found if it is new, and reports it by events.
func (r *reconciler) writeStatus(ctx context.Context, backend *gimbalv1.DiscoveryBackend, found findings) error {
	own, err := status.OwnErrors(backend, fieldOwner)
	if err != nil {
		return err
	}
	conditions, next, changed := nextStatus(backend, found, own, r.clock.Now())
	if !changed {
		return nil
	}
	if err := r.applyStatus(ctx, next); err != nil {
		return err
	}
	r.announceConditions(ctx, backend, conditions)
	// A step may write the status before the reconcile does.
	for _, c := range conditions {
		meta.SetStatusCondition(&backend.Status.Conditions, c)
	}
	return nil
}

// announceWrites reports that parts were written.
func (r *reconciler) announceWrites(ctx context.Context, backend *gimbalv1.DiscoveryBackend, wrote []string) {
	if len(wrote) == 0 {
		return
	}
	r.meters.writes.Add(float64(len(wrote)))
	log.FromContext(ctx).Info("Applied the discoverer of a backend", "objects", wrote)
	r.report(backend, eventApplied, actionReconcile, "applied "+strings.Join(wrote, ", "))
}

// announceConditions sends an event for each change of a condition, once.
func (r *reconciler) announceConditions(ctx context.Context, backend *gimbalv1.DiscoveryBackend, conditions []metav1.Condition) {
	for _, c := range conditions {
		last := meta.FindStatusCondition(backend.Status.Conditions, c.Type)
		if last != nil && last.Status == c.Status && last.Reason == c.Reason {
			continue
		}
		log.FromContext(ctx).Info("The state of a backend changed",
			"condition", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
		switch {
		case c.Type == gimbalv1.ConditionCredentialsValid && c.Status == metav1.ConditionFalse, c.Reason == reasonRolloutStuck:
			r.warn(backend, c.Reason, actionReconcile, c.Message)
		case c.Type == gimbalv1.ConditionAvailable && c.Status == metav1.ConditionTrue && (last == nil || last.Status != metav1.ConditionTrue):
			r.report(backend, c.Reason, actionReconcile, c.Message)
		}
	}
}

func (r *reconciler) warn(object runtime.Object, reason, action, message string) {
	r.recorder.Eventf(object, nil, corev1.EventTypeWarning, reason, action, "%s", status.Bounded(message))
}

func (r *reconciler) report(object runtime.Object, reason, action, message string) {
	r.recorder.Eventf(object, nil, corev1.EventTypeNormal, reason, action, "%s", status.Bounded(message))
}
