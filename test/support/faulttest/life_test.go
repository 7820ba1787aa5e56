// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// sweeper is a loop that deletes the ConfigMaps with a label. Its flaws are what the oracles have to find.
type sweeper struct {
	client client.WithWatch
	fence  func() error
	// seen is what it has in memory: the ConfigMaps that it has deleted.
	seen map[string]bool

	byName, unfenced, trusting, greedy, restless bool
}

func (s *sweeper) step(ctx context.Context) error {
	list := &corev1.ConfigMapList{}
	selector := client.MatchingLabels{"doomed": "true"}
	if err := s.client.List(ctx, list, selector); err != nil {
		if !s.greedy {
			return err
		}
		if err := s.client.List(ctx, list); err != nil {
			return err
		}
	}
	if s.restless {
		if err := s.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "beat-"}}); err != nil {
			return err
		}
	}
	for i := range list.Items {
		if err := s.remove(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweeper) remove(ctx context.Context, object *corev1.ConfigMap) error {
	if s.trusting && s.seen[object.Name] {
		return nil
	}
	s.seen[object.Name] = true
	if err := s.fence(); err != nil && !s.unfenced {
		return err
	}
	uid, version := object.UID, object.ResourceVersion
	options := []client.DeleteOption{client.Preconditions{UID: &uid, ResourceVersion: &version}}
	if s.byName {
		options = nil
	}
	return client.IgnoreNotFound(s.client.Delete(ctx, object, options...))
}

// sweeping is a loop with this sweeper: two ConfigMaps are doomed, and one is not.
func sweeping(flaw func(*sweeper)) Loop {
	return Loop{Fenced: func(*Request) bool { return true }, Steps: 10, Start: func(t *testing.T, g *Gate) *Life {
		t.Helper()
		named := func(name, doomed string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "1", Labels: map[string]string{"doomed": doomed}}}
		}
		store := kubetest.New(t, named("a", "true"), named("b", "true"), named("c", "false"))
		var s *sweeper
		restart := func() {
			s = &sweeper{fence: g.Fence, seen: map[string]bool{}}
			flaw(s)
			if s.client = g.Live(store.Client(), store); s.byName {
				s.client = g.Live(store, store) // the other one rejects it
			}
		}
		restart()
		there := func() Inventory { return Objects(t, store, &corev1.ConfigMapList{}) }
		before := there()
		return &Life{
			Step: func(ctx context.Context) error { return s.step(ctx) }, Restart: restart,
			Acts: []Act{{Name: "sweep", Do: func() {}, Left: func() string {
				var left []string
				for name, uid := range there() {
					if name != "ConfigMap shop/c" && uid == "1" {
						left = append(left, name)
					}
				}
				return strings.Join(left, " ")
			}}},
			Check: func() error {
				return Living(before, there(), func(name string) bool { return name != "ConfigMap shop/c" })
			},
		}
	}}
}

// TestLoop checks that a loop without a flaw survives every fault.
func TestLoop(t *testing.T) { sweeping(func(*sweeper) {}).Test(t) }

// TestFlaws checks that some life of a loop with a flaw ends with an error.
func TestFlaws(t *testing.T) {
	for name, test := range map[string]struct {
		flaw func(*sweeper)
		want string
	}{
		"it deletes by name":                      {func(s *sweeper) { s.byName = true }, "ConfigMap shop/a of another client was deleted"},
		"it ignores its Lease":                    {func(s *sweeper) { s.unfenced = true }, "the process had lost its Lease"},
		"it takes a request for done":             {func(s *sweeper) { s.trusting = true }, "request lost at 2: sweep: it does not converge"},
		"it takes what it cannot list for doomed": {func(s *sweeper) { s.greedy = true }, "500 at 1: ConfigMap shop/c was deleted"},
		"it always writes":                        {func(s *sweeper) { s.restless = true }, "no fault at 0: sweep: it does not converge"},
	} {
		t.Run(name, func(t *testing.T) {
			loop := sweeping(test.flaw)
			log, err := loop.try(t, none, -1)
			found := []error{fmt.Errorf("no fault at 0: %w", orNone(err))}
			for _, fault := range Faults() {
				for i := range log {
					if !fault.concerns(&log[i], true) {
						continue
					}
					if _, err := loop.try(t, fault, i); err != nil {
						found = append(found, fmt.Errorf("%s at %d: %w", fault, i+1, err))
					}
				}
			}
			if all := errors.Join(found...).Error(); !strings.Contains(all, test.want) {
				t.Errorf("errors = %s, want %q", all, test.want)
			}
		})
	}
}

// TestSample checks that a short run has few lives, but each fault, at different requests.
func TestSample(t *testing.T) {
	for _, length := range []int{1, 7, 300} {
		log := make([]Request, length)
		for i := range log {
			log[i] = Request{Write: i%3 == 0, Verb: "patch", object: true, cached: true}
		}
		log[0].recreate = func() {}
		loop, lives, failed := Loop{Fenced: func(*Request) bool { return true }}, 0, map[int]bool{}
		for _, fault := range Faults() {
			sampled := loop.requests(log, fault, true)
			if len(sampled) == 0 {
				t.Errorf("%d requests: %s happens to none", length, fault)
			}
			for _, i := range sampled {
				if !fault.concerns(&log[i], true) {
					t.Errorf("%d requests: %s happens to request %d, which it does not concern", length, fault, i)
				}
				failed[i] = true
			}
			lives += len(sampled)
		}
		if lives > short+len(Faults()) || len(failed) < min(length, short/2) {
			t.Errorf("%d requests: %d lives with faults at %d requests", length, lives, len(failed))
		}
	}
}

// TestKilled checks that a process of before cannot send anything any more, and that its context has ended.
func TestKilled(t *testing.T) {
	g := newGate(KilledAfter, 0)
	ctx := g.begin(t.Context())
	g.arm()
	store := kubetest.New(t)
	former := g.Live(store, store)
	create := func(c client.Client, name string) error {
		return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
	}
	if err := create(former, "a"); !errors.Is(err, errEnded) || ctx.Err() == nil {
		t.Errorf("error = %v, context = %v, want that the process ends", err, ctx.Err())
	}
	if !store.Find(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}) {
		t.Error("the last request did not arrive")
	}
	if err := create(former, "b"); !errors.Is(err, errEnded) {
		t.Errorf("error = %v, want that a dead process sends nothing", err)
	}
	ctx = g.begin(t.Context())
	if err := create(former, "c"); !errors.Is(err, errEnded) || g.Fence() != nil || ctx.Err() != nil {
		t.Errorf("error = %v, fence = %v, want that only the next process sends", err, g.Fence())
	}
	if err := create(g.Live(store, store), "d"); err != nil {
		t.Error(err)
	}
	if got := len(g.Log()); got != 2 {
		t.Errorf("%d requests are recorded, want 2", got)
	}
}
