// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// run runs a test in fake time, with replicas that have a certificate and keep it.
func run(t *testing.T, replicas int, test func(t *testing.T, c *cluster), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, objects...)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range replicas {
			k := c.keeper()
			if err := k.Prepare(ctx); err != nil {
				t.Fatal(err)
			}
			group.Go(func() { k.Run(ctx) })
		}
		synctest.Wait()
		if err := c.accepted(); err != nil {
			t.Fatal(err)
		}
		test(t, c)
		cancel()
		group.Wait()
	})
}

// pass lets time pass, and checks all the while that every client accepts every replica.
func (c *cluster) pass(t *testing.T, d, step time.Duration) {
	t.Helper()
	for ; d > 0; d -= step {
		time.Sleep(min(step, d))
		synctest.Wait()
		c.kube.ClearActions() // they would fill the memory
		c.objects.ClearActions()
		if err := c.accepted(); err != nil {
			t.Fatal(err)
		}
	}
}

// wake notifies replicas that something changed, as their watches would.
func (c *cluster) wake(t *testing.T) { t.Helper(); c.pass(t, resync, resync) }

func TestRotation(t *testing.T) {
	run(t, 2, func(t *testing.T, c *cluster) {
		first := c.current()
		if secret, targets := c.writes(); secret != 1 || targets != 3 {
			t.Errorf("the start took %d writes of the Secret and %d of targets", secret, targets)
		}
		c.pass(t, 6*24*time.Hour-time.Minute, 4*time.Hour)
		if secret, targets := c.writes(); secret != 1 || targets != 3 {
			t.Errorf("%d writes of the Secret, %d of targets while nothing was to be done", secret, targets)
		}
		c.pass(t, 5*time.Minute, 100*time.Millisecond)
		second := c.current()
		if second.current.equal(first.current) || second.next != nil || string(second.bundle) != string(second.current.ca) {
			t.Errorf("it was not replaced: %+v", second)
		}
		for i, k := range c.keepers {
			if !k.served.Load().equal(second.current) {
				t.Errorf("replica %d serves another one", i)
			}
		}
		// Staged, promoted, pruned. Each target is written for two bundles, by one replica or by both, and once more by a replica that
		// read the Secret before the other one wrote it.
		if secret, targets := c.writes(); secret != 4 || targets < 9 || targets > 21 {
			t.Errorf("the rotation took %d writes of the Secret and %d of targets", secret-1, targets-3)
		}
		c.pass(t, 7*24*time.Hour, 4*time.Hour)
		if c.current().current.equal(second.current) {
			t.Error("it was replaced only once")
		}
	})
}

// A client that receives the new certificate late is still accepted.
func TestRotationStepByStep(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		old := c.current().current
		c.pass(t, 6*24*time.Hour-time.Second, 4*time.Hour)
		c.pass(t, 2*time.Second, 10*time.Millisecond)
		staged := c.current()
		if !staged.current.equal(old) || staged.next == nil || len(split(staged.bundle)) != 2 {
			t.Fatalf("not staged: %+v", staged)
		}
		c.pass(t, 10*time.Second, 10*time.Millisecond)
		promoted := c.current()
		if !promoted.current.equal(staged.next) || promoted.next != nil || len(split(promoted.bundle)) != 2 {
			t.Fatalf("not promoted: %+v", promoted)
		}
		c.pass(t, time.Minute, 10*time.Millisecond)
		if pruned := c.current(); len(split(pruned.bundle)) != 1 || !pruned.current.equal(staged.next) {
			t.Fatalf("not pruned: %+v", pruned)
		}
	})
}

func TestReplicasStartConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var group sync.WaitGroup
		for range 8 {
			k := c.keeper()
			group.Go(func() {
				if err := k.Prepare(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for i, k := range c.keepers {
			if !k.served.Load().equal(c.current().current) {
				t.Errorf("replica %d serves another one", i)
			}
		}
		if secret, _ := c.writes(); secret != 1 {
			t.Errorf("%d writes of the Secret", secret)
		}
		if err := c.accepted(); err != nil {
			t.Error(err)
		}
	})
}

// TestSecretIsTampered checks that requests succeed whatever the content of the Secret, and that another certificate is served
// afterwards.
func TestSecretIsTampered(t *testing.T) {
	foreign, err := issue("tls", []string{host}, 90*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, how := range map[string]func(*corev1.Secret){
		"deleted":                nil,
		"emptied":                func(s *corev1.Secret) { s.Data = nil },
		"garbage":                func(s *corev1.Secret) { s.Data[corev1.TLSCertKey] = []byte("garbage") },
		"another key":            func(s *corev1.Secret) { s.Data[corev1.TLSPrivateKeyKey] = foreign.key },
		"without its CA":         func(s *corev1.Secret) { s.Data[bundleKey] = foreign.ca },
		"without any CA":         func(s *corev1.Secret) { delete(s.Data, bundleKey) },
		"with a pair of another": func(s *corev1.Secret) { p := foreignOnce(t); s.Data = (&state{current: p, bundle: p.ca}).data() },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(t *testing.T, c *cluster) {
				before := c.current().current
				c.edit(func(s *corev1.Secret) {
					if how != nil {
						how(s)
					}
				})
				if how == nil {
					c.edit(nil)
				}
				c.wake(t)
				c.pass(t, 2*time.Minute, 200*time.Millisecond)
				after := c.current()
				if after.current.equal(before) || after.next != nil || len(split(after.bundle)) != 1 {
					t.Errorf("it was not replaced: %+v", after)
				}
				for i, k := range c.keepers {
					if !k.served.Load().equal(after.current) {
						t.Errorf("replica %d serves another one", i)
					}
				}
			})
		})
	}
}

// TestForeignSecret checks that a Secret of another owner is neither served nor written.
func TestForeignSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.secret = &corev1.Secret{Data: map[string][]byte{"mine": []byte("x")}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.keeper().Prepare(ctx)
		if !errors.Is(err, errForeign) || !strings.Contains(err.Error(), "secret system/tls") {
			t.Errorf("got %v", err)
		}
		if secret, targets := c.writes(); secret+targets != 0 || string(c.secret.Data["mine"]) != "x" {
			t.Error("it was written")
		}
	})
}

// TestLateReplica checks that a replica that was unavailable while the others discarded its CA is accepted soon.
func TestLateReplica(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		late := c.keeper()
		late.serve(foreignOnce(t))
		if err := c.accepted(); err == nil {
			t.Fatal("the fixture has no effect")
		}
		if _, err := late.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.accepted(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		if _, err := late.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !late.served.Load().equal(c.current().current) {
			t.Error("it still serves its own")
		}
	})
}

func TestManualEditsAreCorrected(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		want := c.bundles()
		c.changeTarget(c.targets[0], func(o map[string]any) {
			o["spec"] = map[string]any{"service": map[string]any{"name": "server"}, "insecureSkipTLSVerify": true}
		})
		c.changeTarget(c.targets[2], func(o map[string]any) {
			delete(o["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any), "caBundle")
		})
		_, before := c.writes()
		time.Sleep(resync)
		synctest.Wait()
		for target, bundle := range c.bundles() {
			if bundle != want[target] {
				t.Errorf("%s was not corrected", target)
			}
		}
		if _, after := c.writes(); after != before+2 {
			t.Errorf("%d writes", after-before)
		}
	})
}

// TestServedResourcesAreInTheClient checks that the old certificate is served while the bundle of a client cannot be written.
func TestServedResourcesAreInTheClient(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		old := c.current().current
		c.mu.Lock()
		c.failWrites = true
		c.mu.Unlock()
		c.pass(t, 7*24*time.Hour, 4*time.Hour)
		if staged := c.current(); !staged.current.equal(old) || staged.next == nil {
			t.Fatalf("it continued: %+v", staged)
		}
		c.mu.Lock()
		c.failWrites = false
		c.mu.Unlock()
		c.pass(t, 2*time.Minute, 100*time.Millisecond)
		if c.current().current.equal(old) {
			t.Error("it does not continue")
		}
	})
}

// TestMissingTargets checks that a target that is created later receives the bundle, too, and that one that is never created blocks
// nothing.
func TestMissingTargets(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		if len(c.bundles()) != 1 {
			t.Fatalf("targets %v", c.bundles())
		}
		if err := c.objects.Tracker().Add(webhooks("hooks")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(resync)
		synctest.Wait()
		if err := c.accepted(); err != nil || len(c.bundles()) != 3 {
			t.Error(err, len(c.bundles()))
		}
	}, apiService("v1.a"))
}

// TestStartsWithAnExpiredCertificate checks that a process that starts after the certificate expired issues another one.
func TestStartsWithAnExpiredCertificate(t *testing.T) {
	run(t, 0, func(t *testing.T, c *cluster) {
		if err := c.keeper().Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		old := c.current().current
		time.Sleep(100 * 24 * time.Hour)
		c.keepers = nil
		fresh := c.keeper()
		if err := fresh.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if served := fresh.served.Load(); served.equal(old) || !served.valid(time.Now()) {
			t.Error("it serves the old one")
		}
		if err := c.accepted(); err != nil {
			t.Error(err)
		}
	})
}

// TestAnotherHost checks that a new host of the server is covered by the next certificate.
func TestAnotherHost(t *testing.T) {
	run(t, 1, func(t *testing.T, c *cluster) {
		other := c.keeper()
		other.options.Hosts = []string{host, "other"}
		if err := other.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next := c.current().next; next == nil || !next.covers(other.options.Hosts) {
			t.Error("the other host is not covered")
		}
	})
}

func TestNoCertificateYet(t *testing.T) {
	k := &Keeper{}
	if _, err := k.GetCertificate(nil); err == nil {
		t.Error("there is one")
	}
	if certificate, key := k.Current(); certificate != nil || key != nil {
		t.Error("there is one")
	}
}
