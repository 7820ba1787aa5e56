// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestDeletionWaitsForFinalizers checks that a namespace is deleted only when nothing in it would hold it, unless that is forced.
func TestDeletionWaitsForFinalizers(t *testing.T) {
	const event, empty = "Warning NamespaceNotEmpty ", "True NamespaceEmpty: "
	const held, unknown = "False NamespaceNotEmpty: ", "Unknown ContentsUnknown: "
	holdIt := func(c *cluster, namespace string) { c.store.Add(configMap(namespace, "held", "orphan", hold)) }
	force := func(value string) func(*cluster, string) {
		return func(c *cluster, _ string) {
			change(c, testProject("dev"), func(p *gardenerv1beta1.Project) {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, gardenerv1beta1.AnnotationForceDeletion, value)
			})
		}
	}
	fail := func(c *cluster, _ string) {
		c.reconciler.holders.kinds = func(context.Context) ([]*metav1.APIResourceList, error) {
			return nil, errors.New("no response")
		}
	}
	forbid := func(c *cluster, _ string) { c.forbidden = true }
	type steps []func(*cluster, string)
	for name, test := range map[string]struct {
		prepare   steps
		deletes   bool
		deletable string
		names     string
	}{
		"nothing":   {nil, true, empty, ""},
		"an object": {steps{func(c *cluster, namespace string) { c.store.Add(configMap(namespace, "a")) }}, true, empty, ""},
		"a finalizer of Kubernetes": {steps{func(c *cluster, namespace string) {
			c.store.Add(configMap(namespace, "a", "orphan"))
		}}, true, empty, ""},
		"a foreign finalizer":        {steps{holdIt}, false, held, ": ConfigMap held (example.com/hold)"},
		"forced":                     {steps{holdIt, force("true")}, true, empty, ""},
		"forced with another value":  {steps{holdIt, force("false")}, false, held, "ConfigMap held (example.com/hold)"},
		"unknown":                    {steps{fail}, false, unknown, "no response"},
		"unknown, forced":            {steps{fail, force("true")}, true, empty, ""},
		"without permission to look": {steps{holdIt, forbid}, true, empty, "not allowed to list them: configmaps"},
	} {
		t.Run(name, func(t *testing.T) {
			c, project := deleting(t, test.prepare...)
			_, err := c.reconcile("dev")
			if (err != nil) != (test.deletable == unknown) {
				t.Errorf("error = %v, want one = %t", err, test.deletable == unknown)
			}
			namespace := &corev1.Namespace{}
			c.read("", *project.Spec.Namespace, namespace)
			if deletes := !namespace.DeletionTimestamp.IsZero(); deletes != test.deletes {
				t.Errorf("the namespace is being deleted = %t, want %t", deletes, test.deletes)
			}
			got := c.condition("dev", gardenerv1beta1.ProjectDeletable)
			if hasPrefix(t, "Deletable", got, test.deletable); !strings.Contains(got, test.names) {
				t.Errorf("Deletable = %q, want that it contains %q", got, test.names)
			}
			rbac := "True RolesReconciled: "
			if test.deletes {
				rbac = "False NamespaceTerminating: "
			}
			hasPrefix(t, "RBACReady", c.condition("dev", gardenerv1beta1.ProjectRBACReady), rbac)
			if events := c.events(); test.deletable == held && (len(events) != 1 || !strings.HasPrefix(events[0], event)) {
				t.Errorf("events = %q, want one with prefix %q", events, event)
			}
			c.store.Reset()
			if _, _ = c.reconcile("dev"); c.store.Count() != 0 {
				t.Errorf("a second pass writes %q", c.store.Writes())
			}
		})
	}
}

// TestWithdrawnForce checks that a deletion is not forced by what only the cache has.
func TestWithdrawnForce(t *testing.T) {
	c, project := deleting(t, func(c *cluster, namespace string) { c.store.Add(configMap(namespace, "held", hold)) })
	for _, value := range []string{"true", "false"} {
		change(c, testProject("dev"), func(p *gardenerv1beta1.Project) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, gardenerv1beta1.AnnotationForceDeletion, value)
		})
		if value == "true" {
			c.store.Hold(project)
		}
	}
	c.store.Reset()
	_, err := c.reconcile("dev")
	if writes := c.store.Writes(); slices.ContainsFunc(writes, func(write string) bool { return strings.HasPrefix(write, "delete ") }) {
		t.Errorf("writes = %q, error = %v, want no deletion", writes, err)
	}
}

// TestDeletionContinuesWithoutFinalizers checks that a deletion continues when the last object with a finalizer is gone, and when it is
// forced.
func TestDeletionContinuesWithoutFinalizers(t *testing.T) {
	for name, resume := range map[string]func(c *cluster, namespace string){
		"removed": func(c *cluster, namespace string) {
			change(c, configMap(namespace, "held"), func(o *corev1.ConfigMap) { o.Finalizers = nil })
		},
		"forced": func(c *cluster, _ string) {
			change(c, testProject("dev"), func(p *gardenerv1beta1.Project) {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, gardenerv1beta1.AnnotationForceDeletion, "true")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, project := deleting(t, func(c *cluster, namespace string) { c.store.Add(configMap(namespace, "held", hold)) })
			if result, err := c.reconcile("dev"); err != nil || result.RequeueAfter != waitPeriod {
				t.Errorf("reconcile = %+v, %v, want a retry after %s", result, err, waitPeriod)
			}
			resume(c, *project.Spec.Namespace)
			c.settle("dev")
			hasPrefix(t, "Deletable", c.condition("dev", gardenerv1beta1.ProjectDeletable), "True NamespaceEmpty: ")
			c.finishDeletion(*project.Spec.Namespace)
			if c.settle("dev"); c.hasProject() {
				t.Error("the Project exists, want it deleted")
			}
		})
	}
}

// TestReleaseLooksForFinalizersOnlyBeforeADeletion checks that a namespace that is kept does not wait.
func TestReleaseLooksForFinalizersOnlyBeforeADeletion(t *testing.T) {
	for name, prepare := range map[string]func(*corev1.Namespace){
		"kept":               annotated(gardenerv1beta1.AnnotationKeepNamespace, "true"),
		"without its labels": unlabelled(gardenerv1beta1.LabelProjectName),
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := deleting(t, editNamespace(prepare), func(c *cluster, _ string) {
				c.reconciler.holders.kinds = func(context.Context) ([]*metav1.APIResourceList, error) {
					t.Error("looks for finalizers")
					return nil, errors.New("no response")
				}
			})
			if c.settle("dev"); c.hasProject() {
				t.Error("the Project exists, want it deleted")
			}
		})
	}
}
