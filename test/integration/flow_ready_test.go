// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestProjectBecomesReady checks that a new Project gets its namespace, its roles, its status and an event, with the names that
// Gardener's clients expect.
func TestProjectBecomesReady(t *testing.T) {
	t.Parallel()
	project := newProject(t, "ready", olivia(), member("User", "mara", "admin"), member("Group", "auditors", "viewer"),
		member("User", "umberto", "uam"), member("User", "sam", "serviceaccountmanager"))
	wait := exec.CommandContext(t.Context(), shared.Kubectl(), "--kubeconfig="+shared.AdminKubeconfig(),
		"wait", "--for=condition=NamespaceReady", "--for=condition=RBACReady", "--timeout=60s", "project/"+project.Name)
	if out, err := wait.CombinedOutput(); err != nil || !strings.Contains(string(out), "condition met") {
		t.Errorf("%v: %s", err, out)
	}
	ready(t, project)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	get(t, namespace)
	delete(namespace.Labels, corev1.LabelMetadataName) // Kubernetes' own
	type marks struct {
		Labels, Annotations map[string]string
		Owners              []metav1.OwnerReference // none: the garbage collector would delete it when the Groundskeeper API is not served
	}
	want := marks{
		Labels: map[string]string{"gardener.cloud/role": "project", "project.gardener.cloud/name": project.Name},
		Annotations: map[string]string{
			"namespace.gardener.cloud/project":                       string(project.UID),
			"namespace.gardener.cloud/created-by-project-controller": "true",
		},
	}
	if diff := cmp.Diff(want, marks{namespace.Labels, namespace.Annotations, namespace.OwnerReferences}); diff != "" {
		t.Errorf("namespace (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(access{
		"ClusterRole gardener.cloud:system:project:P":        "core.gardener.cloud/projects[P] delete,get,list,manage-members,patch,update,watch; /namespaces[NS] get,list,watch",
		"ClusterRole gardener.cloud:system:project-uam:P":    "core.gardener.cloud/projects[P] get,list,manage-members,patch,update,watch",
		"ClusterRole gardener.cloud:system:project-member:P": "core.gardener.cloud/projects[P] delete,get,list,patch,update,watch; /namespaces[NS] get,list,watch",
		"ClusterRole gardener.cloud:system:project-viewer:P": "core.gardener.cloud/projects[P] get,list,watch; /namespaces[NS] get,list,watch",

		"ClusterRoleBinding gardener.cloud:system:project:P":        "ClusterRole gardener.cloud:system:project:P: User olivia",
		"ClusterRoleBinding gardener.cloud:system:project-uam:P":    "ClusterRole gardener.cloud:system:project-uam:P: User umberto",
		"ClusterRoleBinding gardener.cloud:system:project-member:P": "ClusterRole gardener.cloud:system:project-member:P: User mara, User olivia",
		"ClusterRoleBinding gardener.cloud:system:project-viewer:P": "ClusterRole gardener.cloud:system:project-viewer:P: Group auditors",

		"RoleBinding gardener.cloud:system:project-member":                "ClusterRole gardener.cloud:system:project-member: User mara, User olivia",
		"RoleBinding gardener.cloud:system:project-viewer":                "ClusterRole gardener.cloud:system:project-viewer: Group auditors",
		"RoleBinding gardener.cloud:system:project-serviceaccountmanager": "ClusterRole gardener.cloud:system:project-serviceaccountmanager: User olivia, User sam",
	}, accessOf(t, project)); diff != "" {
		t.Errorf("roles and bindings (-want +got):\n%s", diff)
	}

	conditions := map[gardenerv1beta1.ConditionType]string{}
	for _, condition := range project.Status.Conditions {
		conditions[condition.Type] = string(condition.Status) + " " + condition.Reason
		if condition.Message == "" || condition.LastTransitionTime.IsZero() || condition.LastUpdateTime.IsZero() {
			t.Errorf("condition %s has too little: %+v", condition.Type, condition)
		}
	}
	if diff := cmp.Diff(map[gardenerv1beta1.ConditionType]string{
		"NamespaceReady": "True NamespaceCreated", "RBACReady": "True RolesReconciled", "Deletable": "True NamespaceEmpty", "Ready": "True Ready",
	}, conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if project.Generation != 1 || project.Status.ObservedGeneration != 1 {
		t.Errorf("generation %d, observed %d", project.Generation, project.Status.ObservedGeneration)
	}
	event := eventOf(t, project, "NamespaceReconcileSuccessful")
	if event.Type != corev1.EventTypeNormal || event.ReportingController != "project-controller" {
		t.Errorf("event %s of %q", event.Type, event.ReportingController)
	}
}
