// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// report is the result of a reconciliation. Conditions that it does not contain remain unchanged, except Paused.
type report struct {
	outcome    outcome
	phase      gardenerv1beta1.ProjectPhase
	conditions []gardenerv1beta1.Condition
	// problem is the message of a failed, rejected or blocked reconciliation.
	problem string
	// acted is false if the current spec was not completely reconciled, so that observedGeneration is not updated.
	acted bool
	// roles is what was done for the members of a Project that is not provided for.
	roles roles
	// retry is the time until the next reconciliation, 0 if an event is sufficient.
	retry time.Duration
	err   error
}

// set reports a condition, and replaces an earlier report of it.
func (r *report) set(kind gardenerv1beta1.ConditionType, status gardenerv1beta1.ConditionStatus, reason, message string) {
	reported := gardenerv1beta1.Condition{Type: kind, Status: status, Reason: reason, Message: bounded(message)}
	if before := conditions.Find(r.conditions, kind); before != nil {
		*before = reported
		return
	}
	r.conditions = append(r.conditions, reported)
}

// fail reports an error, which is returned to the queue. It retries.
func (r *report) fail(err error) {
	r.phase, r.outcome, r.problem, r.err = gardenerv1beta1.ProjectFailed, outcomeFailed, err.Error(), err
}

// failed reports the condition of an error.
func failed(kind gardenerv1beta1.ConditionType, reason string, err error) (r report) {
	status := gardenerv1beta1.ConditionFalse
	if reason == reasonContentsUnknown {
		status = gardenerv1beta1.ConditionUnknown
	}
	r.fail(err)
	r.set(kind, status, reason, err.Error())
	return r
}

// paused reports that the Project is paused. A Project that was never reconciled is Pending.
func paused(project *gardenerv1beta1.Project) report {
	r := report{outcome: outcomePaused}
	if project.Status.Phase == "" {
		r.phase = gardenerv1beta1.ProjectPending
	}
	r.set(projectPaused, gardenerv1beta1.ConditionTrue, reasonPausedByAnnotation,
		fmt.Sprintf("the project is not reconciled until its annotation %s is removed; the roles of removed members are revoked",
			kit.AnnotationPaused))
	return r
}

// blocked reports which objects block a deletion. The namespace may have been deleted by somebody else.
func blocked(namespace *corev1.Namespace, problem string) report {
	r := report{phase: gardenerv1beta1.ProjectTerminating, outcome: outcomeBlocked, retry: waitPeriod, problem: problem}
	if !namespace.DeletionTimestamp.IsZero() {
		r.setTerminating(namespace)
	}
	r.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionFalse, reasonNamespaceNotEmpty, r.problem)
	return r
}

// setTerminating reports that the namespace is being deleted.
func (r *report) setTerminating(namespace *corev1.Namespace) {
	r.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionFalse, reasonNamespaceTerminating, terminatingMessage(namespace))
	r.set(gardenerv1beta1.ProjectRBACReady, gardenerv1beta1.ConditionFalse, reasonNamespaceTerminating,
		fmt.Sprintf("namespace %q is being deleted, and the bindings of the members in it with it", namespace.Name))
}

// terminating reports that the namespace of a Project is being deleted, and which kinds could not be looked at before.
func terminating(project *gardenerv1beta1.Project, namespace *corev1.Namespace, unseen []string) report {
	r := report{phase: gardenerv1beta1.ProjectTerminating, outcome: outcomeWaiting, retry: waitPeriod}
	r.setTerminating(namespace)
	if isHeld(namespace) {
		// Members have no permissions in the namespace any more.
		r.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionFalse, reasonNamespaceHeld, terminatingMessage(namespace)+
			"; the members have no access to the namespace any more: the controllers of these objects, or an administrator, have to remove "+
			"what holds them")
		return r
	}
	if reported := conditions.Find(project.Status.Conditions, gardenerv1beta1.ProjectDeletable); len(unseen) == 0 && reported != nil &&
		reported.Reason == reasonNamespaceEmpty {
		return r // it may name the kinds that could not be looked at
	}
	r.setDeletable(namespace, nil, unseen)
	return r
}

// waitingFor reports which finalizers of other controllers retain a Project that is being deleted.
func waitingFor(finalizers []string) report {
	r := report{phase: gardenerv1beta1.ProjectTerminating, outcome: outcomeWaiting, retry: waitPeriod}
	r.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionTrue, reasonWaitingForFinalizers,
		"the project is deleted when the controllers of its other finalizers have removed them: "+strings.Join(finalizers, ", "))
	return r
}

// setNoNamespace reports why there is no namespace, and therefore no roles.
func (r *report) setNoNamespace(decision namespaceDecision) {
	r.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionFalse, decision.reason, decision.message)
	r.set(gardenerv1beta1.ProjectRBACReady, gardenerv1beta1.ConditionFalse, reasonNamespaceMissing,
		"the roles are created when the project has its namespace")
}

func (r *report) setNamespace(namespace *corev1.Namespace, quotaErr error) {
	switch {
	case quotaErr != nil:
		r.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionFalse, reasonQuotaFailed, quotaErr.Error())
	case namespace.Annotations[gardenerv1beta1.AnnotationNamespaceCreatedByController] == "true":
		r.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionTrue, reasonNamespaceCreated,
			fmt.Sprintf("namespace %q was created for the project", namespace.Name))
	default:
		r.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionTrue, reasonNamespaceAdopted,
			fmt.Sprintf("namespace %q was adopted and is retained when the project is deleted", namespace.Name))
	}
}

// setRoles reports the roles, and whether the API servers decide as configured.
func (r *report) setRoles(x *execution, did roles) {
	status, reason, message := gardenerv1beta1.ConditionTrue, reasonRolesReconciled, "the roles and bindings of the members are reconciled"
	switch {
	case did.err != nil:
		status, reason, message = gardenerv1beta1.ConditionFalse, reasonRolesFailed, did.err.Error()
		if !did.ensured && !hadBindings(x.project) {
			reason = reasonNamespaceMissing // the reason is what the status remembers
		}
	case x.servers.difference != "":
		reason, message = reasonAuthorizationDiffers, x.servers.difference
		if x.byMembership { // otherwise members have the permissions of their roles, too
			status = gardenerv1beta1.ConditionFalse
		}
	}
	r.set(gardenerv1beta1.ProjectRBACReady, status, reason, message)
}

// setDeletable reports what would block the deletion of the Project. It reveals nothing about a namespace that does not
// belong to this Project, which is nil. unseen are the kinds that could not be looked at.
func (r *report) setDeletable(namespace *corev1.Namespace, occupants, unseen []string) {
	status, reason := gardenerv1beta1.ConditionTrue, reasonNamespaceNotOwned
	message := "the project has no namespace that would block its deletion"
	switch {
	case namespace == nil:
	case len(occupants) > 0:
		status, reason, message = gardenerv1beta1.ConditionFalse, reasonNamespaceNotEmpty, occupiedMessage(namespace.Name, occupants)
	default:
		reason, message = reasonNamespaceEmpty, fmt.Sprintf("nothing in namespace %q blocks the deletion of the project", namespace.Name)+
			unseenMessage(unseen)
	}
	r.set(gardenerv1beta1.ProjectDeletable, status, reason, message)
}

// isHeld reports whether Kubernetes cannot delete a namespace without the help of others: objects in it have finalizers, or it cannot
// list or delete all of them.
func isHeld(namespace *corev1.Namespace) bool {
	return slices.ContainsFunc(namespace.Status.Conditions, func(condition corev1.NamespaceCondition) bool {
		switch condition.Type {
		case corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionContentFailure:
			return condition.Status == corev1.ConditionTrue
		default:
			return false
		}
	})
}

// terminatingMessage states that a namespace is being deleted, and what Kubernetes reports that it waits for.
func terminatingMessage(namespace *corev1.Namespace) string {
	message := fmt.Sprintf("namespace %q is being deleted", namespace.Name)
	separator := ": "
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && condition.Message != "" {
			// One condition has the remaining objects, another one their finalizers.
			message, separator = message+separator+condition.Message, "; "
		}
	}
	return message
}
