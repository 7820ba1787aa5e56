// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestComplete checks that a controller can be added once, and that the error names a duplicate.
func TestComplete(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kubernikusv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	add := func() error {
		config := configv1alpha1.KlusterConfiguration{ConcurrentSyncs: new(int32(2))}
		none := func(context.Context, client.Object) []reconcile.Request { return nil }
		return Complete(Builder(mgr, "kluster-test", config, predicate.Funcs{}, none), "kluster-test", reconcile.Func(nil))
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if err := add(); err == nil || !strings.HasPrefix(err.Error(), "make controller kluster-test: ") {
		t.Errorf("added again: %v", err)
	}
}
