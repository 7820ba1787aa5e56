// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"errors"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// due returns a cluster whose project is to be deleted, as far as the cache knows: it remains unchanged now.
func due(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, testProject(), testNamespace())
	c.must(30)
	c.must(44)
	c.must(119)
	c.announced()
	c.store.Hold(c.project(), testNamespace())
	return c
}

// TestFinalCheckKeepsTheProject checks that the live state decides, not the cache. Each case retains the project.
func TestFinalCheckKeepsTheProject(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"used":             func(c *cluster) { c.liveUse = "shoots" },
		"use is not known": func(c *cluster) { c.liveUseErr = errors.New("discover core.gardener.cloud/v1beta1: no response") },
		"active":           func(c *cluster) { c.change(active(on(119.5))) },
		"another date":     func(c *cluster) { c.change(marked(on(30), on(140))) },
		"no date":          func(c *cluster) { c.change(marked(on(30), nil)) },
		"paused": func(c *cluster) {
			c.change(func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} })
		},
		"exempt":                       func(c *cluster) { c.annotate(gardenerv1beta1.AnnotationSkipStaleCheck, "true") },
		"another's":                    func(c *cluster) { c.annotate(gardenerv1beta1.AnnotationProjectUID, "2") },
		"a namespace unseen":           func(c *cluster) { c.store.Read = failing(&corev1.Namespace{}) },
		"a project unseen":             func(c *cluster) { c.store.Read = failing(&gardenerv1beta1.Project{}) },
		"recreated":                    recreated,
		"recreated with its namespace": func(c *cluster) { recreated(c); c.annotate(gardenerv1beta1.AnnotationProjectUID, "2") },
	} {
		t.Run(name, func(t *testing.T) {
			c := due(t)
			change(c)
			_, _ = c.pass(121)
			project := c.project()
			if project == nil {
				t.Fatal("the project has been deleted")
			}
			if project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "" {
				t.Error("its deletion is confirmed")
			}
			for _, write := range c.store.Writes() {
				if write == "delete" {
					t.Error("a deletion was tried")
				}
			}
		})
	}
}

// recreated replaces the project by one of its name that is marked alike.
func recreated(c *cluster) {
	project := c.project()
	c.store.Remove(project)
	project.UID, project.ResourceVersion = "2", ""
	c.store.Add(project)
}

func (c *cluster) annotate(key, value string) {
	c.t.Helper()
	namespace := testNamespace(key, value)
	if err := c.store.Update(c.t.Context(), namespace); err != nil {
		c.t.Fatal(err)
	}
}

// failing fails to read objects of the type of one.
func failing(like client.Object) func(string, runtime.Object) error {
	return func(_ string, object runtime.Object) error {
		if reflect.TypeOf(object) == reflect.TypeOf(like) {
			return errors.New("no response")
		}
		return nil
	}
}

// TestDeletionIsOfWhatWasSeen checks that a change of the project between the final check and the deletion prevents the deletion.
func TestDeletionIsOfWhatWasSeen(t *testing.T) {
	c := due(t)
	c.store.Fault = func(_ int, w kubetest.Write) error {
		if w.Verb == "delete" {
			c.change(active(on(120.5)))
		}
		return nil
	}
	if _, err := c.pass(121); !kit.IsConcurrentChange(err) || c.project() == nil {
		t.Errorf("error = %v, project %v, want a concurrent change of a project that is there", err, c.project())
	}
	c.store.CatchUp()
	c.store.Fault = nil
	// It is not stale any more, and no user has confirmed that it may go.
	c.must(121)
	if project := c.project(); c.marks() != "- - RecentlyActive" || project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "" {
		t.Errorf("%s, annotations %v", c.marks(), project.Annotations)
	}
}

// TestDeletionIsTriedAgain checks that a failed deletion is retried, and that users are notified once, after it succeeded.
func TestDeletionIsTriedAgain(t *testing.T) {
	c := due(t)
	rejected := apierrors.NewForbidden(gardenerv1beta1.Resource("projects"), "dev", errors.New("no"))
	c.store.Fault = func(_ int, w kubetest.Write) error {
		if w.Verb == "delete" {
			return rejected
		}
		return nil
	}
	for range 2 {
		if _, err := c.pass(121); err == nil || c.announced() != "" {
			t.Errorf("got %v", err)
		}
	}
	c.store.Fault = nil
	c.must(121)
	if c.project() != nil || c.announced() != "Warning ProjectStale" {
		t.Error("the project is still there")
	}
}

// TestConfirmationOfUsersIsRetained checks that a user's confirmation is retained until the time of the project is over.
func TestConfirmationOfUsersIsRetained(t *testing.T) {
	c := newCluster(t, testProject(marked(on(30), on(120)), func(p *gardenerv1beta1.Project) {
		p.Annotations = map[string]string{gardenerv1beta1.AnnotationConfirmDeletion: "true"}
	}), testNamespace())
	c.use = "shoots"
	c.must(100)
	if c.project().Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" || c.marks() != "- - InUse" {
		t.Errorf("%s, annotations %v", c.marks(), c.project().Annotations)
	}
}
