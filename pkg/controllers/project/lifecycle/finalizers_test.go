// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const hold = "example.com/hold"

// kinds, mayList and listed are the holders of a cluster, which serves ConfigMaps.
func (c *cluster) kinds(context.Context) ([]*metav1.APIResourceList, error) {
	return []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Verbs: []string{"list", "delete"}},
	}}}, c.servedErr
}

func (c *cluster) mayList(context.Context, schema.GroupVersionResource, string) (bool, error) {
	return !c.forbidden, nil
}

func (c *cluster) listed(ctx context.Context, _ schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := c.followed.live.List(ctx, list, client.InNamespace(namespace))
	return list.Items, err
}

// configMap returns one with finalizers.
func configMap(namespace, name string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers}}
}

func TestHolders(t *testing.T) {
	everything := []string{"list", "delete"}
	served := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Verbs: everything}, {Name: "bindings", Kind: "Binding", Verbs: []string{"create"}},
		}},
		{GroupVersion: "example.com/v2", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Verbs: everything}}},
	}
	withoutList := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Verbs: everything}, {Name: "secretive", Kind: "Secretive", Verbs: []string{"delete"}},
	}}}
	objects := map[string][]metav1.PartialObjectMetadata{
		"configmaps": {{ObjectMeta: configMap("", "b", hold, "orphan", "z").ObjectMeta}, {ObjectMeta: configMap("", "a").ObjectMeta}},
		"widgets":    {{ObjectMeta: configMap("", "w", "example.com/other").ObjectMeta}},
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errors.New("no"))
	failure, widget := errors.New("no response"), "Widget w (example.com/other)"
	for name, test := range map[string]struct {
		kinds               []*metav1.APIResourceList
		kindsErr            error
		missing             bool // the permission for widgets
		reviewErr, widgetEr error
		want                holding
		wantErr             string
	}{
		"all known":                       {kinds: served, want: holding{held: []string{"ConfigMap b (example.com/hold, z)", widget}}},
		"a kind without permission":       {kinds: served, missing: true, want: holding{[]string{"ConfigMap b (example.com/hold, z)"}, []string{"widgets.example.com"}}},
		"a list that is denied":           {kinds: served, widgetEr: denied, want: holding{[]string{"ConfigMap b (example.com/hold, z)"}, []string{"widgets.example.com"}}},
		"a review that is denied":         {kinds: served, reviewErr: denied, want: holding{[]string{"ConfigMap b (example.com/hold, z)"}, []string{"widgets.example.com"}}},
		"a kind that cannot be listed":    {kinds: withoutList, want: holding{[]string{"ConfigMap b (example.com/hold, z)"}, []string{"secretive"}}},
		"a list that fails":               {kinds: served, widgetEr: failure, wantErr: "no response"},
		"a kind that is no longer served": {kinds: served, widgetEr: apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, ""), wantErr: "not found"},
		"a review that fails":             {kinds: served, reviewErr: failure, wantErr: "no response"},
		"discovery that fails in part":    {kinds: served, kindsErr: failure, wantErr: "no response"},
	} {
		t.Run(name, func(t *testing.T) {
			h := holders{
				func(context.Context) ([]*metav1.APIResourceList, error) { return test.kinds, test.kindsErr },
				func(_ context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
					if namespace != "garden-a" {
						t.Errorf("reviews namespace %q, want %q", namespace, "garden-a")
					}
					if resource.Resource != "widgets" {
						return true, nil
					}
					return !test.missing && test.reviewErr == nil, test.reviewErr
				},
				func(_ context.Context, resource schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
					if namespace != "garden-a" || resource.Resource == "widgets" && (test.missing || resource.Group != "example.com" || resource.Version != "v2") {
						t.Errorf("lists %s in namespace %q", resource, namespace)
					}
					if resource.Resource == "widgets" && test.widgetEr != nil {
						return nil, test.widgetEr
					}
					return objects[resource.Resource], nil
				},
			}
			got, err := h.current(t.Context(), "garden-a")
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(holding{})); diff != "" {
				t.Error(diff)
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if (test.wantErr != "") != (err != nil) || !strings.Contains(message, test.wantErr) ||
				err != nil && !strings.HasPrefix(message, `find the objects with finalizers in namespace "garden-a": `) {
				t.Errorf("error = %v, want %q", err, test.wantErr)
			}
		})
	}
}

func TestForeignFinalizers(t *testing.T) {
	for name, test := range map[string]struct{ finalizers, want []string }{
		"none":            {},
		"of Kubernetes":   {finalizers: []string{"foregroundDeletion", "orphan", "kubernetes.io/pvc-protection", "batch.kubernetes.io/job-tracking"}},
		"of Cloud":        {finalizers: []string{"service.kubernetes.io/load-balancer-cleanup", "resource.kubernetes.io/delete-protection"}},
		"own":             {finalizers: []string{"kubernikus.sap.cc/deorbiter", "groundskeeper.io/in-use", "midonet.org/deleter"}},
		"foreign":         {[]string{"orphan", hold, "snapshot.storage.kubernetes.io/x"}, []string{hold, "snapshot.storage.kubernetes.io/x"}},
		"with our domain": {[]string{"groundskeeper.io/unknown"}, []string{"groundskeeper.io/unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := configMap("", "a", test.finalizers...)
			if got := foreignFinalizers(object); strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("foreign finalizers = %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.finalizers, object.Finalizers); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

// TestDeletionWaitsForFinalizers checks that a namespace is deleted only when nothing in it would hold it, unless that is forced.
func TestDeletionWaitsForFinalizers(t *testing.T) {
	const event, empty, held, unknown = "Warning NamespaceNotEmpty ", "True NamespaceEmpty: ", "False NamespaceNotEmpty: ", "Unknown ContentsUnknown: "
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
	type steps []func(*cluster, string)
	for name, test := range map[string]struct {
		prepare   steps
		deletes   bool
		deletable string
		names     string
	}{
		"nothing":                    {nil, true, empty, ""},
		"an object":                  {steps{func(c *cluster, namespace string) { c.store.Add(configMap(namespace, "a")) }}, true, empty, ""},
		"a finalizer of Kubernetes":  {steps{func(c *cluster, namespace string) { c.store.Add(configMap(namespace, "a", "orphan")) }}, true, empty, ""},
		"a foreign finalizer":        {steps{holdIt}, false, held, ": ConfigMap held (example.com/hold)"},
		"forced":                     {steps{holdIt, force("true")}, true, empty, ""},
		"forced with another value":  {steps{holdIt, force("false")}, false, held, "ConfigMap held (example.com/hold)"},
		"unknown":                    {steps{fail}, false, unknown, "no response"},
		"unknown, forced":            {steps{fail, force("true")}, true, empty, ""},
		"without permission to look": {steps{holdIt, func(c *cluster, _ string) { c.forbidden = true }}, true, empty, "not allowed to list them: configmaps"},
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

func TestHeldMessage(t *testing.T) {
	got := heldMessage("garden-a", holding{[]string{"Widget w (example.com/hold)"}, []string{"events", "secrets"}})
	want := `objects with finalizers would hold namespace "garden-a", to which the members have no access any more when it is being deleted: ` +
		`delete these objects (you or their controllers have to remove the finalizers), or annotate the project with ` +
		`confirmation.gardener.cloud/force-deletion=true: Widget w (example.com/hold); ` +
		`could not be looked at for finalizers, because the controller manager is not allowed to list them: events, secrets`
	if got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}
