// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// newNamespace returns the namespace of a new Project. It has no owner reference to the Project: when the API that serves the
// owner is removed, the garbage collector considers the owner deleted, and would delete the namespace of a tenant. This
// controller deletes it with the Project.
func newNamespace(project *gardenerv1beta1.Project) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   namespaceName(project),
		Labels: projectLabels(project),
		Annotations: map[string]string{
			gardenerv1beta1.AnnotationProjectUID:                   string(project.UID),
			gardenerv1beta1.AnnotationNamespaceCreatedByController: "true",
		},
	}}
}

// claimedNamespace returns a namespace with the labels and annotations of its Project; all other fields are retained. Owner
// references to any Project, which earlier versions set, are removed.
func claimedNamespace(project *gardenerv1beta1.Project, current *corev1.Namespace) *corev1.Namespace {
	next := current.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, gardenerv1beta1.AnnotationProjectUID, string(project.UID))
	if next.Annotations[gardenerv1beta1.AnnotationNamespaceCreatedByController] != "true" {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, gardenerv1beta1.AnnotationKeepNamespace, "true")
	}
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, gardenerv1beta1.IsProject)
	return next
}

// namespaceName returns the name of the namespace that a Project has or will have.
func namespaceName(project *gardenerv1beta1.Project) string {
	if name := project.NamespaceName(); name != "" {
		return name
	}
	return gardenerv1beta1.GeneratedNamespace(project.Name, project.UID)
}

// isProjectNamespace reports whether a namespace with this name is allowed to belong to a Project. The API server rejects other
// names; this protects kube-system and similar namespaces from an object that was created in another way.
func isProjectNamespace(name string) bool {
	return name == gardenerv1beta1.GardenNamespace || strings.HasPrefix(name, gardenerv1beta1.ProjectNamespacePrefix)
}

// projectLabels returns the labels with which a namespace names its Project.
func projectLabels(project *gardenerv1beta1.Project) map[string]string {
	return map[string]string{
		gardenerv1beta1.LabelRole:        gardenerv1beta1.RoleProject,
		gardenerv1beta1.LabelProjectName: project.Name,
	}
}

func hasProjectLabels(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return labels.SelectorFromSet(projectLabels(project)).Matches(labels.Set(namespace.Labels))
}

// isClaimedBy reports whether a namespace has the UID of the Project: it was created or adopted for it.
func isClaimedBy(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return namespace != nil && isProjectNamespace(namespace.Name) &&
		namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] == string(project.UID)
}

func isClaimedByAnother(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	uid, claimed := namespace.Annotations[gardenerv1beta1.AnnotationProjectUID]
	return claimed && uid != string(project.UID)
}

// isKept reports whether a namespace is retained when its Project is deleted.
func isKept(namespace *corev1.Namespace) bool {
	kept, err := strconv.ParseBool(namespace.Annotations[gardenerv1beta1.AnnotationKeepNamespace])
	return err == nil && kept
}

// ownedBy reports whether an owner is this Project.
func ownedBy(project *gardenerv1beta1.Project) func(metav1.OwnerReference) bool {
	return func(ref metav1.OwnerReference) bool { return gardenerv1beta1.IsProject(ref) && ref.UID == project.UID }
}

// isOwned reports whether a namespace has the Project as its owner.
func isOwned(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return namespace != nil && slices.ContainsFunc(namespace.OwnerReferences, ownedBy(project))
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
	delete(next.Annotations, annotationRecreatedQuota)
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, gardenerv1beta1.IsProject)
	return next
}
