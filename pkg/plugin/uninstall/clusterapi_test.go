// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// What keeps objects of Cluster API for a Deorbit is removed, and nothing that others set.
func TestUnhook(t *testing.T) { synctest.Test(t, testUnhook) }

func testUnhook(t *testing.T) {
	const foreign = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup"
	object := func(version, kind, name string, annotations map[string]string, finalizers ...string) runtime.Object {
		return labelled(version, kind, "clusters", name, func(m *metav1.ObjectMeta) {
			m.Annotations, m.Finalizers, m.ResourceVersion = annotations, finalizers, "1"
		})
	}
	u, metadata := inCluster(t, []string{"cluster.x-k8s.io/v1beta2 machines", "infrastructure.cluster.x-k8s.io/v1beta1 openstackclusters", "example.com/v1 machines"},
		object("cluster.x-k8s.io/v1beta2", "Machine", "kept", map[string]string{desired.AnnotationHook: "x", foreign: "y"}, "machine.cluster.x-k8s.io"),
		object("cluster.x-k8s.io/v1beta2", "Machine", "free", map[string]string{foreign: "y"}),
		object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", "web", map[string]string{desired.AnnotationPaused: desired.PausedForDeorbit}, "openstackcluster.infrastructure.cluster.x-k8s.io", desired.Finalizer),
		object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", "paused", map[string]string{desired.AnnotationPaused: "true"}),
		object("example.com/v1", "Machine", "other", map[string]string{desired.AnnotationHook: "x"}))
	found, err := u.hooked(t.Context())
	if err != nil || len(found) != 2 {
		t.Fatalf("found %v, %v, want a Machine and an OpenStackCluster", found, err)
	}
	if line, err := u.unhook(t.Context()); err != nil || line != "2 objects of Cluster API have no hooks and finalizers of Groundskeeper any more" {
		t.Errorf("line = %q, error = %v", line, err)
	}
	for _, c := range []struct {
		resource    schema.GroupVersionResource
		name        string
		annotations map[string]string
		finalizers  []string
	}{
		{machines.WithVersion("v1beta2"), "kept", map[string]string{foreign: "y"}, []string{"machine.cluster.x-k8s.io"}},
		{machines.WithVersion("v1beta2"), "free", map[string]string{foreign: "y"}, nil},
		{infrastructures.WithVersion("v1beta1"), "web", nil, []string{"openstackcluster.infrastructure.cluster.x-k8s.io"}},
		{infrastructures.WithVersion("v1beta1"), "paused", map[string]string{desired.AnnotationPaused: "true"}, nil},
		{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "machines"}, "other", map[string]string{desired.AnnotationHook: "x"}, nil},
	} {
		got, err := metadata.Resource(c.resource).Namespace("clusters").Get(t.Context(), c.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got.Annotations, c.annotations) || !slices.Equal(got.Finalizers, c.finalizers) {
			t.Errorf("%s %s: annotations %v, finalizers %v, want %v, %v", c.resource.Resource, c.name, got.Annotations, got.Finalizers, c.annotations, c.finalizers)
		}
	}
}
