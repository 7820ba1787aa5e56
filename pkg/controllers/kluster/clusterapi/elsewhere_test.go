// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// newElsewhere returns a flow with a Cluster on Docker that has two machines and a Kluster. Nothing of its infrastructure can be read.
func newElsewhere(t *testing.T, version string) *flow {
	t.Helper()
	c := cluster(t, version)
	if err := unstructured.SetNestedField(c.Object, "DockerCluster", "spec", "infrastructureRef", "kind"); err != nil {
		t.Fatal(err)
	}
	f := newFlow(t, version, c, machine(t, version, "cp"), machine(t, version, "worker"))
	f.settle()
	f.admit()
	f.events()
	f.store.ResetLog()
	return f
}

// TestElsewhere checks that the machines of a Cluster on another infrastructure are retained until its cluster is empty, and that its end
// is reported in the words of such clusters.
func TestElsewhere(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			f := newElsewhere(t, version)
			if k := f.kluster(); !k.Spec.NoCloud || k.Spec.SecretRef.Name != "web-kubeconfig" || desired.UIDOf(k) != "u1" {
				t.Errorf("Kluster = %+v", k)
			}
			if f.settle(); f.store.Count() > 0 {
				t.Errorf("without a change it writes %v", f.store.Writes())
			}
			f.remove(clusters, "web")
			f.settle()
			f.deorbit(kubernikusv1.DeorbitPods)
			f.settle()
			if k := f.kluster(); k.DeletionTimestamp.IsZero() || k.MachinesOf() != kubernikusv1.MachinesPresent {
				t.Errorf("deleted at %v, machines = %q", k.DeletionTimestamp, k.MachinesOf())
			}
			f.wantHeld("cp true, worker true")
			f.deorbit(kubernikusv1.DeorbitMachines)
			f.settle()
			f.wantHeld("cp false, worker false")
			for _, name := range []string{"cp", "worker"} {
				f.remove(machines, name)
				f.finalize(machines, name, "machine.cluster.x-k8s.io")
			}
			if f.settle(); f.kluster().MachinesOf() != kubernikusv1.MachinesDeleted {
				t.Errorf("machines = %q, want %s", f.kluster().MachinesOf(), kubernikusv1.MachinesDeleted)
			}
			f.end("CleanInCluster")
			if f.settle(); f.kluster() != nil || f.completed() != "True/CleanInCluster" {
				t.Errorf("Kluster = %v, condition %s", f.kluster(), f.completed())
			}
		})
	}
}

// TestRemovedElsewhere checks that hooks go with a Cluster that is removed by force, whether or not the provider for OpenStack is installed.
func TestRemovedElsewhere(t *testing.T) {
	for name, provider := range map[string]bool{"with the provider for OpenStack": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			f := newElsewhere(t, "v1beta2")
			if !provider {
				f.absent = []schema.GroupResource{infrastructures}
			}
			f.finalize(clusters, "web", "cluster.cluster.x-k8s.io")
			f.remove(clusters, "web")
			f.settle()
			if k := f.kluster(); k == nil || !k.Detached() {
				t.Errorf("Kluster = %+v, want it to be detached", k)
			}
			f.wantHeld("cp false, worker false")
		})
	}
}
