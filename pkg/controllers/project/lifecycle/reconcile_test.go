// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const ready = "Normal NamespaceReconcileSuccessful "

func TestNewProject(t *testing.T) {
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
	project := c.project("dev")
	if _, err := c.reconcile("dev"); err != nil {
		t.Fatal(err)
	}
	events := c.events()
	if len(events) != 1 || !strings.HasPrefix(events[0], ready) {
		t.Errorf("events %q", events)
	}
	if requests := c.store.Count() + len(events); requests != 15 {
		t.Errorf("%d writes with the event: %q", requests, c.store.Writes())
	}
	if first, last := c.store.Writes()[0], c.store.Writes()[c.store.Count()-1]; first != `create namespace "`+*project.Spec.Namespace+`"` || last != `apply status of project "dev"` {
		t.Errorf("the namespace is not first or the status not last: %q", c.store.Writes())
	}
	status := c.current("dev").Status
	if status.Phase != gardenerv1beta1.ProjectReady || status.ObservedGeneration != 1 {
		t.Errorf("status %+v", status)
	}
	for kind, want := range map[gardenerv1beta1.ConditionType]string{
		gardenerv1beta1.ProjectNamespaceReady: "True NamespaceCreated: ",
		gardenerv1beta1.ProjectRBACReady:      "True RolesReconciled: ",
		gardenerv1beta1.ProjectDeletable:      "True NamespaceEmpty: ",
	} {
		hasPrefix(t, string(kind), c.condition("dev", kind), want)
	}
	for _, object := range desiredRBAC(project) {
		if !c.exists(object.GetNamespace(), object.GetName(), object.DeepCopyObject().(client.Object)) {
			t.Errorf("%s is missing", describe(object))
		}
	}
	if !c.exists(*project.Spec.Namespace, "gardener", &corev1.ResourceQuota{}) {
		t.Error("the quota is missing")
	}
	if got := testutil.ToFloat64(c.reconciler.outcomes.WithLabelValues("ready")); got != 1 {
		t.Errorf("%v passes are counted as ready", got)
	}
}

func TestSteadyStateWritesNothing(t *testing.T) {
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
	c.project("dev", withMembers(member("bob", "viewer", "extension:a")))
	c.settle("dev")
	c.events()
	c.time = c.time.Add(time.Hour)
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("%d writes when nothing changed: %q", wrote, c.store.Writes())
	}
	if events := c.events(); events != nil {
		t.Errorf("events when nothing changed: %q", events)
	}
}

// TestReadyEventAfterRestart checks that a process that was killed between the last object and the status leaves the event to its
// successor.
func TestReadyEventAfterRestart(t *testing.T) {
	c := newCluster(t)
	c.project("dev")
	c.settle("dev")
	c.events()
	project := c.current("dev")
	project.Status = gardenerv1beta1.ProjectStatus{}
	if err := c.store.Status().Update(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	wrote, events := c.settle("dev"), c.events()
	if wrote != 1 || len(events) != 1 || !strings.HasPrefix(events[0], ready) {
		t.Errorf("writes %q, events %q", c.store.Writes(), events)
	}
}

func TestSpecChangeWritesDifferences(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev")
	c.settle("dev")
	c.events()
	change(c, project, func(p *gardenerv1beta1.Project) {
		withMembers(member("bob", "viewer"))(p)
		p.Generation = 2
	})
	c.store.Reset()
	if _, err := c.reconcile("dev"); err != nil {
		t.Fatal(err)
	}
	writes := c.store.Writes()
	slices.Sort(writes)
	want := []string{
		`apply status of project "dev"`,
		`patch cluster role binding "gardener.cloud:system:project-viewer:dev"`,
		`patch role binding "gardener.cloud:system:project-viewer" in namespace "` + *project.Spec.Namespace + `"`,
	}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Error(diff)
	}
	if c.current("dev").Status.ObservedGeneration != 2 {
		t.Error("observedGeneration is old")
	}
	if events := c.events(); len(events) != 1 {
		t.Errorf("events %q", events)
	}
}

func TestStatusOfOthersIsNotTouched(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev")
	stale := conditionOf(gardenerv1beta1.ProjectStale, "True", "S", "s", early, early)
	project.Status = gardenerv1beta1.ProjectStatus{StaleSinceTimestamp: &early, LastActivityTimestamp: &later, Conditions: []gardenerv1beta1.Condition{stale}}
	if err := c.store.Status().Update(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	c.settle("dev")
	status := c.current("dev").Status
	if !status.StaleSinceTimestamp.Equal(&early) || !status.LastActivityTimestamp.Equal(&later) {
		t.Errorf("times were changed: %+v", status)
	}
	if got := c.condition("dev", gardenerv1beta1.ProjectStale); got != "True S: s" {
		t.Errorf("Stale is %q", got)
	}
	if len(status.Conditions) != 4 {
		t.Errorf("conditions %+v", status.Conditions)
	}
}

func TestManualEditsAreCorrected(t *testing.T) {
	const member, own = "gardener.cloud:system:project-member", "gardener.cloud:system:project:dev"
	for name, test := range map[string]struct {
		edit func(c *cluster, namespace string)
		// wrote is how many writes that takes, of objects.
		wrote int
	}{
		"a rule is added": {func(c *cluster, _ string) {
			change(c, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: own}}, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, rule("*", "*", "*", "*")) })
		}, 1},
		"a subject is added": {func(c *cluster, namespace string) {
			change(c, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member}}, func(b *rbacv1.RoleBinding) { b.Subjects = append(b.Subjects, user("mallory")) })
		}, 1},
		"another role is bound": {func(c *cluster, _ string) {
			change(c, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: own}}, func(b *rbacv1.ClusterRoleBinding) { b.RoleRef.Name = "cluster-admin" })
		}, 3},
		"Groundskeeper's label is removed, so that the cache loses the object": {func(c *cluster, _ string) {
			change(c, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: own}}, func(r *rbacv1.ClusterRole) { r.Labels, r.Rules = nil, nil })
		}, 2},
		"another role is bound and Groundskeeper's label removed": {func(c *cluster, namespace string) {
			change(c, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member}}, func(b *rbacv1.RoleBinding) { b.Labels, b.RoleRef.Name = nil, "cluster-admin" })
		}, 4},
		"an object is deleted": {func(c *cluster, namespace string) {
			c.store.Remove(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member}})
		}, 1},
		"the quota is lowered": {func(c *cluster, namespace string) {
			change(c, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: quotaName}}, func(q *corev1.ResourceQuota) { q.Spec.Hard = limits("pods", "1") })
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
			project := c.project("dev")
			c.settle("dev")
			test.edit(c, *project.Spec.Namespace)
			c.events()
			if wrote := c.settle("dev"); wrote != test.wrote {
				t.Errorf("%d writes, want %d: %q", wrote, test.wrote, c.store.Writes())
			}
			if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], ready) {
				t.Errorf("events %q", events)
			}
			for _, desired := range append(desiredRBAC(project), desiredQuota(project, c.reconciler.quotas)) {
				found := desired.DeepCopyObject().(client.Object)
				c.read(desired.GetNamespace(), desired.GetName(), found)
				if bindsAnotherRole(found, desired) || cmp.Diff(found, merged(found, desired)) != "" {
					t.Errorf("%s is not as it should be", describe(desired))
				}
			}
		})
	}
}

func TestRaisedQuotaAndForeignLabelsStay(t *testing.T) {
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
	project := c.project("dev")
	c.settle("dev")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: *project.Spec.Namespace, Name: quotaName}}
	change(c, quota, func(q *corev1.ResourceQuota) { q.Spec.Hard, q.Labels["team"] = limits("pods", "9"), "a" })
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("%d writes: %q", wrote, c.store.Writes())
	}
}

func TestAggregatedRulesAreKubernetes(t *testing.T) {
	c := newCluster(t)
	c.project("dev", withMembers(member("bob", "extension:a")))
	c.settle("dev")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:extension:project:dev:a"}}
	change(c, role, func(r *rbacv1.ClusterRole) { r.Rules = []rbacv1.PolicyRule{rule("x", "y", "z", "get")} })
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("%d writes: %q", wrote, c.store.Writes())
	}
}

func TestUnusedExtensionRoleIsDeleted(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("bob", "extension:a", "extension:b")))
	other := c.project("dev-2", withMembers(member("bob", "extension:a")))
	c.settle("dev-2")
	c.settle("dev")
	misplaced := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "misplaced", Labels: extensionLabels(project)}}
	c.store.Add(misplaced)
	change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members[1] = member("bob", "extension:b") })
	c.store.Reset()
	if _, err := c.reconcile("dev"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`patch role binding "gardener.cloud:extension:project:dev:a" in namespace "` + *project.Spec.Namespace + `"`,
		`delete role binding "gardener.cloud:extension:project:dev:a" in namespace "` + *project.Spec.Namespace + `"`,
		`delete cluster role "gardener.cloud:extension:project:dev:a"`,
	}
	if diff := cmp.Diff(want, c.store.Writes()); diff != "" {
		t.Error(diff)
	}
	if !c.exists("", "gardener.cloud:extension:project:dev:b", &rbacv1.ClusterRole{}) ||
		!c.exists("", "gardener.cloud:extension:project:dev-2:a", &rbacv1.ClusterRole{}) ||
		!c.exists(*other.Spec.Namespace, "gardener.cloud:extension:project:dev-2:a", &rbacv1.RoleBinding{}) ||
		!c.exists("", "misplaced", &rbacv1.ClusterRole{}) {
		t.Error("too much was deleted")
	}
}

func TestProjectThatCameAnotherWay(t *testing.T) {
	c := newCluster(t)
	c.project("dev", func(p *gardenerv1beta1.Project) { p.Finalizers, p.Spec.Namespace = nil, nil })
	c.settle("dev")
	project := c.current("dev")
	if project.NamespaceName() != gardenerv1beta1.GeneratedNamespace("dev", project.UID) || !slices.Contains(project.Finalizers, "gardener") {
		t.Errorf("namespace %q, finalizers %q", project.NamespaceName(), project.Finalizers)
	}
	if !c.exists("", project.NamespaceName(), &corev1.Namespace{}) || project.Status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("status %+v", project.Status)
	}
}

func TestPaused(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
	if wrote := c.settle("dev"); wrote != 1 {
		t.Errorf("%d writes: %q", wrote, c.store.Writes())
	}
	hasPrefix(t, "Paused", c.condition("dev", projectPaused), "True PausedByAnnotation: ")
	if status := c.current("dev").Status; status.Phase != gardenerv1beta1.ProjectPending || status.ObservedGeneration != 0 {
		t.Errorf("status %+v", status)
	}
	change(c, project, func(p *gardenerv1beta1.Project) { p.Annotations = nil })
	c.settle("dev")
	if got := c.condition("dev", projectPaused); got != "" || c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("Paused is %q, phase %s", got, c.current("dev").Status.Phase)
	}
	// A Project that was ready stays so, and its namespace is safe from a deletion that is paused.
	change(c, project, func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
	c.store.Remove(project)
	if wrote := c.settle("dev"); wrote != 1 || c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("%q", c.store.Writes())
	}
}

// TestDeletableListsRemainingObjects checks that a condition lists the objects in the namespace, so that users know them before a
// deletion.
func TestDeletableListsRemainingObjects(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev")
	c.settle("dev")
	c.events()
	c.store.Add(kluster(*project.Spec.Namespace, "a"))
	if wrote := c.settle("dev"); wrote != 1 {
		t.Errorf("%d writes: %q", wrote, c.store.Writes())
	}
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "False NamespaceNotEmpty: ")
	if events := c.events(); events != nil || c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("a Kluster makes a noise: %q", events)
	}
	c.store.Remove(kluster(*project.Spec.Namespace, "a"))
	c.settle("dev")
	hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "True NamespaceEmpty: ")
}

func TestFailureIsReportedOnce(t *testing.T) {
	c := newCluster(t)
	c.project("dev")
	fail := func(_ int, w kubetest.Write) error {
		write := w.String()
		if strings.Contains(write, "project-viewer:dev") {
			return errors.New("no room")
		}
		return nil
	}
	for pass := range 3 {
		c.store.Reset()
		c.store.Fault = fail
		if _, err := c.reconcile("dev"); err == nil || !strings.Contains(err.Error(), "no room") {
			t.Fatalf("the error is lost: %v", err)
		}
		wantStatus, wantEvents := 0, 0
		if pass == 0 {
			wantStatus, wantEvents = 1, 1
		}
		status := 0
		for _, write := range c.store.Writes() {
			if strings.HasPrefix(write, "apply status") {
				status++
			}
		}
		if events := c.events(); status != wantStatus || len(events) != wantEvents {
			t.Errorf("pass %d: %d status writes, events %q", pass, status, events)
		}
	}
	if phase := c.current("dev").Status.Phase; phase != gardenerv1beta1.ProjectFailed {
		t.Errorf("phase %s", phase)
	}
	hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False RolesFailed: create cluster role ")
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "True ")
	c.settle("dev")
	if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], ready) || c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("events %q, phase %s", events, c.current("dev").Status.Phase)
	}
}

func TestQuotaFailure(t *testing.T) {
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
	c.project("dev")
	c.store.Fault = func(_ int, w kubetest.Write) error {
		write := w.String()
		if strings.Contains(write, "resource quota") {
			return errors.New("no room")
		}
		return nil
	}
	if _, err := c.reconcile("dev"); err == nil {
		t.Error("no error")
	}
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "False QuotaFailed: create resource quota ")
	hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "True ")
}
