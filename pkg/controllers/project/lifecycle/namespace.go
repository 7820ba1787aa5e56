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

// namespaceAction is what a pass does about the namespace of a Project that lives.
type namespaceAction string

const (
	// createNamespace: there is none.
	createNamespace namespaceAction = "create"
	// claimNamespace: it is ours or may become so; claimedNamespace says how it should look.
	claimNamespace namespaceAction = "claim"
	// waitForNamespace: it is being deleted, and a new one is made when it is gone.
	waitForNamespace namespaceAction = "wait"
	// refuseNamespace: it is somebody else's. Nothing in it is changed.
	refuseNamespace namespaceAction = "refuse"
)

// namespaceDecision is an action with the words for the condition.
type namespaceDecision struct {
	action          namespaceAction
	reason, message string
}

// decideNamespace decides about the namespace of a Project; current is nil when there is none. A namespace that
// exists is taken only when its labels name the Project: without that rule whoever may create a Project could make
// himself a member of any namespace.
func decideNamespace(project *gardenerv1beta1.Project, current *corev1.Namespace) namespaceDecision {
	name := namespaceName(project)
	switch {
	case !isProjectNamespace(name):
		return namespaceDecision{refuseNamespace, reasonNamespaceNotAllowed, fmt.Sprintf(
			"namespace %q cannot be used: the name must start with %s", name, gardenerv1beta1.ProjectNamespacePrefix)}
	case current == nil:
		return namespaceDecision{action: createNamespace}
	case !current.DeletionTimestamp.IsZero():
		return namespaceDecision{waitForNamespace, reasonNamespaceTerminating, terminatingMessage(current)}
	case !hasProjectLabels(project, current):
		return namespaceDecision{refuseNamespace, reasonNamespaceNotLabelled, fmt.Sprintf(
			"namespace cannot be used as it needs the project labels %s", labels.Set(projectLabels(project)))}
	case isClaimedByAnother(project, current):
		return namespaceDecision{refuseNamespace, reasonNamespaceInUse, "namespace is already in-use by another project"}
	default:
		return namespaceDecision{action: claimNamespace}
	}
}

// newNamespace is the namespace of a Project as it is created. It has no owner reference to the Project: the garbage
// collector takes an owner for deleted when the API that serves it is removed, and would delete the namespace of a tenant
// because of that. This controller deletes it, with the Project.
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

// claimedNamespace is a namespace with the marks of the Project it belongs to; everything else of it stays. Owner references
// to Projects, which earlier versions set, are removed, whatever Project they name.
func claimedNamespace(project *gardenerv1beta1.Project, current *corev1.Namespace) *corev1.Namespace {
	next := current.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, gardenerv1beta1.AnnotationProjectUID, string(project.UID))
	if next.Annotations[gardenerv1beta1.AnnotationNamespaceCreatedByController] != "true" {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, gardenerv1beta1.AnnotationKeepNamespace, "true")
	}
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, isProject)
	return next
}

// namespaceName is the name of the namespace that a Project has or will have.
func namespaceName(project *gardenerv1beta1.Project) string {
	if name := project.NamespaceName(); name != "" {
		return name
	}
	return gardenerv1beta1.GeneratedNamespace(project.Name, project.UID)
}

// isProjectNamespace says whether a namespace of this name may belong to a Project at all. The API server refuses
// others; this guards kube-system and its like against an object that came another way.
func isProjectNamespace(name string) bool {
	return name == gardenerv1beta1.GardenNamespace || strings.HasPrefix(name, gardenerv1beta1.ProjectNamespacePrefix)
}

// projectLabels are the labels by which a namespace names its Project.
func projectLabels(project *gardenerv1beta1.Project) map[string]string {
	return map[string]string{
		gardenerv1beta1.LabelRole:        gardenerv1beta1.RoleProject,
		gardenerv1beta1.LabelProjectName: project.Name,
	}
}

func hasProjectLabels(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return labels.SelectorFromSet(projectLabels(project)).Matches(labels.Set(namespace.Labels))
}

// isClaimedBy says whether a namespace carries the uid of the Project: it was created or adopted for it.
func isClaimedBy(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	return namespace != nil && isProjectNamespace(namespace.Name) &&
		namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] == string(project.UID)
}

func isClaimedByAnother(project *gardenerv1beta1.Project, namespace *corev1.Namespace) bool {
	uid, claimed := namespace.Annotations[gardenerv1beta1.AnnotationProjectUID]
	return claimed && uid != string(project.UID)
}

// isKept says whether a namespace outlives its Project.
func isKept(namespace *corev1.Namespace) bool {
	kept, err := strconv.ParseBool(namespace.Annotations[gardenerv1beta1.AnnotationKeepNamespace])
	return err == nil && kept
}

// isProject says whether an owner is a Project, of any name, uid and version.
func isProject(ref metav1.OwnerReference) bool {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && version.Group == gardenerv1beta1.GroupName && ref.Kind == "Project"
}

// terminatingMessage says that a namespace is being deleted, and what Kubernetes says it is waiting for.
func terminatingMessage(namespace *corev1.Namespace) string {
	message := fmt.Sprintf("namespace %q is being deleted", namespace.Name)
	separator := ": "
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && condition.Message != "" {
			// One says what is left, another which finalizers hold it.
			message, separator = message+separator+condition.Message, "; "
		}
	}
	return message
}
