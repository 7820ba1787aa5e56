// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a cluster whose requests can be made to fail.
type world struct {
	*kubetest.Server
	mu sync.Mutex
	// fails are the errors of lists and watches, by the type of the list.
	fails map[string]error
	// watches are the running ones.
	watches []watch.Interface
	// established gets a value for each watch that began.
	established chan struct{}
}

func (w *world) fail(kind string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails[kind] = err
	for _, one := range w.watches {
		one.Stop()
	}
	w.watches = nil
}

// watched waits until a number of watches began.
func (w *world) watched(t *testing.T, count int) {
	t.Helper()
	for range count {
		select {
		case <-w.established:
		case <-time.After(time.Minute):
			t.Fatal("no watch began within a minute")
		}
	}
}

func (w *world) failure(list runtime.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failureLocked(list)
}

func (w *world) failureLocked(list runtime.Object) error {
	switch list.(type) {
	case *kubernikusv1.KlusterList:
		return w.fails["klusters"]
	case *corev1.ConfigMap:
		return w.fails["configmaps"]
	case *gardenerv1beta1.ProjectList:
		return w.fails["projects"]
	}
	return nil
}

// newWorld returns a cluster with objects, and the client of the console, whose writes and reads of Secrets fail the test.
func newWorld(t *testing.T, objects ...client.Object) (*world, client.WithWatch) {
	t.Helper()
	byField := func(value func(client.Object) string) client.IndexerFunc {
		return func(o client.Object) []string { return []string{value(o)} }
	}
	w := &world{fails: map[string]error{}, established: make(chan struct{}, 1000)}
	w.Server = kubetest.Build(t, func(builder *fake.ClientBuilder) {
		builder.WithIndex(&corev1.Event{}, "involvedObject.uid", byField(func(o client.Object) string { return string(o.(*corev1.Event).InvolvedObject.UID) })).
			WithIndex(&corev1.Pod{}, "spec.nodeName", byField(func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName })).
			WithIndex(&corev1.Pod{}, "status.phase", byField(func(o client.Object) string { return string(o.(*corev1.Pod).Status.Phase) }))
	}, objects...)
	w.Read = func(verb string, object runtime.Object) error {
		switch object.(type) {
		case *corev1.Secret, *corev1.SecretList:
			t.Errorf("the console sent a %s of Secrets", verb)
		}
		return w.failure(object)
	}
	w.Fault = func(_ int, write kubetest.Write) error {
		t.Errorf("the console wrote to the cluster: %s", write)
		return errors.New("read-only")
	}
	live := w.Live() // the console has no cache
	return w, interceptor.NewClient(w.Client(), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return live.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return live.List(ctx, list, options...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			w.mu.Lock() // otherwise a watch that begins while it is made to fail would continue
			defer w.mu.Unlock()
			if err := w.failureLocked(list); err != nil {
				return nil, err
			}
			events, err := c.Watch(ctx, list, options...)
			if err == nil {
				w.watches = append(w.watches, events)
				w.established <- struct{}{}
			}
			return events, err
		},
	})
}

// optionsOf returns those of a console that shows Projects that are not ready, and Klusters that are paused or being deleted.
func optionsOf(reading client.WithWatch) Options {
	kind := func(title, name string, global bool, object func() client.Object, list func() client.ObjectList, wrong func(client.Object) string) Kind {
		findings := func(o client.Object, _ time.Time) (all []report.Finding) {
			if text := wrong(o); text != "" {
				all = append(all, report.Finding{Kind: title, Namespace: o.GetNamespace(), Name: o.GetName(), Level: report.Warning, Message: text})
			}
			return all
		}
		return Kind{
			Title: title, Name: name, Global: global, Object: object, List: list, Denied: "you are not allowed to list " + title,
			Findings: findings, Why: func(_ context.Context, o client.Object) (*report.Report, error) {
				return &report.Report{Findings: findings(o, noon)}, nil
			},
		}
	}
	return Options{
		Connect: func() (client.WithWatch, error) { return reading, nil },
		Kinds: []Kind{
			kind("Projects", "project", true, func() client.Object { return &gardenerv1beta1.Project{} }, func() client.ObjectList { return &gardenerv1beta1.ProjectList{} },
				func(o client.Object) string {
					if o.(*gardenerv1beta1.Project).Status.Phase != gardenerv1beta1.ProjectReady {
						return "is not ready"
					}
					return ""
				}),
			kind("Klusters", "kluster", false, func() client.Object { return &kubernikusv1.Kluster{} }, func() client.ObjectList { return &kubernikusv1.KlusterList{} },
				func(o client.Object) string {
					k := o.(*kubernikusv1.Kluster)
					switch {
					case !k.DeletionTimestamp.IsZero():
						return "is being deleted"
					case k.Status.Phase != kubernikusv1.KlusterRunning:
						return "is " + string(k.Status.Phase)
					}
					return ""
				}),
		},
		Health: func(context.Context) *report.Report { return &report.Report{Checked: []report.Checked{{Name: "API"}}} },
		Others: func(context.Context, map[string]types.UID) *report.Report { return &report.Report{} },
		Config: func(context.Context) (*v1alpha1.ControllerManagerConfiguration, error) {
			c := &v1alpha1.ControllerManagerConfiguration{}
			v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(c)
			return c, nil
		},
		Source: func() (resourcewatch.Finder, resourcewatch.Source, error) {
			return nil, resourcewatch.Source{}, errors.New("no routes in this test")
		},
		Explain: func(err error) error { return err },
		Clock:   clocktesting.NewFakePassiveClock(noon),
	}
}

// browser is a page that is open.
type browser struct {
	*testing.T
	client *http.Client
	base   string
	// rows and last are what the stream reported.
	rows   map[string]*Row
	last   *Delta
	events chan *Delta
}

// open runs a console and opens its URL.
func open(t *testing.T, o Options) *browser {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- Run(ctx, o, func(url string) { address <- url }) }()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{T: t, client: &http.Client{Jar: jar}, rows: map[string]*Row{}, events: make(chan *Delta)}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the console ended with %v", err)
		}
		b.client.CloseIdleConnections()
	})
	first := <-address
	u, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	b.base = "http://" + u.Host
	if code, body := b.get(strings.TrimPrefix(first, b.base)); code != http.StatusOK || !strings.Contains(body, "console.js") {
		t.Fatalf("the page = %d %s", code, body)
	}
	return b
}

func (b *browser) get(path string) (int, string) {
	b.Helper()
	response, err := b.client.Get(b.base + path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// read decodes the data at a path.
func (b *browser) read(path string, into any) {
	b.Helper()
	code, body := b.get(path)
	if err := json.Unmarshal([]byte(body), into); err != nil || code != http.StatusOK {
		b.Fatalf("GET %s = %d %s, %v", path, code, body, err)
	}
}

// follow reads the stream until the test ends.
func (b *browser) follow() *browser {
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.base+"/api/stream", nil)
	if err != nil {
		b.Fatal(err)
	}
	response, err := b.client.Do(request) //nolint:bodyclose // the goroutine closes it
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer func() { _ = response.Body.Close() }()
		defer close(b.events)
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			delta := &Delta{}
			if json.Unmarshal([]byte(data), delta) != nil {
				return
			}
			select {
			case b.events <- delta:
			case <-b.Context().Done():
				return
			}
		}
	}()
	return b
}

// until applies deltas until a condition holds.
func (b *browser) until(what string, holds func() bool) {
	b.Helper()
	deadline := time.After(time.Minute)
	for b.last == nil || !holds() {
		select {
		case delta, ok := <-b.events:
			if !ok {
				b.Fatalf("the stream ended before %s", what)
			}
			b.apply(delta)
		case <-deadline:
			b.Fatalf("no %s; last: %+v", what, b.last)
		}
	}
}

func (b *browser) apply(d *Delta) {
	if d.Reset {
		clear(b.rows)
	}
	for _, row := range d.Rows {
		b.rows[row.Key] = row
	}
	for _, key := range d.Removed {
		delete(b.rows, key)
	}
	b.last = d
}

// checked returns what the page shows of a kind.
func (b *browser) checked(name string) Checked {
	for _, c := range b.last.Checked {
		if c.Name == name {
			return c
		}
	}
	return Checked{}
}
