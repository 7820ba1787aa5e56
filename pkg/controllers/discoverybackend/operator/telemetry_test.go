// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestConditionsAreMetrics(t *testing.T) {
	const name = "groundskeeper_discovery_backend_condition"
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "us"}}
	for kind, status := range map[string]metav1.ConditionStatus{
		gimbalv1.ConditionAvailable: metav1.ConditionTrue, gimbalv1.ConditionCredentialsValid: metav1.ConditionUnknown, gimbalv1.ConditionDrained: metav1.ConditionFalse,
	} {
		backend.Status.Conditions = append(backend.Status.Conditions, metav1.Condition{Type: kind, Status: status})
	}
	w := newWorld(t, backend, &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "new"}})
	registry := prometheus.NewRegistry()
	w.store.ReadCache = func(string, runtime.Object) error { return errors.New("the cache is not filled") }
	if err := registerConditions(registry, w.store.Client()); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(registry, name); n != 0 || err != nil {
		t.Errorf("%d samples of backends that are not known: %v", n, err)
	}
	// A second manager of this process takes the place of the first.
	if err := registerConditions(registry, w.store); err != nil {
		t.Fatal(err)
	}
	want := "# HELP " + name + " Conditions of DiscoveryBackends: 1 is True, 0 is False, -1 is Unknown.\n# TYPE " + name + " gauge\n" +
		name + `{backend="us",condition="Available"} 1` + "\n" + name + `{backend="us",condition="CredentialsValid"} -1` + "\n" +
		name + `{backend="us",condition="Drained"} 0` + "\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}
