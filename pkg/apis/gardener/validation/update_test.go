// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestValidateProjectUpdate(t *testing.T) {
	for _, tc := range []change{
		{"another namespace", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Namespace = new("garden-other") }), []string{"spec.namespace: Invalid value: \"garden-other\"", "field is immutable"}},
		{"no namespace", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Namespace = nil }), []string{"spec.namespace: Invalid value", "field is immutable"}},
		{"bad namespace is one error", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Namespace = new("kube-system") }), []string{"spec.namespace: Invalid value", "field is immutable"}},
		{"another creator", spec(func(s *gardenerv1beta1.ProjectSpec) { s.CreatedBy = new(user("bob")) }), []string{"spec.createdBy: Invalid value", "field is immutable"}},
		{"no creator", spec(func(s *gardenerv1beta1.ProjectSpec) { s.CreatedBy = nil }), []string{"spec.createdBy: Invalid value", "field is immutable"}},
		{"no owner", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Owner = nil }), []string{"spec.owner: Invalid value", "owner cannot be reset"}},
		{"another owner", spec(func(s *gardenerv1beta1.ProjectSpec) {
			s.Owner, s.Members = new(user("bob")), []gardenerv1beta1.ProjectMember{member(user("alice"), "admin"), member(user("bob"), "owner")}
		}), nil},
		{"a name that is too long for a new Project", func(p *gardenerv1beta1.Project) { p.Name, p.Spec.Purpose = strings.Repeat("a", 51), nil }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := goodProject()
			tc.mutate(project)
			expect(t, whole(t, ValidateProjectUpdate(project, goodProject()), project, goodProject()), tc.want)
		})
	}
}

// Fields that the server sets at creation may be missing in an imported Project. They can be set once.
func TestValidateProjectUpdateOfAnImport(t *testing.T) {
	imported := goodProject()
	imported.Spec = gardenerv1beta1.ProjectSpec{}
	for _, namespace := range []*string{nil, new("")} {
		imported.Spec.Namespace = namespace
		expect(t, ValidateProjectUpdate(goodProject(), imported), nil)
	}
}

// A Project that an older server or an import stored may break a rule. It must be possible to take its finalizer.
func TestValidateProjectUpdateAcceptsStoredObjects(t *testing.T) {
	stored := goodProject()
	stored.Finalizers = []string{gardenerv1beta1.FinalizerName}
	stored.Spec.Description = new("")
	stored.Spec.Members = append(stored.Spec.Members, member(rbacv1.Subject{Kind: "Robot"}, "king"))
	for _, tc := range []change{
		{"finalizer removed", func(p *gardenerv1beta1.Project) { p.Finalizers = nil }, nil},
		{"annotation", func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{"a": "b"} }, nil},
		{"mended", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Members = s.Members[:1] }), nil},
		{"changed and not mended", spec(func(s *gardenerv1beta1.ProjectSpec) { s.Members[1].Name, s.Members[1].Role = "r2", "viewer" }), []string{"spec.members[1].kind: Unsupported value"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			project := stored.DeepCopy()
			tc.mutate(project)
			expect(t, whole(t, ValidateProjectUpdate(project, stored), project, stored), tc.want)
		})
	}
}

func TestValidateProjectStatusUpdate(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	condition := gardenerv1beta1.Condition{Type: gardenerv1beta1.ProjectNamespaceReady, Status: gardenerv1beta1.ConditionTrue,
		Reason: "NamespaceReconciled", LastTransitionTime: now, LastUpdateTime: now}
	status := func(mutate func(*gardenerv1beta1.ProjectStatus)) func(*gardenerv1beta1.Project) {
		return func(p *gardenerv1beta1.Project) { mutate(&p.Status) }
	}
	tests := []change{
		{"no phase", status(func(s *gardenerv1beta1.ProjectStatus) { s.Phase = "" }), []string{"status.phase: Forbidden", "phase cannot be updated to an empty string"}},
		{"unknown phase", status(func(s *gardenerv1beta1.ProjectStatus) { s.Phase = "Fine" }), []string{"status.phase: Unsupported value: \"Fine\"", `"Ready"`}},
		{"condition", status(func(s *gardenerv1beta1.ProjectStatus) { s.Conditions = []gardenerv1beta1.Condition{condition} }), nil},
		{"condition twice", status(func(s *gardenerv1beta1.ProjectStatus) {
			s.Conditions = []gardenerv1beta1.Condition{condition, condition}
		}), []string{"status.conditions[1]: Duplicate value"}},
		{"condition without status", status(func(s *gardenerv1beta1.ProjectStatus) {
			s.Conditions = []gardenerv1beta1.Condition{{Type: "Stale"}}
		}), []string{"status.conditions[0].status: Required value"}},
		{"condition with an unknown status", status(func(s *gardenerv1beta1.ProjectStatus) {
			s.Conditions = []gardenerv1beta1.Condition{{Type: "Stale", Status: "Maybe"}}
		}), []string{"status.conditions[0].status: Unsupported value: \"Maybe\""}},
	}
	for _, phase := range []gardenerv1beta1.ProjectPhase{"Pending", "Ready", "Failed", "Terminating"} {
		tests = append(tests, change{string(phase), status(func(s *gardenerv1beta1.ProjectStatus) { s.Phase = phase }), nil})
	}
	for _, conditionStatus := range []gardenerv1beta1.ConditionStatus{"True", "False", "Unknown", "Progressing"} {
		tests = append(tests, change{"condition " + string(conditionStatus), status(func(s *gardenerv1beta1.ProjectStatus) {
			s.Conditions = []gardenerv1beta1.Condition{{Type: "Stale", Status: conditionStatus}}
		}), nil})
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			old, project := goodProject(), goodProject()
			old.Status.Phase, project.Status.Phase = gardenerv1beta1.ProjectPending, gardenerv1beta1.ProjectPending
			tc.mutate(project)
			expect(t, whole(t, ValidateProjectStatusUpdate(project, old), project, old, "status"), tc.want)
		})
	}
	t.Run("no phase yet", func(t *testing.T) {
		expect(t, whole(t, ValidateProjectStatusUpdate(goodProject(), goodProject()), goodProject(), goodProject(), "status"), nil)
	})
}
