// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// testWrites checks that a new Project costs at most 16 writes, including the event and the status, and that a change costs only
// the writes of changed objects.
func (p *pair) testWrites(t *testing.T) {
	project := p.project(t, "writes", map[string]string{"size": "small"}, olivia(), member("User", "mara", "admin", "uam"), member("Group", "all"))
	p.announced(t, project, 1)
	idle(t, p.Managers, 1)
	found := p.writes(t, project.Name)
	if len(found) > 16 || len(found) < 15 {
		t.Errorf("a new project costs %d writes:\n%s", len(found), strings.Join(found, "\n"))
	}
	for what, want := range map[string]int{"/status ": 1, "create events": 1, "namespaces/ ": 1, "resourcequotas/ ": 1} {
		if n := len(slices.DeleteFunc(slices.Clone(found), func(write string) bool { return !strings.Contains(write, what) })); n != want {
			t.Errorf("%d writes of %q:\n%s", n, what, strings.Join(found, "\n"))
		}
	}
	t.Logf("a new project costs %d writes", len(found))

	p.update(t, project, func() { project.Spec.Description = new("something new") })
	p.ready(t, project)
	idle(t, p.Managers, 1)
	after := p.writes(t, project.Name)[len(found):]
	if len(after) != 1 || !strings.Contains(after[0], "/status ") {
		t.Errorf("a new description costs:\n%s", strings.Join(after, "\n"))
	}
	p.update(t, project, func() { project.Spec.Members = append(project.Spec.Members, member("User", "vera")) })
	p.ready(t, project)
	p.announced(t, project, 2)
	idle(t, p.Managers, 1)
	after = p.writes(t, project.Name)[len(found)+1:]
	if len(after) != 4 { // the binding of the cluster, that of the namespace, the status and an event
		t.Errorf("a new viewer costs:\n%s", strings.Join(after, "\n"))
	}
}

// testRestartWritesNothing checks that starting managers find all objects as desired, and write nothing.
func (p *pair) testRestartWritesNothing(t *testing.T) {
	for _, project := range []*gardenerv1beta1.Project{
		p.project(t, "many", nil, olivia(), member("User", "vera", "extension:deploy")),
		p.project(t, "many", map[string]string{"size": "large"}, member("ServiceAccount", "default/robot", "owner")),
	} {
		p.announced(t, project, 1) // its event is not a write of the starting processes
	}
	projects := &gardenerv1beta1.ProjectList{}
	if err := p.client.List(t.Context(), projects); err != nil {
		t.Fatal(err)
	}
	for i := range projects.Items {
		p.ready(t, &projects.Items[i])
	}
	idle(t, p.Managers, 1)
	before := p.writes(t, "")
	for range 2 { // the second time, the restarted process takes over
		leader, _ := leaderOf(t, p.Managers)
		if err := leader.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		idle(t, p.Managers, float64(len(projects.Items)))
		restart(t, leader)
	}
	if found := p.writes(t, "")[len(before):]; len(found) > 0 {
		t.Errorf("the managers wrote:\n%s", strings.Join(found, "\n"))
	}
}

// Changes by others to foreign fields and objects cause no write.
func (p *pair) testChangesOfOthersWriteNothing(t *testing.T) {
	project := p.project(t, "touched", map[string]string{"size": "small"}, olivia(), member("User", "vera"))
	p.announced(t, project, 1)
	idle(t, p.Managers, 1)
	before := p.writes(t, "")
	viewer := metav1.ObjectMeta{Name: "gardener.cloud:system:project-viewer:" + project.Name}
	inside := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: name}
	}
	note := func(object client.Object) {
		object.SetAnnotations(with(object.GetAnnotations(), "example.com/note", "theirs"))
		object.SetLabels(with(object.GetLabels(), "example.com/team", "theirs"))
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}},
		&rbacv1.ClusterRole{ObjectMeta: viewer},
		&rbacv1.ClusterRoleBinding{ObjectMeta: viewer},
		&rbacv1.RoleBinding{ObjectMeta: inside("gardener.cloud:system:project-viewer")},
		&corev1.ResourceQuota{ObjectMeta: inside("gardener")},
		project,
	} {
		seen := passes(t, p.Managers)
		p.update(t, object, func() { note(object) })
		idle(t, p.Managers, seen+1)
	}
	// These do not even wake the controller; the status shows when it has processed the earlier changes.
	for _, touch := range []func(){
		func() { project.Annotations["example.com/note"] = "again" },
		func() { project.Finalizers = append(project.Finalizers, "example.com/hold") },
		func() { project.Finalizers = project.Finalizers[:1] },
	} {
		p.update(t, project, touch)
	}
	project.Status.Conditions = append(project.Status.Conditions, gardenerv1beta1.Condition{Type: "Tidy", Status: "True", Reason: "Looked", Message: "by others",
		LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now()})
	if err := p.client.Status().Update(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	p.update(t, project, func() { project.Spec.Description = new("the end") })
	p.ready(t, project)
	idle(t, p.Managers, 1)
	found := p.writes(t, "")[len(before):]
	if len(found) != 1 || !strings.Contains(found[0], "projects/status") {
		t.Errorf("all except the last change cost nothing, these were written:\n%s", strings.Join(found, "\n"))
	}
	if !slices.ContainsFunc(project.Status.Conditions, func(c gardenerv1beta1.Condition) bool { return c.Type == "Tidy" && c.Message == "by others" }) {
		t.Errorf("the condition of others has been deleted: %+v", project.Status.Conditions)
	}
}
