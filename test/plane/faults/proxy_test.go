// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var nodes = corev1.SchemeGroupVersion.WithResource("nodes")

// upstream is an API server that has a version, sends what a test gives it as events, and counts.
type upstream struct {
	mu      sync.Mutex
	queries []string
	events  chan string
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.queries = append(u.queries, r.Method+" "+r.URL.RequestURI())
	u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Query().Get("watch") != "":
		controller := http.NewResponseController(w)
		_ = controller.Flush()
		for {
			select {
			case event := <-u.events:
				_, _ = fmt.Fprintln(w, event)
				_ = controller.Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodGet:
		_, _ = fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[]}`)
	default:
		_, _ = fmt.Fprint(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"11"}}`)
	}
}

// requested returns the requests since the last call.
func (u *upstream) requested() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := strings.Join(u.queries, "\n")
	u.queries = nil
	return all
}

func (u *upstream) send(kind, name string, version int) {
	u.events <- fmt.Sprintf(`{"type":%q,"object":{"kind":"Node","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":"%d"}}}`, kind, name, version)
}

// start starts a proxy to an upstream, and returns a client that uses its kubeconfig.
func start(t *testing.T) (*upstream, *Proxy, kubernetes.Interface) {
	t.Helper()
	u := &upstream{events: make(chan string)}
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	p, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return u, p, kubernetes.NewForConfigOrDie(config)
}

func next(t *testing.T, events watch.Interface) string {
	t.Helper()
	event, ok := <-events.ResultChan()
	if !ok {
		t.Fatal("the watch has ended")
	}
	node := event.Object.(*corev1.Node)
	return fmt.Sprintf("%s %s %s", event.Type, node.Name, node.ResourceVersion)
}

// TestFreeze checks that, while a view is frozen, lists of caches return the earlier state and events are delayed in order, and
// that live reads are current.
func TestFreeze(t *testing.T) {
	u, p, client := start(t)
	events, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if err := p.Freeze(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	if err := p.Freeze(t.Context(), nodes); err == nil {
		t.Error("a view was frozen twice")
	}
	u.requested()
	for _, version := range []string{"0", ""} {
		if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{ResourceVersion: version}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := u.requested(), "GET /api/v1/nodes?resourceVersion=10&resourceVersionMatch=Exact\nGET /api/v1/nodes"; got != want {
		t.Errorf("lists = %s, want %s", got, want)
	}
	_, err = client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a watch with a list: %v, want it rejected", err)
	}
	u.send("ADDED", "old", 9)
	u.send("ADDED", "a", 11)
	u.send("DELETED", "a", 12) // is read, although the one before is held
	if got := next(t, events); got != "ADDED old 9" {
		t.Errorf("event = %s", got)
	}
	select {
	case event := <-events.ResultChan():
		t.Errorf("%v was not held back", event)
	default:
	}
	p.Thaw(nodes)
	for _, want := range []string{"ADDED a 11", "DELETED a 12"} {
		if got := next(t, events); got != want {
			t.Errorf("event = %s, want %s", got, want)
		}
	}
}

// TestDrop checks that a dropped event never arrives, and that later ones do.
func TestDrop(t *testing.T) {
	u, p, client := start(t)
	p.Drop(nodes, func(e Event) bool { return e.Type == "DELETED" && e.Object.Name == "a" })
	events, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	u.send("DELETED", "a", 11)
	u.send("DELETED", "b", 12)
	if got := next(t, events); got != "DELETED b 12" {
		t.Errorf("event = %s", got)
	}
}

// TestFailWrite checks that exactly the chosen write fails in the chosen way, before or after the API server received it.
func TestFailWrite(t *testing.T) {
	for _, tc := range []struct {
		kind    Kind
		reached bool
		is      func(error) bool
	}{
		{RequestLost, false, func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }},
		{ResponseLost, true, func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }},
		{HalfResponse, true, func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }},
		{InternalError, false, apierrors.IsInternalError},
		{GatewayTimeout, false, apierrors.IsTimeout},
	} {
		t.Run(tc.kind.String(), func(t *testing.T) {
			u, p, client := start(t)
			create := func() error {
				_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{}, metav1.CreateOptions{})
				return err
			}
			p.FailWrite(tc.kind, 2)
			if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := create(); err != nil {
				t.Fatal(err)
			}
			u.requested()
			if err := create(); err == nil || !tc.is(err) {
				t.Errorf("the second write: %v", err)
			}
			if reached := u.requested() != ""; reached != tc.reached {
				t.Errorf("the server got it: %t, want %t", reached, tc.reached)
			}
			if err := create(); err != nil {
				t.Errorf("the third write: %v", err)
			}
			if got, want := len(p.Writes()), map[bool]int{false: 2, true: 3}[tc.reached]; got != want {
				t.Errorf("%d writes are recorded, want %d: %v", got, want, p.Writes())
			}
		})
	}
}

// TestTooManyRequests checks that a client waits as long as the response requests, and that other requests succeed.
func TestTooManyRequests(t *testing.T) {
	u, p, client := start(t)
	end := p.Fail(TooManyRequests, func(r *Request) bool { return r.Verb == "list" }, 0, -1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		done <- err
	}()
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) && !apierrors.IsTooManyRequests(err) {
		t.Errorf("list = %v", err)
	}
	end()
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(u.requested(), "POST /api/v1/nodes") {
		t.Error("the write did not arrive")
	}
}
