// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
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
		return namespaceDecision{rejectNamespace, reasonNamespaceInUse, "namespace is already in-use by another project"}
	default:
		return namespaceDecision{action: claimNamespace}
	}
}

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
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, isProject)
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

// isProject reports whether an owner is a Project with any name, UID and version.
func isProject(ref metav1.OwnerReference) bool {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && version.Group == gardenerv1beta1.GroupName && ref.Kind == "Project"
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
