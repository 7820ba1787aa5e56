// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// releaseAction is what a reconciliation does with the namespace of a Project that is being deleted.
type releaseAction string

const (
	// releaseDone: nothing of the Project is left, so that it can be deleted.
	releaseDone releaseAction = "done"
	// releaseBlocked: an object in the namespace has to be deleted first.
	releaseBlocked releaseAction = "blocked"
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
// occupants are the blocking objects. They only apply in a namespace that was claimed for this Project: a Project that was
// denied a namespace neither waits for the objects of other users in it nor reveals their names.
func decideRelease(project *gardenerv1beta1.Project, current *corev1.Namespace, occupants []string) releaseAction {
	switch {
	case current == nil:
		return releaseDone
	case !isClaimedBy(project, current):
		return leave(project, current)
	case len(occupants) > 0:
		return releaseBlocked
	case !hasProjectLabels(project, current):
		return leave(project, current)
	case !current.DeletionTimestamp.IsZero():
		return releaseWait
	case isKept(current):
		return releaseKeep
	default:
		return releaseDelete
	}
}

// leave does not change a namespace that does not belong to the Project, except for its owner references.
func leave(project *gardenerv1beta1.Project, current *corev1.Namespace) releaseAction {
	if slices.ContainsFunc(current.OwnerReferences, ownedBy(project)) {
		return releaseDisown
	}
	return releaseDone
}

// ownedBy reports whether an owner is this Project.
func ownedBy(project *gardenerv1beta1.Project) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return isProject(ref) && ref.UID == project.UID }
}

// disownedNamespace returns a namespace that is not owned by the Project.
func disownedNamespace(project *gardenerv1beta1.Project, current *corev1.Namespace) *corev1.Namespace {
	next := current.DeepCopy()
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, ownedBy(project))
	return next
}

// releasedNamespace returns a namespace without the labels and annotations of its Project.
func releasedNamespace(current *corev1.Namespace) *corev1.Namespace {
	next := current.DeepCopy()
	delete(next.Labels, gardenerv1beta1.LabelRole)
	delete(next.Labels, gardenerv1beta1.LabelProjectName)
	delete(next.Annotations, gardenerv1beta1.AnnotationProjectUID)
	delete(next.Annotations, gardenerv1beta1.AnnotationKeepNamespace)
	delete(next.Annotations, gardenerv1beta1.AnnotationNamespaceCreatedByController)
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, isProject)
	return next
}
