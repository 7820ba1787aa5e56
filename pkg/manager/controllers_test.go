// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	groundskeeperscheme "groundskeeper.io/groundskeeper/pkg/apis/scheme"
)

func TestSelectEnabled(t *testing.T) {
	all := []controller{{name: "a"}, {name: "b"}, {name: "a-b"}}
	for _, tc := range []struct{ enabled, want string }{
		{"*", "a b a-b"},
		{"", ""},
		{"b", "b"},
		{"a-b a", "a a-b"},
		{"* -a", "b a-b"},
		{"-a *", "b a-b"},
		{"* -a-b b", "a b"},
		{"* -a -b -a-b", ""},
	} {
		if got := strings.Join(names(selectEnabled(all, strings.Fields(tc.enabled))), " "); got != tc.want {
			t.Errorf("[%s]: got [%s], want [%s]", tc.enabled, got, tc.want)
		}
	}
}

// TestControllers checks that no name is registered twice, and that no cache is restricted twice.
func TestControllers(t *testing.T) {
	all := controllers(nil)
	if sorted := slices.Sorted(slices.Values(names(all))); len(slices.Compact(sorted)) != len(all) {
		t.Errorf("a name is there twice: %v", names(all))
	}
	if got := names(all); !slices.Equal(got, []string{"project", "project-stale", "project-activity", "discovery-operator", "discovery-maintenance",
		"translation-convert", "translation-annotate", "translation-push", "kluster", "kluster-deorbit", "kluster-routegc", "kluster-workload", "kluster-discovery", "kluster-capi", "local-volume-cleanup", "local-volume-deleter", "webhooks"}) {
		t.Errorf("the controllers are %v", got)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, groundskeeperscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	options, err := cacheOptions(all, &v1alpha1.ControllersConfiguration{}, scheme)
	if err != nil {
		t.Error(err)
	}
	for object, by := range options.ByObject {
		if _, ok := object.(*midonetv1.Translation); ok && (by.Label != nil || by.Field != nil || by.Namespaces != nil) {
			t.Error("the loops of Projects follow Translations in the cache, and it does not have all")
		}
	}
	projects, translations := schema.GroupVersion{Group: "core.gardener.cloud", Version: "v1beta1"}, schema.GroupVersion{Group: "midonet.org", Version: "v1"}
	backends := schema.GroupVersion{Group: "gimbal.heptio.com", Version: "v1"}
	klusters := schema.GroupVersion{Group: "kubernikus.sap.cc", Version: "v1"}
	// Without a MidoNet and an image no controller requests their APIs, which a host with Projects alone does not serve.
	config := &v1alpha1.ControllersConfiguration{Enabled: []string{"*"}}
	if diff := cmp.Diff([]schema.GroupVersion{projects}, requiredAPIs(dropOff(logr.Discard(), all, config), config)); diff != "" {
		t.Error(diff)
	}
	running := names(dropOff(logr.Discard(), all, config))
	if got := len(all) - len(running); got != 9 {
		t.Errorf("without a MidoNet, an image and Klusters %d controllers do not run", got)
	}
	if !slices.Contains(running, "discovery-operator") {
		t.Error("without an image no controller releases DiscoveryBackends")
	}
	config.Translation.MidoNet.URL, config.Discovery.Image, config.Kluster.Enabled = "http://midonet/midonet-api", "discoverer", new(true)
	config.Kluster.ClusterAPI.Enabled = new(true)
	if diff := cmp.Diff([]schema.GroupVersion{projects, backends, translations, klusters}, requiredAPIs(append(all, all...), config)); diff != "" {
		t.Error(diff)
	}
	if got := len(dropOff(logr.Discard(), all, config)); got != len(all) {
		t.Errorf("with all of them %d of %d controllers run", got, len(all))
	}
	config.Enabled = []string{"*", "-local-volume-cleanup"}
	if running := names(dropOff(logr.Discard(), all, config)); slices.Contains(running, "local-volume-deleter") {
		t.Error("the deleter runs without the cleanup that it is part of")
	}
}

func TestCacheOptions(t *testing.T) {
	type restrict = func(*v1alpha1.ControllersConfiguration) (restrictions, error)
	only := func(object client.Object) restrict {
		return always(func() (restrictions, error) { return restrictions{object: {Label: labels.Nothing()}}, nil })
	}
	options, err := cacheOptions([]controller{{name: "a", cache: only(&rbacv1.Role{})}, {name: "b"}, {name: "c", cache: only(&corev1.Secret{})}}, nil, clientgoscheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	if !options.ReaderFailOnMissingInformer || options.DefaultTransform == nil || len(options.ByObject) != 2 {
		t.Errorf("got %+v", options)
	}
	for name, tc := range map[string]struct {
		cache restrict
		want  string
	}{
		"the same kind": {only(&corev1.Secret{Type: "x"}), "controllers a and b both restrict the cache of Secret"},
		"an error":      {always(func() (restrictions, error) { return nil, errors.New("no") }), "controller b: no"},
	} {
		_, err := cacheOptions([]controller{{name: "a", cache: only(&corev1.Secret{})}, {name: "b", cache: tc.cache}}, nil, clientgoscheme.Scheme)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
}

func TestAddControllersNamesTheFailure(t *testing.T) {
	fails := func(ctrl.Manager, *v1alpha1.ControllersConfiguration) error { return errors.New("no") }
	err := addControllers(&collector{}, []controller{{name: "a", add: fails}}, nil, &readiness{})
	if err == nil || err.Error() != "controller a: no" {
		t.Errorf("got %v", err)
	}
}

// collector is a manager that only keeps what is added.
type collector struct {
	ctrl.Manager
	added []manager.Runnable
}

func (c *collector) Add(r manager.Runnable) error {
	c.added = append(c.added, r)
	return nil
}

// warming is a controller whose caches fail to fill with err.
type warming struct {
	manager.RunnableFunc
	err error
}

func (w *warming) NeedLeaderElection() bool     { return true }
func (w *warming) Warmup(context.Context) error { return w.err }

func TestReadiness(t *testing.T) {
	mgr, ready := &collector{}, &readiness{}
	add := func(name string, runnable manager.Runnable) {
		if err := ready.watch(mgr, name).Add(runnable); err != nil {
			t.Fatal(err)
		}
	}
	warmUp := func(i int) error {
		return mgr.added[i].(interface{ Warmup(context.Context) error }).Warmup(t.Context())
	}
	status := func() string {
		response := httptest.NewRecorder()
		healthHandler(ready, prometheus.NewRegistry(), nil).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return http.StatusText(response.Code) + ": " + strings.TrimSpace(response.Body.String())
	}
	expect := func(want string) {
		t.Helper()
		if got := status(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}

	expect("OK: ok")
	add("plain", manager.RunnableFunc(nil))
	expect("OK: ok")
	failing := &warming{err: errors.New("no")}
	add("b", failing)
	add("a", &warming{})
	add("b", &warming{})
	expect("Service Unavailable: waiting for the caches of controller a, the caches of controller b")
	if err := warmUp(1); !errors.Is(err, failing.err) {
		t.Errorf("got %v", err)
	}
	if err := warmUp(2); err != nil {
		t.Error(err)
	}
	expect("Service Unavailable: waiting for the caches of controller b")
	if err := warmUp(3); err != nil {
		t.Error(err)
	}
	expect("Service Unavailable: waiting for the caches of controller b")
	failing.err = nil
	if err := warmUp(1); err != nil {
		t.Error(err)
	}
	expect("OK: ok")
	if needs := mgr.added[1].(manager.LeaderElectionRunnable); !needs.NeedLeaderElection() {
		t.Error("the controller no longer needs to be the leader")
	}
}

func TestHealthHandler(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "visits", Help: "Visits."}))
	handler := healthHandler(&readiness{pending: []string{"a"}}, registry, nil)
	for _, tc := range []struct {
		method, path string
		code         int
		body         string
	}{
		{http.MethodGet, "/healthz", http.StatusOK, "ok"},
		{http.MethodHead, "/healthz", http.StatusOK, "ok"},
		{http.MethodPost, "/healthz", http.StatusMethodNotAllowed, ""},
		{http.MethodGet, "/readyz", http.StatusServiceUnavailable, "waiting for a"},
		{http.MethodGet, "/metrics", http.StatusOK, "visits 0"},
		{http.MethodGet, "/", http.StatusNotFound, ""},
	} {
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequest(tc.method, tc.path, nil))
		if response.Code != tc.code || !strings.Contains(response.Body.String(), tc.body) {
			t.Errorf("%s %s: got %d %q, want %d %q", tc.method, tc.path, response.Code, response.Body, tc.code, tc.body)
		}
	}
}
