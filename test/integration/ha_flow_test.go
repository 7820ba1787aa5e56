// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// ha is a plane as artifacts/install/high-availability makes one: two API servers over which the aggregator spreads
// requests, two managers, three members of etcd.
type ha struct {
	*plane.Plane
	t      *testing.T
	client client.WithWatch
	load   *haLoad
	// deletions are those of namespaces that have begun.
	deletions sync.WaitGroup
}

// TestHighAvailability runs two replicas of each process and three of etcd, which authenticates its users, with continuous client load,
// and stops, freezes and kills processes. It checks that writes fail only with errors that clients retry, that acknowledged writes are
// stored, that watches continue, and that namespaces of the management cluster can be deleted.
func TestHighAvailability(t *testing.T) {
	rare(t)
	if err := plane.CanSpread(); err != nil {
		t.Skip(err)
	}
	h := &ha{t: t, Plane: startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 2, Managers: 2, Spread: true, EtcdMembers: 3,
		// As in artifacts/install/base, with less patience: here it takes a second at most until no client queries it any more.
		APIServerFlags: []string{"--shutdown-delay-duration=5s", "--shutdown-send-retry-after", "--etcd-compaction-interval=0"},
	})}
	h.etcdHasUsers(t)
	h.client = clientOf(t, h.Config())
	if err := h.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ha-load"}}); err != nil {
		t.Fatal(err)
	}
	applied(t, h.client, artifact("install", "high-availability", "etcd-certificates.yaml"))
	watches := newWatches(t, h.Config())
	h.load = newLoad(t, h.client, "ha-load")
	end := sync.OnceFunc(h.load.end)
	defer func() { end(); h.deletions.Wait() }()
	h.load.continues(t, 10)
	if writes, reads := h.load.takeRepeated(); len(writes) > 0 || reads > 0 {
		t.Errorf("before anything happened, %d reads and these writes were repeated: %v", reads, writes)
	}

	h.during(t, "API servers restart", h.apiserversRestart)
	h.during(t, "API servers are killed", h.apiserversAreKilled)
	h.during(t, "a member of etcd freezes", h.etcdMemberFreezes)
	h.during(t, "etcd loses members", h.etcdLosesMembers)
	h.during(t, "managers restart", h.managersRestart)
	h.during(t, "a manager is killed", h.managerIsKilled)

	h.deletions.Wait()
	end()
	for _, worker := range h.load.workers {
		t.Logf("%s: %d writes, %d objects exist, %d were deleted", worker.kind.kind, worker.writes.Load(), len(worker.existing), len(worker.deleted))
		if err := within(t, 3*time.Minute, worker.complete); err != nil {
			t.Error(err)
		}
		if err := within(t, time.Minute, func(context.Context) error { return watches.sees(worker) }); err != nil {
			t.Error(err)
		}
	}
	h.membersAgree(t)
	h.certificatesAreMade(t)
}

// within waits that long until a condition holds, and returns its last complaint when it does not.
func within(t *testing.T, limit time.Duration, condition func(ctx context.Context) error) error {
	t.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		if now := condition(ctx); now == nil || last == nil || ctx.Err() == nil {
			last = now
		}
		return last == nil, nil
	}); err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// during does something to the plane under load, while a namespace of the host is deleted. The load continues in between and
// afterwards.
func (h *ha) during(t *testing.T, what string, do func(t *testing.T)) {
	t.Helper()
	if t.Failed() {
		return
	}
	t.Run(what, func(t *testing.T) {
		h.deleteNamespace(t, what)
		began := time.Now()
		do(t)
		h.load.continues(t, 3)
		t.Logf("done after %s", time.Since(began).Round(100*time.Millisecond))
		writes, reads := h.load.takeRepeated()
		t.Logf("%d reads were repeated, and these writes: %v", reads, writes)
	})
}

// deleteNamespace begins the deletion of a namespace that has an object owned by Groundskeeper, which Groundskeeper's controllers
// have to let go.
func (h *ha) deleteNamespace(t *testing.T, during string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(t, "ha-doomed")}}
	backend := &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: namespace.Name},
		Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Credentials: "nobody"},
	}
	for _, object := range []client.Object{namespace, backend} {
		eventually(t, func(ctx context.Context) error {
			// One that failed may have been done even so.
			if err := h.client.Create(ctx, object); !apierrors.IsAlreadyExists(err) {
				return err
			}
			return h.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		})
	}
	if err := h.client.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	h.deletions.Go(func() {
		// The controller of namespaces tries again after 5 s, then after 10 s, 20 s, ...
		if err := within(h.t, 2*time.Minute, func(ctx context.Context) error { return confirmDeleted(ctx, h.client, namespace) }); err != nil {
			h.t.Errorf("while %s: %v", during, err)
		}
		h.t.Logf("while %s, namespace %s had been deleted after %s", during, namespace.Name, time.Since(began).Round(100*time.Millisecond))
	})
}

// apiserversRestart stops one API server after the other as a Deployment would: it is requested to end, is taken from the endpoints
// as soon as it reports that it is not ready, and the next one follows when its successor is.
func (h *ha) apiserversRestart(t *testing.T) {
	for _, server := range h.APIServers {
		began := time.Now()
		if err := server.Terminate(t.Context()); err != nil {
			t.Fatal(err)
		}
		drained := time.Since(began)
		restart(t, server)
		h.isEndpoint(t, server)
		t.Logf("%s drained for %s and was back after %s", server.Name(), drained.Round(100*time.Millisecond), time.Since(began).Round(100*time.Millisecond))
	}
	writes, reads := h.load.takeRepeated()
	if len(writes) > 0 || reads > 0 {
		t.Errorf("%d reads and these writes were repeated: %v", reads, writes)
	}
}

// isEndpoint waits until the aggregator may query an API server.
func (h *ha) isEndpoint(t *testing.T, server *plane.Process) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		slice := &discoveryv1.EndpointSlice{}
		if err := h.client.Get(ctx, client.ObjectKey{Namespace: "groundskeeper-system", Name: server.Name()}, slice); err != nil {
			return err
		}
		if ready := slice.Endpoints[0].Conditions.Ready; ready == nil || !*ready {
			return fmt.Errorf("%s is not ready in its EndpointSlice", server.Name())
		}
		return nil
	})
}

func (h *ha) apiserversAreKilled(t *testing.T) {
	for _, server := range h.APIServers {
		if err := server.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		h.load.continues(t, 3) // with the other one alone
		t.Logf("without %s it continued after %s", server.Name(), time.Since(began).Round(100*time.Millisecond))
		restart(t, server)
		h.isEndpoint(t, server)
	}
}

// etcdCertificates is given to managers that start once they are allowed to store them.
const etcdCertificates = "--etcd-certificates"

// managersRestart restarts the leading manager and then the other. A leader that is requested to end gives its Lease away.
func (h *ha) managersRestart(t *testing.T) {
	for range h.Managers {
		leader, others := leaderOf(t, h.Managers)
		began := time.Now()
		if err := leader.Terminate(t.Context()); err != nil {
			t.Fatal(err)
		}
		stopped := time.Since(began)
		now, _ := leaderOf(t, h.Managers)
		if len(others) != 1 || now != others[0] {
			t.Errorf("%s leads after %s ended", now.Name(), leader.Name())
		}
		t.Logf("%s ended after %s, and %s led after %s", leader.Name(), stopped.Round(100*time.Millisecond), now.Name(), time.Since(began).Round(100*time.Millisecond))
		restart(t, leader, etcdCertificates)
	}
}

// managerIsKilled kills the leading manager: the other takes over when the Lease ends.
func (h *ha) managerIsKilled(t *testing.T) {
	leader, _ := leaderOf(t, h.Managers)
	if err := leader.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	now, _ := leaderOf(t, h.Managers)
	if now == leader {
		t.Errorf("%s leads after it was killed", now.Name())
	}
	t.Logf("%s led after %s", now.Name(), time.Since(began).Round(100*time.Millisecond))
	restart(t, leader, etcdCertificates)
}
