// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// going is being deleted, and kept by a finalizer.
func going(m *metav1.ObjectMeta) {
	m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), append(m.Finalizers, gardenerv1beta1.FinalizerName)
}

func isMarked(t *testing.T, w *world) bool {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: "garden-shop"}, namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Annotations[gardenerv1beta1.AnnotationKeepNamespace] == "true"
}

// projectWorld has Project shop and its namespace.
func projectWorld(t *testing.T, project, namespace func(*metav1.ObjectMeta)) *world {
	t.Helper()
	return newWorld(t, &gardenerv1beta1.Project{ObjectMeta: named("", "shop", project), Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-shop")}},
		&corev1.Namespace{ObjectMeta: named("", "garden-shop", func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{gardenerv1beta1.AnnotationProjectUID: "shop"}
		}, namespace)})
}

func unchanged(*metav1.ObjectMeta) {}

// The namespace of a Project is marked before the Project is deleted, and a namespace of another owner is left alone.
func TestNamespacesAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		projects, uid string
		marked        bool
	}{
		"its own":               {Keep, "shop", true},
		"another owner":         {Keep, "another", false},
		"it is to be deleted":   {Delete, "shop", false},
		"no longer a Project's": {Keep, "", false},
		"it is marked already":  {Keep, "shop", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				namespace := &corev1.Namespace{ObjectMeta: named("", "garden-shop", func(m *metav1.ObjectMeta) {
					m.Annotations = map[string]string{gardenerv1beta1.AnnotationProjectUID: test.uid}
				})}
				project := &gardenerv1beta1.Project{ObjectMeta: named("", "shop"), Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-shop")}}
				w := newWorld(t, namespace, project)
				w.Projects = test.projects
				marked := false
				w.reject = func(client.Object) error {
					found := &corev1.Namespace{}
					err := w.Get(t.Context(), client.ObjectKeyFromObject(namespace), found)
					marked = found.Annotations[gardenerv1beta1.AnnotationKeepNamespace] == "true"
					return err
				}
				if _, err := w.deleteProjects(t.Context()); err != nil || marked != test.marked {
					t.Errorf("marked %v, %v", marked, err)
				}
			})
		})
	}
}

// The namespace of a Project that is already being deleted is marked, too, before its controller releases the Project.
func TestNamespacesOfTerminatingProjectsAreKept(t *testing.T) {
	for how, want := range map[string]bool{Keep: true, Delete: false} {
		synctest.Test(t, func(t *testing.T) {
			w := projectWorld(t, going, unchanged)
			w.Projects = how
			marked := false
			w.Show = func(string) { // the controller comes when it was looked once
				marked = isMarked(t, w)
				p := &gardenerv1beta1.Project{}
				if err := w.Get(t.Context(), client.ObjectKey{Name: "shop"}, p); err != nil {
					t.Fatal(err)
				}
				p.Finalizers = nil
				if err := w.Update(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.deleteProjects(t.Context()); err != nil || marked != want {
				t.Errorf("%s: marked %v, %v", how, marked, err)
			}
		})
	}
}

// Namespaces whose Projects are already being deleted are marked before anything else is deleted: the deletion of Klusters may
// empty them.
func TestNamespacesAreMarkedFirst(t *testing.T) {
	for name, test := range map[string]struct {
		projects           string
		project, namespace func(*metav1.ObjectMeta)
		skipped, marked    bool
	}{
		"it is being deleted":                 {Keep, going, unchanged, false, true},
		"it stays":                            {Keep, unchanged, unchanged, false, false},
		"both are to be deleted":              {Delete, going, unchanged, true, false},
		"the namespace is being deleted, too": {Keep, going, going, false, false},
		"the namespace is another":            {Keep, going, func(m *metav1.ObjectMeta) { m.Annotations = nil }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := projectWorld(t, test.project, test.namespace)
			w.Projects = test.projects
			steps := w.steps(installed(t))
			i := slices.IndexFunc(steps, func(s step) bool { return s.what == "mark namespaces that stay" })
			if i != 0 || steps[i].skip != test.skipped {
				t.Fatalf("step %d, skipped %v", i, steps[i].skip)
			}
			if test.skipped {
				return
			}
			if _, err := steps[i].do(t.Context()); err != nil || isMarked(t, w) != test.marked {
				t.Errorf("marked %v, %v", isMarked(t, w), err)
			}
		})
	}
}

// The plan lists the namespaces that are not kept, because they are already being deleted.
func TestPlanOfTerminatingNamespaces(t *testing.T) {
	for want, test := range map[string]struct{ project, namespace bool }{
		"and 1 claim\n": {false, false},
		"and 1 claim; is being deleted already\n":                     {true, false},
		"and 1 claim; is being deleted already, with its namespace\n": {true, true},
		"and 1 claim; its namespace is being deleted already\n":       {false, true},
	} {
		f := installed(t)
		f.Contents["garden-shop"] = Content{Pods: 4, Claims: 1, Terminating: test.namespace}
		if test.project {
			f.Projects[0].DeletionTimestamp = new(metav1.Now())
		}
		if text := NewPlan(f, defaults).String(); !strings.Contains(text, "namespace garden-shop with 4 pods "+want) {
			t.Errorf("want %q:\n%s", want, text)
		}
	}
}

// Why is called with the context of the step, and ends with it.
func TestWhyHasTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := projectWorld(t, going, unchanged)
		ctx, cancel := context.WithCancel(t.Context())
		w.Why = func(ctx context.Context, _ client.Object) string {
			cancel()
			<-ctx.Done()
			return "interrupted"
		}
		if _, err := w.deleteProjects(ctx); err == nil {
			t.Error("it is done")
		}
	})
}
