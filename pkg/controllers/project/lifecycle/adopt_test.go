// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// existing returns a namespace that was there before its Project.
func existing(name string, labels, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}
}

func wanting(namespace string) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) { p.Spec.Namespace = &namespace }
}

func projectLabelled(name string) map[string]string {
	return map[string]string{"gardener.cloud/role": "project", "project.gardener.cloud/name": name}
}

func TestAdoption(t *testing.T) {
	c := newCluster(t)
	labels := projectLabelled("dev")
	labels["team"] = "a"
	c.store.Add(existing("garden-dev", labels, map[string]string{"b": "c"}))
	c.project("dev", wanting("garden-dev"))
	c.settle("dev")
	namespace := &corev1.Namespace{}
	c.read("", "garden-dev", namespace)
	want := map[string]string{"b": "c", "namespace.gardener.cloud/project": "project-dev", "namespace.gardener.cloud/keep-after-project-deletion": "true"}
	if diff := cmp.Diff(want, namespace.Annotations); diff != "" {
		t.Error(diff)
	}
	if len(namespace.OwnerReferences) != 0 || namespace.Labels["team"] != "a" {
		t.Errorf("owners %v, labels %v", namespace.OwnerReferences, namespace.Labels)
	}
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "True NamespaceAdopted: ")
	if c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Error("not Ready")
	}
}

// TestRejection checks that a rejected namespace is not changed, whether or not the cache has it.
func TestRejection(t *testing.T) {
	for name, test := range map[string]struct {
		namespace *corev1.Namespace
		want      string
	}{
		"no labels":             {existing("garden-x", nil, nil), "False NamespaceNotLabelled: namespace cannot be used as it needs the project labels gardener.cloud/role=project"},
		"another project":       {existing("garden-x", projectLabelled("prod"), nil), "False NamespaceNotLabelled: "},
		"another project's uid": {existing("garden-x", projectLabelled("dev"), map[string]string{"namespace.gardener.cloud/project": "z"}), "False NamespaceInUse: namespace is already in-use by another project"},
		"kube-system":           {existing("kube-system", projectLabelled("dev"), nil), "False NamespaceNotAllowed: "},
		"default":               {existing("default", projectLabelled("dev"), nil), "False NamespaceNotAllowed: "},
		"kube-public":           {existing("kube-public", projectLabelled("dev"), nil), "False NamespaceNotAllowed: "},
	} {
		for _, unseen := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				c := newCluster(t)
				c.unseen = map[string]bool{test.namespace.Name: unseen}
				c.store.Add(test.namespace.DeepCopy())
				c.store.Add(kluster(test.namespace.Name, "secret"))
				before := &corev1.Namespace{}
				c.read("", test.namespace.Name, before)
				c.project("dev", wanting(test.namespace.Name))
				if result, err := c.reconcile("dev"); err != nil || !result.IsZero() {
					t.Errorf("%+v, %v: a rejection is nothing to try again", result, err)
				}
				after := &corev1.Namespace{}
				c.read("", test.namespace.Name, after)
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("the namespace was changed:\n%s", diff)
				}
				hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), test.want)
				hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), "False NamespaceMissing: ")
				if got := c.condition("dev", gardenerv1beta1.ProjectDeletable); strings.Contains(got, "secret") {
					t.Errorf("the Project reports what others have: %q", got)
				}
				if events := c.events(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning NamespaceReconcileFailed ") {
					t.Errorf("events %q", events)
				}
				if c.current("dev").Status.Phase != gardenerv1beta1.ProjectFailed {
					t.Error("not Failed")
				}
				if c.exists("", "gardener.cloud:system:project:dev", &rbacv1.ClusterRole{}) {
					t.Error("roles for a namespace that was rejected")
				}
				c.store.Reset()
				_, _ = c.reconcile("dev")
				if status := c.store.Writes()[min(1, c.store.Count()):]; !unseen && c.store.Count() > 0 || len(status) > 0 || c.events() != nil {
					t.Errorf("it is reported again: %q", c.store.Writes())
				}
			})
		}
	}
}

func TestRejectionEndsWithTheLabels(t *testing.T) {
	c := newCluster(t)
	c.store.Add(existing("garden-x", nil, nil))
	c.project("dev", wanting("garden-x"))
	c.settle("dev")
	change(c, existing("garden-x", nil, nil), func(ns *corev1.Namespace) { ns.Labels = projectLabelled("dev") })
	c.settle("dev")
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "True NamespaceAdopted: ")
}

func TestTerminatingNamespaceIsWaitedFor(t *testing.T) {
	for name, labels := range map[string]map[string]string{"somebody's": nil, "ours": projectLabelled("dev")} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			namespace := existing("garden-x", labels, nil)
			c.store.Add(namespace)
			c.store.Remove(namespace)
			c.project("dev", wanting("garden-x"))
			result, err := c.reconcile("dev")
			if err != nil || result.RequeueAfter != waitPeriod {
				t.Errorf("%+v, %v", result, err)
			}
			if wrote := c.settle("dev"); wrote != 0 {
				t.Errorf("waiting writes: %q", c.store.Writes())
			}
			hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "False NamespaceTerminating: ")
			if phase := c.current("dev").Status.Phase; phase != gardenerv1beta1.ProjectPending {
				t.Errorf("phase %s", phase)
			}
			c.finishDeletion("garden-x")
			c.settle("dev")
			hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "True NamespaceCreated: ")
		})
	}
}

// TestDeletedNamespaceComesBack checks that the namespace of a live Project is recreated with all its objects.
func TestDeletedNamespaceComesBack(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("bob", "extension:a")))
	c.settle("dev")
	namespace := &corev1.Namespace{}
	c.read("", *project.Spec.Namespace, namespace)
	c.store.Remove(namespace)
	c.settle("dev")
	hasPrefix(t, "NamespaceReady", c.condition("dev", gardenerv1beta1.ProjectNamespaceReady), "False NamespaceTerminating: ")
	c.finishDeletion(namespace.Name)
	if wrote := c.settle("dev"); wrote != 6 { // namespace, 3+1 role bindings, status
		t.Errorf("%d writes: %q", wrote, c.store.Writes())
	}
	if c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Error("not Ready")
	}
}

// TestNamespaceDeletedDuringReconcile checks that a terminating namespace, in which Kubernetes rejects creations, does not make the
// Project fail.
func TestNamespaceDeletedDuringReconcile(t *testing.T) {
	c := newCluster(t)
	c.project("dev")
	c.store.Fault = func(_ int, w kubetest.Write) error {
		write := w.String()
		if strings.HasPrefix(write, "create role binding") {
			return kubetest.Terminating("garden-dev")
		}
		return nil
	}
	if _, err := c.reconcile("dev"); !errors.Is(err, kit.ErrChanged) {
		t.Errorf("error = %v, want one that requests another try", err)
	}
	if status := c.current("dev").Status; status.Phase != "" || c.events() != nil {
		t.Errorf("it is notified: %+v", status)
	}
	c.settle("dev")
	if c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Error("not Ready")
	}
}

// TestLateCache checks that an existing object that is missing from the cache is used after the create fails.
func TestLateCache(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev")
	c.settle("dev")
	c.events()
	c.unseen = map[string]bool{*project.Spec.Namespace: true, "gardener.cloud:system:project:dev": true}
	c.store.Reset()
	if _, err := c.reconcile("dev"); err != nil {
		t.Fatal(err)
	}
	for _, write := range c.store.Writes() {
		if !strings.HasPrefix(write, "create ") {
			t.Errorf("%s", write)
		}
	}
	if events := c.events(); events != nil || c.current("dev").Status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("events %q", events)
	}
}

// The owner reference that earlier versions set is removed from a namespace, whatever state its Project is in: with it the garbage
// collector deletes the namespace when the Groundskeeper API is not served.
func TestReconcileRemovesOwnerReferencesOfEarlierVersions(t *testing.T) {
	for name, prepare := range map[string]func(*cluster, *gardenerv1beta1.Project, *corev1.Namespace){
		"ready": func(*cluster, *gardenerv1beta1.Project, *corev1.Namespace) {},
		"paused": func(c *cluster, project *gardenerv1beta1.Project, _ *corev1.Namespace) {
			change(c, project, func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
		},
		"labels lost": func(c *cluster, _ *gardenerv1beta1.Project, namespace *corev1.Namespace) {
			change(c, namespace, func(ns *corev1.Namespace) { ns.Labels = nil })
		},
		"blocked": func(c *cluster, project *gardenerv1beta1.Project, namespace *corev1.Namespace) {
			c.store.Add(kluster(namespace.Name, "a"))
			c.store.Remove(project)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			project := c.project("dev")
			c.settle("dev")
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: *project.Spec.Namespace}}
			change(c, namespace, ownedByProject("dev", project.UID))
			prepare(c, project, namespace)
			c.settle("dev")
			c.read("", namespace.Name, namespace)
			if len(namespace.OwnerReferences) > 0 || !namespace.DeletionTimestamp.IsZero() {
				t.Errorf("owners = %v, deleted at %v, want neither", namespace.OwnerReferences, namespace.DeletionTimestamp)
			}
		})
	}
}

// TestReconcileMigratesRoles checks that roles, bindings and quotas of earlier versions lose their owner reference, and get the
// annotation with their Project.
func TestReconcileMigratesRoles(t *testing.T) {
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "1"), nil))
	project := c.project("dev")
	c.settle("dev")
	objects := append(desiredRBAC(project), desiredQuota(project, c.reconciler.quotas))
	for _, object := range objects {
		c.read(object.GetNamespace(), object.GetName(), object)
		object.SetAnnotations(nil)
		object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(project, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"))})
		if err := c.store.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	c.settle("dev")
	for _, object := range objects {
		c.read(object.GetNamespace(), object.GetName(), object)
		if len(object.GetOwnerReferences()) > 0 || object.GetAnnotations()[annotationProjectUID] != string(project.UID) {
			t.Errorf("%s has owners %v and annotations %v", describe(object), object.GetOwnerReferences(), object.GetAnnotations())
		}
	}
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("writes = %q, want none", c.store.Writes())
	}
}
