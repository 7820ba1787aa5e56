// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

// fakeManager is a manager whose caches may not be synced. It records the requests of the reconciler.
type fakeManager struct {
	manager.Manager
	world     *world
	informers *informers
	timeout   time.Duration
	requests  chan struct{}
	logger    logr.Logger
	added     []manager.Runnable
}

func newFakeManager(w *world) *fakeManager {
	requests := make(chan struct{}, 100)
	return &fakeManager{
		world: w, logger: logr.Discard(), requests: requests,
		informers: &informers{store: w.Server, requests: requests, watched: map[string][]*controllertest.FakeInformer{}},
	}
}

func (m *fakeManager) GetLogger() logr.Logger                         { return m.logger }
func (m *fakeManager) GetCache() cache.Cache                          { return m.informers }
func (m *fakeManager) GetFieldIndexer() client.FieldIndexer           { return m.informers }
func (m *fakeManager) GetAPIReader() client.Reader                    { return m.world.Server }
func (m *fakeManager) GetConfig() *rest.Config                        { return &rest.Config{} }
func (m *fakeManager) GetHTTPClient() *http.Client                    { return nil }
func (m *fakeManager) GetEventRecorder(string) recorder.EventRecorder { return m.world.recorder }

func (m *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(true), EnableWarmup: new(true), CacheSyncTimeout: m.timeout}
}

func (m *fakeManager) Add(runnable manager.Runnable) error {
	m.added = append(m.added, runnable)
	return nil
}

func (m *fakeManager) GetClient() client.Client { return m.world.Server }

// informers are the caches of a manager. Each source gets a dedicated fake: one is not for several goroutines.
type informers struct {
	informertest.FakeInformers
	// unsynced is the type that is not read to the end.
	unsynced string

	// store is what the caches hold. They count requests for Translations.
	store    client.Client
	requests chan struct{}

	mu sync.Mutex
	// watched are the informers, by type.
	watched map[string][]*controllertest.FakeInformer
}

func (i *informers) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return i.store.List(ctx, list, options...)
}

// of returns the informers of the type of an object.
func (i *informers) of(object client.Object) []*controllertest.FakeInformer {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.watched[fmt.Sprintf("%T", object)]
}

func (i *informers) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kind := fmt.Sprintf("%T", object)
	informer := controllertest.NewFakeInformer()
	i.watched[kind] = append(i.watched[kind], informer)
	if kind != i.unsynced {
		informer.Synced()
	}
	if _, ok := object.(*midonetv1.Translation); ok {
		return &indexed{FakeInformer: informer, index: &index{store: i.store, requests: i.requests}}, nil
	}
	return informer, nil
}

// indexed is a cache of Translations with an index.
type indexed struct {
	*controllertest.FakeInformer
	index *index
}

func (i *indexed) AddIndexers(by toolscache.Indexers) error {
	i.index.by = by
	return nil
}

func (i *indexed) GetIndexer() toolscache.Indexer { return i.index }

// index has the stored objects, packed, and records reads.
type index struct {
	toolscache.Indexer
	store    client.Client
	requests chan struct{}
	by       toolscache.Indexers
}

func (i *index) ByIndex(name, value string) ([]any, error) {
	select {
	case i.requests <- struct{}{}:
	default: // it was reported before
	}
	list := &midonetv1.TranslationList{}
	if err := i.store.List(context.Background(), list); err != nil {
		return nil, err
	}
	content := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, i.by)
	for k := range list.Items {
		kept, err := packed.Pack(&list.Items[k])
		if err != nil {
			return nil, err
		}
		if err := content.Add(kept); err != nil {
			return nil, err
		}
	}
	return content.ByIndex(name, value)
}

// TestNoPassBeforeCachesAreFilled checks that nothing is reconciled, and thus nothing considered stale, before all caches are
// synced. The globals are requested at startup.
func TestNoPassBeforeCachesAreFilled(t *testing.T) {
	for _, unsynced := range []string{"", "*v1.Node", "*v1.Pod", "*v1.Service", "*v1.EndpointSlice", "*v1.Translation"} {
		t.Run("without "+unsynced, func(t *testing.T) {
			mgr := newFakeManager(newWorld(t))
			if mgr.informers.unsynced = unsynced; unsynced != "" {
				mgr.timeout = 10 * time.Millisecond
			}
			if err := AddToManager(mgr, testConfig(), mgr.world.clock); err != nil || len(mgr.added) != 1 {
				t.Fatalf("error %v, %d added", err, len(mgr.added))
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- mgr.added[0].Start(ctx) }()
			if unsynced == "" {
				<-mgr.requests // a reconciliation
				stop()
				if err := <-ended; err != nil || len(mgr.informers.watched) != 5 {
					t.Errorf("error %v, watched %v", err, mgr.informers.watched)
				}
				return
			}
			defer stop()
			if err := <-ended; err == nil {
				t.Error("the controller started")
			}
			if len(mgr.requests) > 0 || len(mgr.world.names("kube-system")) > 0 {
				t.Error("there was a reconciliation")
			}
		})
	}
}

// TestEventsBringOwners checks that events of every kind queue the right owners, in particular those of a Node its Pods, which are
// not retried otherwise.
func TestEventsBringOwners(t *testing.T) {
	without := testNode("a")
	without.Annotations = nil
	pod, service, slice := testPod("web-0", "a"), testService("front"), testSlice("front", "1", "10.1.0.7")
	w := newWorld(t, without.DeepCopy(), pod, service, slice)
	mgr := newFakeManager(w)
	if err := AddToManager(mgr, testConfig(), w.clock); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	written, err := w.Watch(ctx, &midonetv1.TranslationList{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.added[0].Start(ctx) }()
	// expect waits for Translations to be created.
	expect := func(prefixes ...string) {
		t.Helper()
		for len(prefixes) > 0 {
			var event watch.Event
			select {
			case event = <-written.ResultChan():
			case <-ctx.Done():
				t.Fatalf("%q did not come", prefixes)
			}
			translation, ok := event.Object.(*midonetv1.Translation)
			if !ok || event.Type != watch.Added {
				continue
			}
			i := slices.IndexFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(translation.Name, prefix) })
			if i < 0 {
				t.Fatalf("%s came, not %q", translation.Name, prefixes)
			}
			prefixes = slices.Delete(prefixes, i, i+1)
		}
	}
	expect("midonet-global.4.chain", "midonet-global.4.cluster-router", "midonet-global.4.tunnel-zone")

	for _, informer := range mgr.informers.of(service) {
		informer.Add(service)
	}
	expect("service.4.front", "service-port.4.shop-front", "endpoints-port.4.front")

	slice = slice.DeepCopy()
	change(w, slice, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, testSlice("", "", "10.1.0.8").Endpoints...)
	})
	for _, informer := range mgr.informers.of(slice) {
		informer.Update(testSlice("front", "1"), slice)
	}
	expect("endpoints-port.4.front-web-10.96.0.10-10.1.0.8")

	node := testNode("a")
	change(w, node, func(n *corev1.Node) { n.Annotations = testNode("a").Annotations })
	for _, informer := range mgr.informers.of(node) {
		informer.Update(without, node)
	}
	expect("node.4.a", "pod.4.web-0")

	deleted := w.one("shop", "pod.4.web-0")
	w.released(deleted)
	w.Remove(deleted)
	for _, informer := range mgr.informers.of(deleted) {
		informer.Delete(deleted)
	}
	expect("pod.4.web-0")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestMetersOutliveAManager(t *testing.T) {
	registry := prometheus.NewRegistry()
	for want := 1.0; want < 3; want++ {
		m, err := NewMeters(registry)
		if err != nil {
			t.Fatal(err)
		}
		m.writes.WithLabelValues(operationCreate).Inc()
		m.blocked.WithLabelValues(reasonRefused).Inc()
		if got := counted(m.writes, operationCreate); got != want {
			t.Errorf("counted %v, want %v", got, want)
		}
		if got := gauged(m.blocked, reasonRefused); got != 1 {
			t.Errorf("a gauge continues from %v", got-1)
		}
	}
	for _, name := range []string{"skipped", "blocked", "conversions_total", "writes_total"} {
		taken := prometheus.NewRegistry()
		taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_translation_" + name, Help: "another"}))
		if _, err := NewMeters(taken); err == nil {
			t.Errorf("%s is taken, and that is no error", name)
		}
	}
}

// TestWorst checks that thousands of errors are combined to the most informative one.
func TestWorst(t *testing.T) {
	deleted, rejected, changed := errors.New("gone"), &rejection{forbidden("x")}, conflict("x")
	for name, tc := range map[string]struct {
		errs []error
		want error
	}{
		"none":    {[]error{nil, nil}, nil},
		"changed": {[]error{nil, changed}, changed},
		"refused": {[]error{changed, rejected, nil}, rejected},
		"gone":    {[]error{rejected, deleted, changed}, deleted},
	} {
		if got := worst(tc.errs...); !errors.Is(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
