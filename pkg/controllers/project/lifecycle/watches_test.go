// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// TestCacheContainsWrittenObjects checks that every object that the reconciler reads through the cache is in it.
func TestCacheContainsWrittenObjects(t *testing.T) {
	restricted, err := CacheOptions()
	if err != nil {
		t.Fatal(err)
	}
	selectors := map[string]labels.Selector{}
	for object, by := range restricted {
		selectors[fmt.Sprintf("%T", object)] = by.Label
	}
	written := append(desiredRBAC(rbacProject()), desiredQuota(rbacProject(), mustRules(t, quotaConfig(limits("pods", "1"), nil))))
	for _, object := range written {
		selector := selectors[fmt.Sprintf("%T", object)]
		if selector == nil || !selector.Matches(labels.Set(object.GetLabels())) {
			t.Errorf("%s with labels %v is not held by %v", describe(object), object.GetLabels(), selector)
		}
		if selector.Matches(labels.Set{"app": "other"}) {
			t.Errorf("%v holds what is not owned by Groundskeeper", selector)
		}
	}
	if len(selectors) != 4 {
		t.Errorf("other kinds are restricted too: %v", selectors)
	}
}

func TestMapping(t *testing.T) {
	c := newCluster(t)
	dev := c.project("dev")
	c.project("waiting", func(p *gardenerv1beta1.Project) { p.Spec.Namespace = new("garden-x") })
	c.project("generated", func(p *gardenerv1beta1.Project) { p.Spec.Namespace = nil })
	c.store.Add(newNamespace(dev))
	m := mapper{cache: c.store}
	namespace := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	own := map[string]string{gardenerv1beta1.LabelProjectName: "dev"}
	for name, test := range map[string]struct {
		got  []string
		want []string
	}{
		"a role of a project":              {requests(ofLabel(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Labels: own}})), []string{"dev"}},
		"another role":                     {requests(ofLabel(t.Context(), &rbacv1.ClusterRole{})), nil},
		"a namespace by its label":         {requests(m.ofNamespace(t.Context(), namespace("anything", own))), []string{"dev"}},
		"a namespace that a project wants": {requests(m.ofNamespace(t.Context(), namespace("garden-x", nil))), []string{"waiting"}},
		"a namespace with a generated name": {
			requests(m.ofNamespace(t.Context(), namespace(gardenerv1beta1.GeneratedNamespace("generated", "project-generated"), nil))), []string{"generated"}},
		"a namespace that no client wants": {requests(m.ofNamespace(t.Context(), namespace("garden-y", nil))), nil},
		"kube-system":                      {requests(m.ofNamespace(t.Context(), namespace("kube-system", nil))), nil},
		"a kluster in a project":           {requests(m.ofContent(t.Context(), *dev.Spec.Namespace)), []string{"dev"}},
		"a kluster elsewhere":              {requests(m.ofContent(t.Context(), "default")), nil},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestProjectChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*gardenerv1beta1.Project)
		want   bool
	}{
		"resync":     {func(p *gardenerv1beta1.Project) { p.ResourceVersion = "1" }, true},
		"spec":       {func(p *gardenerv1beta1.Project) { p.Generation++ }, true},
		"deletion":   {func(p *gardenerv1beta1.Project) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"recreated":  {func(p *gardenerv1beta1.Project) { p.UID = "other" }, true},
		"labels":     {func(p *gardenerv1beta1.Project) { p.Labels = map[string]string{"tier": "gold"} }, true},
		"paused":     {func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} }, true},
		"not paused": {func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "false"} }, false},
		"forced": {func(p *gardenerv1beta1.Project) {
			p.Annotations = map[string]string{gardenerv1beta1.AnnotationForceDeletion: "true"}
		}, true},
		"annotations":    {func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{"a": "b"} }, false},
		"status":         {func(p *gardenerv1beta1.Project) { p.Status.Phase = gardenerv1beta1.ProjectReady }, false},
		"managed fields": {func(p *gardenerv1beta1.Project) { p.ManagedFields = []metav1.ManagedFieldsEntry{{}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := testProject("dev")
			before.ResourceVersion = "1"
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			test.change(after)
			if got := projectChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if !projectChanged().Create(event.CreateEvent{}) || !projectChanged().Delete(event.DeleteEvent{}) {
		t.Error("a Project that is created or deleted is missed")
	}
}

func TestPredicatesOfOthers(t *testing.T) {
	change := event.UpdateEvent{ObjectOld: &corev1.Namespace{}, ObjectNew: &corev1.Namespace{}}
	if p := changedOrDeleted(); p.Create(event.CreateEvent{}) || !p.Update(change) || !p.Delete(event.DeleteEvent{}) {
		t.Error("what Groundskeeper wrote: changes and deletions wake the controller, creations do not")
	}
}

func TestIndexExtensionRole(t *testing.T) {
	for name, test := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"an extension role": {map[string]string{"gardener.cloud/role": "extension-project-role", "project.gardener.cloud/name": "dev"}, []string{"dev"}},
		"another role":      {map[string]string{"project.gardener.cloud/name": "dev"}, nil},
	} {
		var role client.Object = &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}
		if diff := cmp.Diff(test.want, indexExtensionRole(role)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func requests(found []reconcile.Request) []string {
	var names []string
	for _, request := range found {
		names = append(names, request.Name)
	}
	return names
}
