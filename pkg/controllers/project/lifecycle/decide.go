// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/serverstate"
)

// namespaceAction is what a reconciliation does with the namespace of a Project that is not being deleted.
type namespaceAction string

const (
	// createNamespace: it does not exist.
	createNamespace namespaceAction = "create"
	// claimNamespace: it belongs to the Project or can be adopted; claimedNamespace returns the desired state.
	claimNamespace namespaceAction = "claim"
	// waitForNamespace: it is being deleted, and is recreated afterwards.
	waitForNamespace namespaceAction = "wait"
	// rejectNamespace: it belongs to another owner. Nothing in it is changed.
	rejectNamespace namespaceAction = "reject"
)

// namespaceDecision is an action with the text of the condition.
type namespaceDecision struct {
	action          namespaceAction
	reason, message string
}

// decideNamespace decides about the namespace of a Project; current is nil if it does not exist. An existing namespace is only
// adopted if its labels name the Project: otherwise a user who is allowed to create Projects could become a member of any
// namespace.
func decideNamespace(project *gardenerv1beta1.Project, current *corev1.Namespace) namespaceDecision {
	name := namespaceName(project)
	switch {
	case !isProjectNamespace(name):
		return namespaceDecision{rejectNamespace, reasonNamespaceNotAllowed, fmt.Sprintf(
			"namespace %q cannot be used: the name must start with %s", name, gardenerv1beta1.ProjectNamespacePrefix)}
	case current == nil:
		return namespaceDecision{action: createNamespace}
	case !current.DeletionTimestamp.IsZero():
		return namespaceDecision{waitForNamespace, reasonNamespaceTerminating, terminatingMessage(current)}
	case !hasProjectLabels(project, current):
		return namespaceDecision{rejectNamespace, reasonNamespaceNotLabelled, fmt.Sprintf(
			"namespace cannot be used as it needs the project labels %s", labels.Set(projectLabels(project)))}
	case isClaimedByAnother(project, current):
		return namespaceDecision{rejectNamespace, reasonNamespaceInUse, fmt.Sprintf("namespace is already in-use by another project: it belongs "+
			"to uid %q, and this Project has %s. If no Project has the other uid any more, as after a restore, adopt the namespace: "+
			"kubectl annotate namespace %s %s-",
			current.Annotations[gardenerv1beta1.AnnotationProjectUID], project.UID, name, gardenerv1beta1.AnnotationProjectUID)}
	default:
		return namespaceDecision{action: claimNamespace}
	}
}

// mode is what happens to roles and bindings of a Project that are not as desired.
type mode string

const (
	// adoptObjects: all are the Project's, whoever created them, and missing ones are created.
	adoptObjects mode = "adopt"
	// createObjects: missing ones are created, and those that were created for the Project are updated.
	createObjects mode = "create"
	// followObjects: those that were created for the Project are updated.
	followObjects mode = "follow"
	// withdrawBindings: like that, but the bindings in the namespace, which belongs to another owner, are deleted.
	withdrawBindings mode = "withdraw"
)

// decideMembers decides about the roles and bindings of a Project that is not provided for; current is its namespace, nil if there is
// none. Nothing is created for a paused Project, but removed members must lose their permissions nevertheless.
func decideMembers(project *gardenerv1beta1.Project, current *corev1.Namespace) mode {
	switch {
	case current == nil:
		return followObjects
	case isTakenBack(project, current):
		return withdrawBindings
	case kit.IsPaused(project), !isClaimedBy(project, current), !current.DeletionTimestamp.IsZero():
		return followObjects
	default:
		return createObjects
	}
}

// isTakenBack reports whether a namespace cannot belong to this Project, even if it did before.
func isTakenBack(project *gardenerv1beta1.Project, current *corev1.Namespace) bool {
	return !isProjectNamespace(current.Name) || !hasProjectLabels(project, current) || isClaimedByAnother(project, current)
}

// releaseAction is what a reconciliation does with the namespace of a Project that is being deleted.
type releaseAction string

const (
	// releaseDone: nothing of the Project is left, so that it can be deleted.
	releaseDone releaseAction = "done"
	// releaseBlocked: an object in the namespace has to be deleted first.
	releaseBlocked releaseAction = "blocked"
	// releaseHeld: the finalizers of objects would hold the namespace, in which Kubernetes deletes the bindings of the members at once.
	releaseHeld releaseAction = "held"
	// releaseWait: the namespace is already being deleted.
	releaseWait releaseAction = "wait"
	// releaseDisown: the namespace does not belong to the Project, but has it as its owner. The garbage collector would delete it
	// after the Project, so only this reference is removed.
	releaseDisown releaseAction = "disown"
	// releaseKeep: the namespace is retained, without the labels and annotations of the Project.
	releaseKeep releaseAction = "keep"
	// releaseDelete: the namespace is deleted with its Project.
	releaseDelete releaseAction = "delete"
)

// decideRelease decides about the namespace of a Project that is being deleted; current is nil if it does not exist. The
// occupants are the blocking objects, and held are those with finalizers. They only apply in a namespace that was claimed for this
// Project: a Project that was denied a namespace neither waits for the objects of other users in it nor reveals their names.
func decideRelease(project *gardenerv1beta1.Project, current *corev1.Namespace, occupants, held []string) releaseAction {
	claimed := isClaimedBy(project, current)
	own := claimed && hasProjectLabels(project, current)
	switch {
	case current == nil:
		return releaseDone
	case claimed && len(occupants) > 0:
		return releaseBlocked
	case !own && isOwned(project, current):
		return releaseDisown
	case !own: // it is not changed
		return releaseDone
	case !current.DeletionTimestamp.IsZero():
		return releaseWait
	case isKept(current):
		return releaseKeep
	case len(held) > 0:
		return releaseHeld
	default:
		return releaseDelete
	}
}

// isForced reports whether the namespace of a Project is deleted although objects in it may have finalizers.
func isForced(project *gardenerv1beta1.Project) bool {
	return project.Annotations[gardenerv1beta1.AnnotationForceDeletion] == "true"
}

// agreement is whether the API servers authorize requests for Projects as the configuration of this controller expects.
type agreement struct {
	// membership is set if every server decides by the members: it is proven that no member needs the roles of each Project.
	membership bool
	// difference is what differs, for users; empty if nothing does, or if that is not known yet.
	difference string
}

// findings are the difference, if there is one.
func (a agreement) findings() []string {
	if a.difference == "" {
		return nil
	}
	return []string{a.difference}
}

// decideAgreement decides what the servers that run mean for a controller. waited is set if it could have been proven meanwhile. Roles
// are deleted only with a proof: a server that publishes nothing may need them.
func decideAgreement(byMembership bool, servers []serverstate.Server, waited bool) agreement {
	expected := configv1alpha1.ProjectAuthorizationRoles
	if byMembership {
		expected = configv1alpha1.ProjectAuthorizationMembership
	}
	proven := false
	for i := range servers {
		server := &servers[i]
		isMembership := server.ProjectAuthorization == string(configv1alpha1.ProjectAuthorizationMembership)
		if isMembership != byMembership {
			return differs(byMembership, fmt.Sprintf("API server %q decides by %s (--project-authorization), and "+
				"controllers.project.authorization is %s", server.Name, server.ProjectAuthorization, expected))
		}
		proven = proven || server.Proven
	}
	switch {
	case !byMembership:
		return agreement{}
	case proven:
		return agreement{membership: true}
	case waited:
		return differs(byMembership, fmt.Sprintf("no API server publishes in ConfigMap %s/%s that it decides by membership, as "+
			"controllers.project.authorization expects", serverstate.Namespace, serverstate.Name))
	default:
		return agreement{}
	}
}

// differs returns an agreement that states what differs, what that means, and the remedy.
func differs(byMembership bool, difference string) agreement {
	consequence := "the roles of the members are reconciled, but not used"
	if byMembership {
		consequence = "the ClusterRoles of the project are neither created nor deleted"
	}
	return agreement{difference: fmt.Sprintf("%s: %s; docs/project-authorization.md has the order of a change", difference, consequence)}
}

// annotationProjectUID names the Project that a role, a binding or a quota was created for. Its name alone would be a guess: a
// Project with the same name may have been created after the one that is being deleted.
const annotationProjectUID = gardenerv1beta1.AnnotationCreatedForProject

// wasCreatedFor reports whether a role, a binding or a quota was created for this Project. Those of earlier versions are owned
// by it.
func wasCreatedFor(project *gardenerv1beta1.Project, object metav1.Object) bool {
	return object.GetAnnotations()[annotationProjectUID] == string(project.UID) ||
		slices.ContainsFunc(object.GetOwnerReferences(), ownedBy(project))
}

// isBindingOf reports whether a role binding in a namespace is one of the Project. Its name and its role cannot be changed, but members
// may be able to change its labels and annotations: without the annotation it is the Project's if the namespace is, or was according to
// the status. In the namespace of another Project, bindings with the names that all Projects use are that one's.
func isBindingOf(project *gardenerv1beta1.Project, namespace *corev1.Namespace, binding *rbacv1.RoleBinding) bool {
	extension, isExtension := strings.CutPrefix(binding.Name, extensionRoleName(project, ""))
	shared := slices.Contains([]string{namespaceRoleMember, namespaceRoleViewer, namespaceRoleServiceAccountManager}, binding.Name)
	switch {
	case !isExtension && !shared:
		return false
	case wasCreatedFor(project, binding):
		return true
	case binding.RoleRef != clusterRoleRef(binding.Name) && (shared || binding.RoleRef != clusterRoleRef(roleSharedExtension+extension)):
		return false
	case isClaimedByAnother(project, namespace):
		return isExtension && hadBindings(project)
	default:
		return hadBindings(project) || !isTakenBack(project, namespace) && isClaimedBy(project, namespace)
	}
}

// isRevoked reports whether nothing is left to do for a binding but to wait for its finalizers.
func isRevoked(binding *rbacv1.RoleBinding) bool {
	return !binding.DeletionTimestamp.IsZero() && (len(binding.Subjects) == 0 || binding.RoleRef.Kind != clusterRoleRef("").Kind)
}

// hadBindings reports whether the status remembers that the Project had bindings in its namespace, which was not found without them since.
func hadBindings(project *gardenerv1beta1.Project) bool {
	reported := conditions.Find(project.Status.Conditions, gardenerv1beta1.ProjectRBACReady)
	return reported != nil && reported.Reason != reasonNamespaceMissing
}

// otherFinalizers returns the finalizers of a Project that belong to other controllers.
func otherFinalizers(project *gardenerv1beta1.Project) []string {
	return slices.DeleteFunc(slices.Clone(project.Finalizers), func(name string) bool { return name == gardenerv1beta1.FinalizerName })
}
