// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

// patientConfig leaves no stage because nothing continues while no manager lives.
const patientConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
controllers:
  credentials: {allowPlainHTTP: true} # the cloud is on loopback
  kluster:
    enabled: true
    routeGC: {interval: 1h}
    deorbit: {pollInterval: 1s, serviceGracePeriod: 1s}
`

// killer is at all gates of a controller manager, and kills it at writes.
type killer struct {
	manager *plane.Process
	// choose returns what to do at a write that was tried so many times before.
	choose func(before int) moment

	mu     sync.Mutex
	tried  map[string]int
	deaths int
	// pending are the deaths that were decided and have not come yet; over: there will be no other.
	pending int
	over    bool
	// failed is why it could not be killed.
	failed error
}

// moment is when the manager dies.
type moment int

const (
	never moment = iota
	// beforehand: the server never sees the write.
	beforehand
	// afterwards: the server has performed the write, and the manager gets no response.
	afterwards
)

func (k *killer) meddle(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isWrite(r) {
		next.ServeHTTP(w, r)
		return
	}
	when := k.decide(identify(r))
	if when == never {
		next.ServeHTTP(w, r)
		return
	}
	if when == afterwards {
		finish(r, next)
	}
	k.kill()
	panic(http.ErrAbortHandler) // the server is not running
}

// decide returns the result of a write.
func (k *killer) decide(write string) moment {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return never
	}
	when := k.choose(k.tried[write])
	k.tried[write]++
	if when != never {
		k.pending++
	}
	return when
}

// kill kills the manager, unless another write has.
func (k *killer) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending--
	if k.manager.PID() == 0 {
		return
	}
	k.deaths++
	k.failed = errors.Join(k.failed, k.manager.Kill(context.Background()))
}

// revive starts the manager if it was killed, and returns how often it was.
func (k *killer) revive(ctx context.Context, flags ...string) (deaths int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed == nil && k.manager.PID() == 0 {
		k.failed = k.manager.Start(ctx, flags...)
	}
	return k.deaths, k.failed
}

// rest ends the killing. It complains until no process is about to be killed, and the manager is there.
func (k *killer) rest(ctx context.Context, flags ...string) error {
	k.mu.Lock()
	k.over = true
	pending := k.pending
	k.mu.Unlock()
	if pending > 0 {
		return fmt.Errorf("%d deaths are to come", pending)
	}
	if _, err := k.revive(ctx, flags...); err != nil {
		return err
	}
	return k.manager.Ready(ctx)
}

// identify distinguishes writes. What is written to a Kluster again and again differs by the stage, and by how much is known.
func identify(r *http.Request) string {
	text := body(r)
	id := strings.Join([]string{r.Method, r.URL.Path, r.URL.Query().Get("fieldManager")}, " ")
	if r.Method == http.MethodDelete && strings.Contains(text, `"gracePeriodSeconds":0`) {
		return id + " immediately"
	}
	k := &kubernikusv1.Kluster{}
	if json.Unmarshal([]byte(text), k) != nil || k.Status.Deorbit == nil {
		return id
	}
	status := k.Status.Deorbit
	return fmt.Sprint(id, " ", status.Stage, len(status.SeenVolumes), len(status.SeenServices), len(status.Remaining) > 0)
}

// doomed is a descent whose manager a killer watches.
type doomed struct {
	*descent
	gates
	apiGate *gate
	killer  *killer
	flags   []string
	// The resources that must be deleted from the cloud, and those that must remain, by ID.
	deletes, stays map[string]string
}

// newDoomed makes one with some of everything.
func newDoomed(t *testing.T, choose func(before int) moment) *doomed {
	t.Helper()
	d := &doomed{descent: newDescent(t)}
	d.o.pod("shop", "user", "lost-node", "data-0")
	d.leftovers(t)
	d.gates = d.gated(t)
	var flag string
	d.apiGate, flag = newManagerGate(t, d.Plane)
	d.flags = []string{"--config=" + write(t, patientConfig), flag}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s printed last:\n%s", d.Managers[0].Name(), strings.Join(d.Managers[0].Tail(60), "\n"))
		}
	})
	d.killer = &killer{manager: d.Managers[0], choose: choose, tried: map[string]int{}}
	d.sort(t)
	if err := d.Managers[0].Restart(t.Context(), d.flags...); err != nil {
		t.Fatal(err)
	}
	return d
}

// sort decides by the creator of a resource whether it has to be deleted from the cloud.
func (d *doomed) sort(t *testing.T) {
	t.Helper()
	kept := &corev1.PersistentVolumeClaim{}
	if err := d.o.c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "kept"}, kept); err != nil {
		t.Fatal(err)
	}
	survivors := []string{"volume another's", "volume " + kept.Spec.VolumeName, "load balancer kube_service_web-2_shop_web", "floating IP " + d.kept}
	d.deletes, d.stays = map[string]string{}, map[string]string{}
	for id, what := range inCloud(d.cloud) {
		if slices.Contains(survivors, what) {
			d.stays[id] = what
		} else {
			d.deletes[id] = what
		}
	}
	if len(d.stays) != len(survivors) {
		t.Fatalf("only %v would stay", d.stays)
	}
}

// goDown deletes the Kluster, and revives the manager until it is down.
func (d *doomed) goDown(t *testing.T) {
	t.Helper()
	deaths := 0
	for _, g := range []*gate{d.clusterGate, d.cloudGate, d.apiGate} {
		g.set(d.killer.meddle)
	}
	d.remove(t)
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		var failed error
		if deaths, failed = d.killer.revive(ctx, d.flags...); failed != nil {
			return false, failed
		}
		if last = d.c.Get(ctx, client.ObjectKeyFromObject(d.k), d.k); last != nil {
			return false, nil
		}
		last = fmt.Errorf("after %d deaths it is in %+v", deaths, d.k.Status.Deorbit)
		return !d.k.HasDeorbiter(), nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
	eventually(t, func(ctx context.Context) error { return d.killer.rest(ctx, d.flags...) })
	t.Logf("%d writes, %d deaths", len(d.killer.tried), deaths)
}

// down checks that the end is what it is without any death.
func (d *doomed) down(t *testing.T) {
	t.Helper()
	d.is(t, d.k, kubernikusv1.ConditionDeorbited, "True/Deorbited")
	left := inCloud(d.cloud)
	for id, what := range d.deletes {
		if left[id] != "" {
			t.Errorf("%s is left in the cloud", what)
		}
	}
	for id, what := range d.stays {
		if left[id] == "" {
			t.Errorf("%s has been deleted from the cloud", what)
		}
	}
	d.routesAre(t, fake.Route{Destination: "192.168.0.0/24", NextHop: "10.0.0.5"})
	for _, write := range d.cloudGate.written() {
		id := path.Base(strings.TrimSuffix(write, "/remove_extraroutes"))
		if d.deletes[id] == "" && id != d.router {
			t.Errorf("the cloud was requested to %s: %s", write, d.stays[id])
		}
	}
	if status := d.k.Status.Deorbit; len(status.Remaining) > 0 {
		t.Errorf("leftovers %+v", status.Remaining)
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := d.o.c.List(t.Context(), volumes); err != nil || len(volumes.Items) != 1 || volumes.Items[0].Spec.StorageClassName != "kept" {
		t.Errorf("%v, volumes of the cluster: %+v", err, volumes.Items)
	}
	foreign := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "foreign"}}
	if err := d.o.c.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || !foreign.DeletionTimestamp.IsZero() {
		t.Errorf("a claim of another driver was touched: %v", err)
	}
	d.edit(t, d.k, func() { d.k.Finalizers = nil })
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, d.k) })
}

// TestDeorbitKilledAtEveryWrite kills the manager twice at each write of a Deorbit to the cluster, the cloud and the API server:
// before the write, and after it but before the response. The result must be the same.
func TestDeorbitKilledAtEveryWrite(t *testing.T) {
	rare(t)
	t.Parallel()
	d := newDoomed(t, func(before int) moment {
		switch before {
		case 0:
			return beforehand
		case 1:
			return afterwards
		default:
			return never
		}
	})
	d.goDown(t)
	d.down(t)
	kinds := map[string]bool{}
	for write := range d.killer.tried {
		kinds[kindOf(write)] = true
	}
	for _, kind := range []string{
		"PATCH validatingadmissionpolicies", "PATCH validatingadmissionpolicybindings", "DELETE persistentvolumeclaims", "DELETE pods", "DELETE services",
		"DELETE volumes", "DELETE snapshots", "DELETE loadbalancers", "DELETE floatingips", "DELETE security-groups", "PUT routers", "PATCH klusters",
	} {
		if !kinds[kind] {
			t.Errorf("there was no %s to die at, only %v", kind, d.killer.tried)
		}
	}
}

// kindOf returns the method and the kind of objects of a write that identify made.
func kindOf(write string) string {
	method, rest, _ := strings.Cut(write, " ")
	address, _, _ := strings.Cut(rest, " ")
	for _, sub := range []string{"/status", "/remove_extraroutes"} {
		address = strings.TrimSuffix(address, sub)
	}
	return method + " " + path.Base(path.Dir(address))
}

// TestSoakDeorbitKilled kills the manager at random, while the cloud controllers are slow and fail.
func TestSoakDeorbitKilled(t *testing.T) {
	t.Parallel()
	for round := range rounds(t, 0) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			d := newDoomed(t, func(int) moment {
				return []moment{never, never, beforehand, afterwards}[rand.IntN(4)] //nolint:gosec // any number will do
			})
			d.standin.SetDelay(time.Duration(rand.IntN(2000)) * time.Millisecond) //nolint:gosec // any number will do
			d.standin.FailNext("PersistentVolume", rand.IntN(5))                  //nolint:gosec // any number will do
			d.standin.FailNext("Service", rand.IntN(5))                           //nolint:gosec // any number will do
			d.goDown(t)
			d.down(t)
		})
	}
}
