// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	typedmidonetv1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/midonet/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// startPusher runs a manager with the pusher, for the Translations of one namespace, until stop is called.
func startPusher(t *testing.T, namespace, backend string) (stop func()) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := midonetv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(rest.CopyConfig(servers[0]), ctrl.Options{
		Scheme: scheme,
		Logger: logr.Discard(),
		Cache: cache.Options{
			DefaultTransform:            cache.TransformStripManagedFields(),
			DefaultNamespaces:           map[string]cache.Config{namespace: {}},
			ReaderFailOnMissingInformer: true,
		},
		Controller:             ctrlconfig.Controller{UsePriorityQueue: new(true), EnableWarmup: new(true), SkipNameValidation: new(true)},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	defaults := &configv1alpha1.ControllerManagerConfiguration{}
	configv1alpha1.SetObjectDefaults_ControllerManagerConfiguration(defaults)
	config := defaults.Controllers.Translation
	config.MidoNet.URL = backend
	connection, err := midonetbackend.NewClient(config.MidoNet, nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if err := push.AddToManager(mgr, config, midonetbackend.New(connection, config.Tenant)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// eventually waits until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return so(), nil })
	if err != nil {
		t.Fatalf("it did not come about that %s", what)
	}
}

func isSynced(t *testing.T, translations typedmidonetv1.TranslationInterface, name string) bool {
	t.Helper()
	tr, err := translations.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tr.Status.ObservedGeneration == tr.Generation && meta.IsStatusConditionTrue(tr.Status.Conditions, midonetv1.ConditionSynced)
}

// TestPusher runs the pusher in a manager: resources of Translations are created, removed, repaired on demand, not written after a
// restart, and deleted.
func TestPusher(t *testing.T) {
	backend := fake.New(fake.Options{})
	web := httptest.NewServer(backend)
	defer web.Close()
	url := web.URL + fake.Root
	namespace := name(t, "pusher-")
	translations := client(t, 1, asJSON).MidonetV1().Translations(namespace)
	content := func() string {
		var ids []string
		for _, i := range backend.Content() {
			ids = append(ids, i.Kind+" "+i.ID[len(i.ID)-1:])
		}
		return strings.Join(ids, ", ")
	}
	create := func(name string, resources ...midonetv1.BackendResource) {
		t.Helper()
		if _, err := translations.Create(t.Context(), &midonetv1.Translation{ObjectMeta: created(name), Resources: resources}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch := func(name string, body any) {
		t.Helper()
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := translations.Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	rule := midonetv1.BackendResource{Kind: "Rule", Parent: chainID('a'), Body: `{"id":"` + chainID('f') + `","type":"jump","jumpChainId":"` + chainID('b') + `"}`}
	create("rule.4.a", rule) // needs what comes later
	stop := startPusher(t, namespace, url)
	defer func() { stop() }()
	create("chains.4.a", chains("abc")...)
	eventually(t, "the rule is in sync", func() bool { return isSynced(t, translations, "rule.4.a") })
	eventually(t, "the chains are in sync", func() bool { return isSynced(t, translations, "chains.4.a") })
	if got := content(); got != "Chain a, Chain b, Chain c, Rule f" {
		t.Errorf("the backend has %s", got)
	}
	for _, rejection := range backend.Rejections() {
		t.Errorf("rejected: %v", rejection)
	}

	patch("chains.4.a", map[string]any{"resources": chains("ab")})
	eventually(t, "the third chain is deleted", func() bool { return content() == "Chain a, Chain b, Rule f" })
	eventually(t, "the chains are in sync", func() bool { return isSynced(t, translations, "chains.4.a") })

	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/rules/"+chainID('f'), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := content(); got != "Chain a, Chain b" {
		t.Fatalf("the backend has %s", got)
	}
	patch("chains.4.a", map[string]any{"metadata": map[string]any{"annotations": map[string]string{"midonet.org/check-drift": "now"}}})
	eventually(t, "the rule is back", func() bool { return content() == "Chain a, Chain b, Rule f" })
	eventually(t, "the rule is in sync", func() bool { return isSynced(t, translations, "rule.4.a") })

	stop()
	versions := func() string {
		t.Helper()
		list, err := translations.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, tr := range list.Items {
			all = append(all, tr.ResourceVersion)
		}
		return strings.Join(all, " ")
	}
	before := versions()
	backend.ResetRequests()
	stop = startPusher(t, namespace, url)
	lists := fake.Count{Method: http.MethodGet, Path: "/chains", Code: http.StatusOK}
	eventually(t, "the first drift pass of the new process reads", func() bool { return backend.Requests()[lists] > 0 })
	stop()
	if writes := backend.Writes(); writes > 0 {
		t.Errorf("a restart costs %d writes", writes)
	}
	if after := versions(); after != before {
		t.Errorf("a restart writes to the API server: %s, and then %s", before, after)
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, family := range families {
		found[family.GetName()] = true
	}
	for _, name := range []string{"resources", "push_duration_seconds", "drift_found_total", "drift_repaired_total", "orphans"} {
		if !found["groundskeeper_translation_"+name] {
			t.Errorf("there is no metric %s", name)
		}
	}

	// Deleted while no pusher runs: the finalizers wait for the next process.
	for _, name := range []string{"chains.4.a", "rule.4.a"} {
		if err := translations.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	stop = startPusher(t, namespace, url)
	for _, name := range []string{"chains.4.a", "rule.4.a"} {
		eventually(t, name+" has been deleted", func() bool {
			_, err := translations.Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	if got := content(); got != "" {
		t.Errorf("left: %s", got)
	}
}
