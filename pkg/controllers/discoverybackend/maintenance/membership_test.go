// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

func TestPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		status    gimbalv1.ClusterStatus
		endpoints bool
		restored  bool
		want      phase
	}{
		"enabled":                                {gimbalv1.ClusterEnabled, false, true, phaseEnabled},
		"not checked yet":                        {gimbalv1.ClusterEnabled, false, false, phaseHeld},
		"endpoints withheld":                     {gimbalv1.ClusterEnabled, true, false, phaseHeld},
		"withheld, whatever Groundskeeper knows": {gimbalv1.ClusterEnabled, true, true, phaseHeld},
		"maintenance":                            {gimbalv1.ClusterMaintenance, false, true, phaseDraining},
		"maintenance after a start":              {gimbalv1.ClusterMaintenance, false, false, phaseDraining},
		"maintenance with no endpoint":           {gimbalv1.ClusterMaintenance, true, false, phaseDraining},
	} {
		t.Run(name, func(t *testing.T) {
			backend := &gimbalv1.DiscoveryBackend{}
			backend.Cluster.ClusterStatus, backend.Status.EndpointsDrained = tc.status, tc.endpoints
			if got := phaseOf(backend, tc.restored); got != tc.want {
				t.Errorf("phase = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestMembership(t *testing.T) {
	backend := func(namespace, name string, status gimbalv1.ClusterStatus) *gimbalv1.DiscoveryBackend {
		b := &gimbalv1.DiscoveryBackend{}
		b.Namespace, b.Name, b.UID, b.Cluster.ClusterStatus = namespace, name, types.UID(name), status
		return b
	}
	m := &membership{
		memory: newMemory(), recorded: []string{"held"},
		fleet: fleet{admins: []string{adminNamespace}, all: map[string]*gimbalv1.DiscoveryBackend{
			"us":      backend(adminNamespace, "us", gimbalv1.ClusterMaintenance),
			"eu":      backend(adminNamespace, "eu", gimbalv1.ClusterEnabled),
			"held":    backend(adminNamespace, "held", gimbalv1.ClusterEnabled),
			"waiting": backend(adminNamespace, "waiting", gimbalv1.ClusterEnabled),
			"local":   backend("shop", "local", gimbalv1.ClusterMaintenance),
		}},
		targets: map[drain.Object]*target{},
	}
	for key, name := range map[types.NamespacedName]string{
		{Namespace: "shop", Name: "us-web"}: "us", {Namespace: "shop", Name: "plain"}: "", {Namespace: "shop", Name: "orphan"}: "gone",
		{Namespace: "shop", Name: "local-web"}: "local", {Namespace: "bank", Name: "local-web"}: "local",
	} {
		m.targets[drain.Object{NamespacedName: key}] = &target{service: &service{backend: name}}
	}
	m.memory.setRestored("eu", true)
	for service, want := range map[types.NamespacedName]string{
		{Namespace: "shop", Name: "us-web"}: "us", {Namespace: "shop", Name: "plain"}: "", {Namespace: "shop", Name: "orphan"}: "gone",
		{Namespace: "shop", Name: "local-web"}: "local",
		// The label of a Service that a backend does not reach makes it none of the backend's.
		{Namespace: "bank", Name: "local-web"}: "",
	} {
		if got, known := m.Of(drain.Object{NamespacedName: service}); !known || got != want {
			t.Errorf("%s is of %q (%t), want %q", service, got, known, want)
		}
	}
	if _, known := m.Of(drain.Object{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "none"}}); known {
		t.Error("a Service that does not exist is known")
	}
	for name, tc := range map[string]struct {
		backend, namespace string
		want               bool
	}{
		"maintenance":                     {"us", "shop", true},
		"enabled":                         {"eu", "shop", false},
		"held, in the record":             {"held", "shop", true},
		"held, not in the record":         {"waiting", "shop", false},
		"gone":                            {"gone", "shop", false},
		"in its own namespace":            {"local", "shop", true},
		"of another namespace, no admins": {"local", "bank", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.Share(tc.backend, tc.namespace) == 0; got != tc.want {
				t.Errorf("drained = %t, want %t", got, tc.want)
			}
		})
	}
	m.all["us"].Cluster.DrainPolicy = gimbalv1.DrainKeepSole
	if !m.KeepsSole("us") || m.KeepsSole("eu") || m.KeepsSole("gone") {
		t.Error("who keeps sole routes is wrong")
	}
}
