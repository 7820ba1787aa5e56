// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// unreadable reads everything but the infrastructure.
type unreadable struct {
	*resources
	err error
}

func (u unreadable) Serves(ctx context.Context, resource schema.GroupResource) (bool, error) {
	if resource == infrastructures {
		return false, fmt.Errorf("list %s: %w", resource, u.err)
	}
	return u.resources.Serves(ctx, resource)
}

// A Cluster that is selected and not taken reports why, in its condition and in an event, and once.
func TestNotPrepared(t *testing.T) {
	forbidden := apierrors.NewForbidden(infrastructures, "", errors.New("not allowed"))
	managed := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "AWSManagedCluster", "spec", "infrastructureRef", "kind")
		_ = unstructured.SetNestedField(o.Object, true, "status", "controlPlaneReady")
		_ = unstructured.SetNestedField(o.Object, true, "status", "initialization", "controlPlaneInitialized")
	}
	for name, test := range map[string]struct {
		edit  func(*unstructured.Unstructured)
		fails error
		want  string
		event string
	}{
		"nodes without Machines":     {managed, nil, "False/NoMachines", "runtimeExtension"},
		"not selected, and without":  {func(o *unstructured.Unstructured) { managed(o); o.SetAnnotations(nil) }, nil, "", ""},
		"a permission":               {nil, forbidden, "False/Forbidden", "apply artifacts/kluster and artifacts/capi"},
		"not selected, a permission": {func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, forbidden, "", ""},
		"an API server that fails":   {nil, errors.New("503"), "", ""},
	} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			t.Run(name+", "+version, func(t *testing.T) {
				selected := cluster(t, version)
				if test.edit != nil {
					test.edit(selected)
				}
				f := newFlow(t, version, selected)
				if test.fails != nil {
					readers := unreadable{resources: f.resources, err: test.fails}
					f.r.watched, f.r.current = readers, func() resourcewatch.Reader { return readers }
				}
				for range 3 {
					_, _ = f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()})
				}
				got := ""
				if c := desired.ClusterOf(f.get(clusters, "web").Object).Prepared; c != nil {
					got = c.Status + "/" + c.Reason
				}
				events := f.events()
				if got != test.want || !strings.Contains(events, test.event) || (events == "") != (test.event == "") || strings.Count(events, "Warning") > 1 {
					t.Errorf("condition = %q, events %q; want %q and one event with %q", got, events, test.want, test.event)
				}
			})
		}
	}
}

// TestKubeconfigMissing checks that a Cluster whose kubeconfig does not exist reports so, and by an event once its control plane was
// initialized: before, that is normal.
func TestKubeconfigMissing(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			f := newRegistered(t, version)
			initialized := func(status string) {
				c := f.get(clusters, "web")
				f.store.ChangeStatus(c, func() {
					_ = unstructured.SetNestedSlice(c.Object, []any{map[string]any{"type": "ControlPlaneInitialized", "status": status}}, "status", "conditions")
				})
				for range 3 {
					f.reconcile()
				}
				if got := desired.ClusterOf(f.get(clusters, "web").Object).Prepared; got == nil || got.Status+"/"+got.Reason != "False/KubeconfigMissing" {
					t.Errorf("condition = %+v with an initialized control plane %s, want False/KubeconfigMissing", got, status)
				}
			}
			k := f.kluster()
			f.store.ChangeStatus(k, func() {
				k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionAPIServerReachable, Status: metav1.ConditionFalse, Reason: kluster.ReasonSecretMissing}}
			})
			if initialized("False"); f.events() != "" {
				t.Errorf("an event is sent while the control plane is created")
			}
			initialized("True")
			if events := f.events(); strings.Count(events, "Warning KubeconfigMissing") != 1 {
				t.Errorf("events = %q, want one of reason KubeconfigMissing", events)
			}
		})
	}
}

// A Cluster with a topology whose machines the Runtime Extension is to retain reports that Cluster API does not call it, and hooks retain them,
// until it does.
func TestHookMissing(t *testing.T) {
	const version = "v1beta2"
	topology := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, map[string]any{"class": "c", "version": "v1.36.3"}, "spec", "topology")
	}
	f := newRegistered(t, version)
	f.edit(clusters, "web", topology)
	prepared := func() string {
		t.Helper()
		if _, err := f.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: f.key()}); err != nil {
			t.Fatal(err)
		}
		c := desired.ClusterOf(f.get(clusters, "web").Object).Prepared
		if c == nil {
			return ""
		}
		return c.Status + "/" + c.Reason
	}
	if got := prepared(); got == "False/HookMissing" {
		t.Errorf("without the setting: condition = %q, want hooks of the Machines", got)
	}
	f.events()
	f.r.settings.extension = true
	if got := prepared(); got != "False/HookMissing" {
		t.Errorf("condition = %q, want False/HookMissing", got)
	}
	f.wantHeld(bothHeld)
	if events := f.events(); strings.Count(events, "HookMissing") != 1 || !strings.Contains(events, "apply artifacts/capi/runtime-extension") {
		t.Errorf("events = %q, want one with the remedy", events)
	}
	config := object(t, version, `
apiVersion: runtime.cluster.x-k8s.io/VERSION
kind: ExtensionConfig
metadata: {name: groundskeeper}
status: {handlers: [{name: deorbit.groundskeeper, requestHook: {apiVersion: hooks.runtime.cluster.x-k8s.io/v1alpha1, hook: BeforeClusterDelete}}]}`)
	f.store.Add(config)
	if got := prepared(); got == "False/HookMissing" || f.events() != "" {
		t.Errorf("condition = %q behind the registration", got)
	}
	f.wantHeld(`infrastructure true "", cp false, worker false`)
	// It may be lost again, at the latest when the Cluster is deleted.
	f.remove(clusters, "web")
	if err := f.store.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	f.settle()
	f.wantHeld(phaseOne)
}
