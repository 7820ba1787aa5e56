// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/audit"
)

// TestRotation checks that a backend is created, discovered, and gets new credentials while it is in use.
func TestRotation(t *testing.T) {
	t.Parallel()
	b := newBackend(t, "rotated", "rotated-first")
	b.publish(t, "web")
	b.copied(t, "web")
	b.works(t)
	here.kubectl(t, "wait", "--for=condition=Discovered", "--timeout=60s", "dbe/"+b.name, "-n", adminNamespace)
	old, before := b.onlyPod(t, ""), len(b.copyWrites(t))
	seen := b.observe(t)

	change(t, here, b.secret, func(s *corev1.Secret) { s.Data["config"] = kubeconfigOf(t, "rotated-second") })
	b.publish(t, "during")
	b.copied(t, "during")
	b.onlyPod(t, old.Name)
	deleted := time.Now()
	b.publish(t, "after")
	b.copied(t, "after")
	b.works(t)

	unready, holders := seen()
	if unready > 0 {
		t.Errorf("there was no ready pod at %d moments", unready)
	}
	if len(holders) != 2 || !strings.HasPrefix(holders[0], old.Name) {
		t.Errorf("the Lease was held by %q, want the old pod and then the new one", holders)
	}
	created := map[string]int{}
	for _, r := range b.copyWrites(t)[before:] {
		if r.Verb != "create" {
			t.Errorf("a %s of %s %s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Name)
		}
		created[r.ObjectRef.Resource]++
	}
	if created["services"] != 2 || created["endpointslices"] != 2 {
		t.Errorf("two services were created in the backend, and here %v", created)
	}
	used := func(user string) int {
		return len(there.requests(t, func(r audit.Event) bool { return r.User.Username == user && r.Received.After(deleted) }))
	}
	eventually(t, func(context.Context) error { // it queries the backend every two seconds
		if used("rotated-second") == 0 {
			return errors.New("no client uses the new credentials")
		}
		return nil
	})
	if count := used("rotated-first"); count > 0 {
		t.Errorf("since the old pod has been deleted, there were %d requests with the old credentials", count)
	}
}

// observe watches the pods and the Lease. The function returned ends that, and returns at how many moments no pod was ready, and
// who held the Lease, one after the other.
func (b *backend) observe(t *testing.T) (seen func() (unready int, holders []string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, unready, holders := map[string]bool{}, 0, []string(nil)
	var group sync.WaitGroup
	follow := func(list client.ObjectList, note func(watch.Event), options ...client.ListOption) {
		events, err := here.Watch(ctx, list, append(options, client.InNamespace(adminNamespace))...)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for event := range events.ResultChan() {
				note(event)
			}
		})
	}
	// A watch begins with the existing objects.
	follow(&corev1.PodList{}, func(event watch.Event) {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return
		}
		ready[pod.Name] = event.Type != watch.Deleted && isReady(pod)
		if !slices.Contains(slices.Collect(maps.Values(ready)), true) {
			unready++
		}
	}, client.MatchingLabels{"app.kubernetes.io/instance": b.name})
	follow(&coordinationv1.LeaseList{}, func(event watch.Event) {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if !ok || lease.Name != b.name+"-discoverer" || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return
		}
		if holder := *lease.Spec.HolderIdentity; len(holders) == 0 || holders[len(holders)-1] != holder {
			holders = append(holders, holder)
		}
	})
	return func() (int, []string) {
		cancel()
		group.Wait()
		return unready, holders
	}
}

// TestUnusableSecrets checks that unusable Secrets do not stop a running discoverer.
func TestUnusableSecrets(t *testing.T) {
	t.Parallel()
	b := newBackend(t, "refused", "refused-user")
	b.publish(t, "web")
	b.copied(t, "web")
	b.works(t)
	pod := b.onlyPod(t, "")
	good := b.secret.Data["config"]
	continues := func(name string) {
		t.Helper()
		b.publish(t, name)
		b.copied(t, name)
		pods, err := b.pods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == pod.UID && isReady(&p) }) {
			t.Errorf("the pod that worked is not among %d", len(pods))
		}
	}
	set := func(config []byte) {
		t.Helper()
		change(t, here, b.secret, func(s *corev1.Secret) { s.Data["config"] = config })
	}

	set(rejectedKubeconfig(t, good))
	b.becomes(t, "CredentialsValid=False/Refused", "Available=True/RollingOut")
	if message := b.complains(t); !strings.Contains(message, "put valid ones into the Secret") {
		t.Errorf("the error does not help: %s", message)
	}
	continues("refused")
	set(good)
	b.works(t)

	set([]byte("broken"))
	b.becomes(t, "CredentialsValid=False/SecretInvalid", "Available=True/DiscovererRunning")
	continues("broken")
	set(good)
	b.works(t)

	if err := here.Delete(t.Context(), b.secret); err != nil {
		t.Fatal(err)
	}
	b.becomes(t, "CredentialsValid=False/SecretMissing", "Available=True/DiscovererRunning")
	continues("missing")
	create(t, here, secretOf(b.name, good))
	b.works(t)
}
