// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// terminate ends the process as a rollout does, and waits for its end, which is not an error.
func (c *cleaner) terminate() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if code := c.exitCode(); code != 0 {
		c.t.Fatalf("exit code %d: %s", code, c.stderrText())
	}
}

// TestSoakDiscoverer kills discoverers as often as requested.
func TestSoakDiscoverer(t *testing.T) {
	if _, ok := soaktest.Requested(t); !ok {
		t.Skip("TestDiscoverer has some rounds of it")
	}
	newClusters(t).kills(t)
}

const servicesToKillAmong = 500

// kills: a discoverer that is killed in the middle of a first sync, at any moment, leaves nothing that the next one does
// not complete; nor does it matter when the kube-controller-manager of this cluster starts again meanwhile.
func (d *clusters) kills(t *testing.T) {
	v := d.discover(t, false)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < servicesToKillAmong; i += 8 {
				name := fmt.Sprintf("s%d", i)
				for _, object := range []client.Object{v.service(name), v.slice(name, "a", fmt.Sprintf("10.3.%d.%d", i/250, i%250+1))} {
					if err := v.b.Create(t.Context(), object); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	for round := range min(rounds(t, 2), 50) {
		events, err := v.c.Watch(t.Context(), &corev1.ServiceList{}, client.InNamespace(v.ns), client.MatchingLabels{gimbalv1.LabelBackend: v.name})
		if err != nil {
			t.Fatal(err)
		}
		seen := sets.New[string]()
		for copied := rand.IntN(servicesToKillAmong / 2); copied < servicesToKillAmong; copied += 1 + rand.IntN(servicesToKillAmong/2) {
			c := v.run()
			v.until(events, seen, copied)
			c.kill()
			v.release()
			t.Logf("round %d: killed at %d copies", round, copied)
		}
		events.Stop()
		c := v.run()
		manager := d.here.KubeControllerManager
		if err := errors.Join(manager.Kill(t.Context()), manager.Start(t.Context()), manager.Ready(t.Context())); err != nil {
			t.Fatal(err)
		}
		v.copied()
		v.leads(c)
		if found := v.versions(); len(found) != 2*servicesToKillAmong {
			t.Errorf("round %d: %d copies", round, len(found))
		}
		c.terminate()
		before, next := v.versions(), v.run() // it has nothing to do
		v.leads(next)
		if err := diffError(before, v.versions()); err != nil {
			t.Error(err)
		}
		next.terminate()
		for _, list := range []client.Object{&corev1.Service{}, &discoveryv1.EndpointSlice{}} {
			if err := v.c.DeleteAllOf(t.Context(), list, client.InNamespace(v.ns), client.MatchingLabels{gimbalv1.LabelBackend: v.name}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// until waits until so many copies were seen.
func (v *discovered) until(events watch.Interface, seen sets.Set[string], copies int) {
	v.t.Helper()
	for len(seen) < copies {
		select {
		case event := <-events.ResultChan():
			service, ok := event.Object.(*corev1.Service)
			if !ok {
				v.t.Fatalf("the watch ended: %+v", event)
			}
			seen.Insert(service.Name)
		case <-v.t.Context().Done():
			v.t.Fatal(v.t.Context().Err())
		}
	}
}

// pair: of two discoverers of a backend one writes. The other takes over immediately when the first ends, and when its lease is
// over when the first is killed.
func (d *clusters) pair(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	for _, account := range []string{"second", "third"} {
		v.authorize(account)
	}
	allow := "--namespaces-allow=" + v.ns
	first := v.runAs(discoverer, allow)
	v.leads(first)
	v.copied()
	before := v.versions()
	second := v.runAs("second", allow)
	eventually(t, func(context.Context) error { _, err := second.read("/readyz"); return err })
	v.create(v.b, v.service("one"))
	v.copied()
	if n := v.writesOf("second"); n > 0 {
		t.Errorf("the second one wrote %d times beside the first", n)
	}
	first.terminate()
	v.create(v.b, v.service("two"))
	v.copied()
	wrote := v.writesOf(discoverer)
	if v.writesOf("second") == 0 {
		t.Error("the second one did not take over")
	}

	third := v.runAs("third", allow)
	eventually(t, func(context.Context) error { _, err := third.read("/readyz"); return err })
	held := lease(v)
	if err := v.c.Get(t.Context(), client.ObjectKeyFromObject(held), held); err != nil {
		t.Fatal(err)
	}
	second.kill()
	renewed := held.Spec.RenewTime.Time
	v.create(v.b, v.service("three"))
	v.copied()
	for _, r := range v.requests(v.user("third")) {
		if over := renewed.Add(30 * time.Second); r.isWriteOfCopy() && r.RequestReceivedTimestamp.Time.Before(over) {
			t.Errorf("the third one wrote at %s, before the lease of the killed one was over at %s", r.RequestReceivedTimestamp, over)
		}
	}
	if v.writesOf(discoverer) != wrote || v.writesOf("third") == 0 {
		t.Error("the first one wrote after its end, or the third one never did")
	}
	now := v.versions()
	for key, version := range before {
		if now[key] != version {
			t.Errorf("%s was written in a hand-over", key)
		}
	}
}

// writesOf counts the writes of copies by an account.
func (v *discovered) writesOf(account string) int {
	v.t.Helper()
	count := 0
	for _, r := range v.requests(v.user(account)) {
		if r.isWriteOfCopy() {
			count++
		}
	}
	return count
}
