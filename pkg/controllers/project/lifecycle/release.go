// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// releaseAction is what a pass does about the namespace of a Project that is being deleted.
type releaseAction string

const (
	// releaseDone: there is nothing of ours left, so the Project may go.
	releaseDone releaseAction = "done"
	// releaseBlocked: something in the namespace has to go first.
	releaseBlocked releaseAction = "blocked"
	// releaseWait: the namespace is being deleted already.
	releaseWait releaseAction = "wait"
	// releaseDisown: the namespace is not ours, but names us as its owner. The garbage collector would delete it after
	// the Project, so that one reference goes and nothing else.
	releaseDisown releaseAction = "disown"
	// releaseKeep: the namespace stays; our marks on it go.
	releaseKeep releaseAction = "keep"
	// releaseDelete: the namespace goes with its Project.
	releaseDelete releaseAction = "delete"
)

// decideRelease decides about the namespace of a Project that is being deleted; current is nil when there is none.
// The occupants are what keeps the namespace. They count only in a namespace that was claimed for this Project: a
// Project that was refused a namespace neither waits for what others have in it nor tells their names.
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

// leave leaves a namespace that is not ours alone, after a look at its owners.
func leave(project *gardenerv1beta1.Project, current *corev1.Namespace) releaseAction {
	if slices.ContainsFunc(current.OwnerReferences, ownedBy(project)) {
		return releaseDisown
	}
	return releaseDone
}

// ownedBy says whether an owner is this very Project.
func ownedBy(project *gardenerv1beta1.Project) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return isProject(ref) && ref.UID == project.UID }
}

// disownedNamespace is a namespace that the Project does not own.
func disownedNamespace(project *gardenerv1beta1.Project, current *corev1.Namespace) *corev1.Namespace {
	next := current.DeepCopy()
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, ownedBy(project))
	return next
}

// releasedNamespace is a namespace without the marks of its Project.
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
