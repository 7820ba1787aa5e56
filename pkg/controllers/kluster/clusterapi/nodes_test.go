// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// A Cluster that is deleted before its control plane was initialized is marked, unless anything shows that its cluster ran.
func TestNeverCameUp(t *testing.T) {
	condition := func(status string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "ControlPlaneInitialized", "status": status, "reason": "NotInitialized"}}}
	}
	with := func(status map[string]any, field string, value any) map[string]any {
		status[field] = value
		return status
	}
	for name, test := range map[string]struct {
		cluster map[string]any
		worker  map[string]any
		id      string
		want    string
	}{
		"never":                    {condition("False"), map[string]any{}, "", kubernikusv1.ControlPlaneNeverInitialized},
		"a server, and no node":    {condition("False"), map[string]any{"addresses": []any{}}, "", kubernikusv1.ControlPlaneNeverInitialized},
		"a Machine is a node":      {condition("False"), map[string]any{"nodeRef": map[string]any{"name": "worker"}}, "", ""},
		"an unreadable Machine":    {condition("False"), map[string]any{"nodeRef": "worker"}, "", ""},
		"not checked, as moved":    {map[string]any{}, map[string]any{}, "", ""},
		"unknown":                  {condition("Unknown"), map[string]any{}, "", ""},
		"initialized":              {condition("True"), map[string]any{}, "", ""},
		"initialized, the field":   {with(condition("False"), "initialization", map[string]any{"controlPlaneInitialized": true}), map[string]any{}, "", ""},
		"the control plane serves": {with(condition("False"), "controlPlaneReady", true), map[string]any{}, "", ""},
		"its identity was read":    {condition("False"), map[string]any{}, "id", ""},
	} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			t.Run(name+", "+version, func(t *testing.T) {
				f := newRegistered(t, version)
				status := f.get(clusters, "web")
				status.Object["status"] = test.cluster
				if err := f.store.Status().Update(t.Context(), status); err != nil {
					t.Fatal(err)
				}
				f.edit(machines, "worker", func(o *unstructured.Unstructured) { o.Object["status"] = test.worker })
				if k := f.kluster(); test.id != "" {
					f.store.ChangeStatus(k, func() { k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: test.id} })
				}
				f.remove(clusters, "web")
				f.settle()
				if got := f.kluster().Annotations[kubernikusv1.ControlPlaneAnnotation]; got != test.want {
					t.Errorf("annotation %s = %q, want %q", kubernikusv1.ControlPlaneAnnotation, got, test.want)
				}
			})
		}
	}
}
