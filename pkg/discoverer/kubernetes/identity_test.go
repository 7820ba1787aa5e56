// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// recognized is a keeper that accepts one cluster. It remembers what it was queried about.
type recognized struct {
	mu       sync.Mutex
	id       string
	requests int
}

func (r *recognized) check(_ context.Context, observed []gimbalv1.ClusterIdentity) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if slices.ContainsFunc(observed, func(i gimbalv1.ClusterIdentity) bool { return i.ID == r.id }) {
		return nil
	}
	return &identity.Rejection{Problem: report.Problem{Type: gimbalv1.ErrorAnotherCluster, Message: "another cluster"}}
}

func (r *recognized) accept(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = id
}

func (r *recognized) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

func withUID[T metav1.Object](object T, uid string) T {
	object.SetUID(types.UID(uid))
	return object
}

// Another cluster, with a Service that is new, one that differs and without all others, changes nothing here until it is
// accepted.
func TestAnotherCluster(t *testing.T) {
	_, here := many(20)
	other := service("shop", "s1")
	other.Spec.Ports[0].Port = 81
	w := newWorld(t, []runtime.Object{
		withUID(namespace("kube-system"), "other"), other, service("shop", "new"),
	}, append(here, namespace("shop")))
	keeper := &recognized{id: "former"}
	w.startOnly(setup{recognize: keeper.check})
	problems := make(chan *report.Problem)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.upstream.Probe(ctx, w.clock, time.Minute, func(problem *report.Problem) {
		select {
		case problems <- problem:
		case <-ctx.Done():
		}
	})
	if problem := <-problems; problem == nil || problem.Type != gimbalv1.ErrorAnotherCluster {
		t.Fatalf("problem = %v, want %s", problem, gimbalv1.ErrorAnotherCluster)
	}
	w.until("both kinds are requested, and again", func() bool { return keeper.times() >= 5 })
	if written := w.writes(); w.upstream.Synced() || len(written) > 0 {
		t.Fatalf("of another cluster: synced = %v, writes = %v; want none", w.upstream.Synced(), written)
	}
	if _, err := w.upstream.Copies(t.Context()); !errors.As(err, new(*identity.Rejection)) {
		t.Errorf("a second list: error = %v, want a rejection: deletions depend on it", err)
	}
	keeper.accept("other")
	w.until("its services are copied", func() bool { return w.service("shop", "us-new") != nil })
}

// A server that becomes another cluster behind the same address is noticed at the next connection.
func TestVerified(t *testing.T) {
	w := newWorld(t, []runtime.Object{service("shop", "web")}, nil)
	rejected := errors.New("another cluster")
	v := verified[*corev1.ServiceList]{w.there.CoreV1().Services("shop"), func(context.Context) error { return rejected }, func(error) {}}
	if list, err := v.List(t.Context(), metav1.ListOptions{}); !errors.Is(err, rejected) || list != nil {
		t.Errorf("list: %v, error = %v; want a rejection", list, err)
	}
	if watch, err := v.Watch(t.Context(), metav1.ListOptions{}); !errors.Is(err, rejected) || watch != nil {
		t.Errorf("watch: %v, error = %v; want a rejection", watch, err)
	}
	if requests := w.there.Actions(); len(requests) > 0 {
		t.Errorf("the rejected cluster was requested %v", requests)
	}
	if list, err := v.List(t.Context(), metav1.ListOptions{Continue: "more"}); err != nil || len(list.Items) != 1 {
		t.Errorf("the next page: error = %v", err)
	}
}

// TestIdentity checks that objects that the credentials cannot read are not part of the identity of the cluster, and that after any
// other error the identity is unknown.
func TestIdentity(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("x"), "x", nil)
	both := []gimbalv1.ClusterIdentity{{Object: clusterid.NamespaceSystem, ID: "a"}, {Object: clusterid.ServiceKubernetes, ID: "b"}}
	for name, tc := range map[string]struct {
		namespace, service error
		want               []gimbalv1.ClusterIdentity
		fails              bool
	}{
		"both":            {nil, nil, both, false},
		"the Service":     {forbidden, nil, both[1:], false},
		"the namespace":   {nil, forbidden, both[:1], false},
		"neither":         {forbidden, forbidden, nil, false},
		"no namespace":    {apierrors.NewNotFound(corev1.Resource("x"), "x"), nil, both[1:], false},
		"no response":     {errors.New("no response"), nil, nil, true},
		"no second":       {nil, errors.New("no response"), nil, true},
		"not credentials": {apierrors.NewUnauthorized("x"), nil, nil, true},
	} {
		w := newWorld(t, []runtime.Object{withUID(namespace("kube-system"), "a"), withUID(service("default", "kubernetes"), "b"), service("default", "web")}, nil)
		var requests atomic.Int32
		fail := func(err error) ktesting.ReactionFunc {
			return func(ktesting.Action) (bool, runtime.Object, error) { requests.Add(1); return err != nil, nil, err }
		}
		w.there.PrependReactor("get", "namespaces", fail(tc.namespace))
		w.there.PrependReactor("list", "services", fail(tc.service))
		w.read(setup{}, func() int { return 0 })
		got, err := w.upstream.identity(t.Context())
		if (err != nil) != tc.fails {
			t.Errorf("%s: error = %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
