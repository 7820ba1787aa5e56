// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

// everythingConfig enables all controllers, with times that are short compared with the time between two kills.
const everythingConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 300ms}
controllers:
  credentials: {allowPlainHTTP: true} # the cloud is on loopback
  kluster:
    enabled: true
    routeGC: {interval: 2s, confirmAfter: 1s}
    deorbit: {pollInterval: 1s, stageTimeout: 10s, apiUnavailableTimeout: 3s, serviceGracePeriod: 1s}
  localVolume:
    storageClassNames: [` + managedClass + `]
    pvcDeletionDelay: 2s
    unknownNodeDeletionDelay: 2s
  translation:
    nodeGracePeriod: 2s
    push: {driftInterval: 2s}
    midonet: {timeout: 800ms}
`

// world is a plane with two controller managers and two API servers, a workload cluster, an OpenStack and a MidoNet.
type world struct {
	*plane.Plane
	c client.WithWatch
	// workload is another cluster: Klusters refer to it, and discoverers read it. An administrator's client of it is w.
	workload *plane.Plane
	w        client.WithWatch
	klusters *klusterPlane
	// copied is a backend whose Services discoverers copy from the workload cluster.
	copied *discovered
	ledger *ledger
	audit  string
	// over is closed when the killing has ended.
	over chan struct{}
}

// newWorld starts one.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{audit: filepath.Join(dir, "audit.log"), over: make(chan struct{}), workload: newWorkloadPlane(t)}
	w.w = patientClient(clientOf(t, w.workload.Config()))
	options := plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 2, Managers: 2, SharedEtcd: true, UnsafeNoFsync: true, MidoNet: true,
		Spread:             plane.CanSpread() == nil, // otherwise all requests reach the first API server
		ManagerConfig:      write(t, everythingConfig),
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write(t, auditPolicy), "--audit-log-path=" + w.audit},
		KubeControllers:    []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"},
	}
	started, err := startAudited(t.Context(), t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.Plane, w.c = started, patientClient(clientOf(t, started.Config()))
	applyArtifacts(t, started, "kluster", "local-volume")
	d := &drainPlane{Plane: started, c: w.c}
	d.kubectl(t, "apply", "--server-side", "-f", "testdata/crds", "--field-manager=installer")
	d.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
	cloud := fake.New(fake.Options{})
	t.Cleanup(cloud.Close)
	cloud.AddUser("gardener", "first", "garden")
	w.klusters = &klusterPlane{Plane: started, c: w.c, cloud: cloud, network: cloud.AddNetwork("10.0.0.0/24"), namespace: "klusters"}
	w.klusters.router = cloud.AddRouter("garden", w.klusters.network)
	cloud.AddServer("garden", w.klusters.network, "10.0.0.5", "ACTIVE")
	if err := w.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.klusters.namespace}}); err != nil {
		t.Fatal(err)
	}
	w.copied = w.newCopied(t)
	w.ledger = newLedger(t, started.Config(), cloud)
	return w
}

// translations changes Nodes, Pods, Services and EndpointSlices. MidoNet has to have exactly their Translations in the end.
func (l *life) translations() {
	s := &storm{network: &network{Plane: l.Plane, t: l.T, c: l.c}, random: l.random, services: map[string][]string{}}
	s.ns = s.namespace("storm")
	for i, name := range stormNodes() {
		s.node(name, fmt.Sprintf("10.1.%d.0/24", i), fmt.Sprintf("192.0.2.%d", i+1))
	}
	for l.proceed(150 * time.Millisecond) {
		s.change()
	}
	patiently(l.T, s.unsettled)
	translations, err := s.translations(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	l.Logf("%d changes, %d translations are in the backend", l.steps, len(translations))
}

// TestSoakEverything kills and pauses the processes of a plane, and of its workload cluster, while all controllers are at work:
// Projects, Klusters whose cluster responds or does not, routes in OpenStack, local volumes, backends in maintenance, Services that
// discoverers copy, and Translations. It checks that nothing that lives is deleted, that no object is deleted by the name of an earlier
// one, that drained routes are restored byte for byte, that OpenStack and MidoNet have exactly what they have to have, and that
// everything converges after the last kill.
func TestSoakEverything(t *testing.T) {
	rare(t)
	t.Parallel()
	w := newWorld(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	source := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	r := &reaper{Plane: w.Plane, workload: w.workload, c: w.c, ledger: w.ledger, dir: t.TempDir(), random: source(0), kills: map[string]int{}, lives: map[*plane.Process]int{},
		revoked: map[int]time.Time{}, exits: map[string]int{}, discoverers: discoverers{backend: w.copied}}
	for range 2 {
		if err := r.discover(&copier{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, manager := range w.Managers {
		if err := manager.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.start(t.Context(), manager); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	activities := map[string]func(*life){
		"projects": (*life).projects, "volumes": (*life).localVolumes, "backends": (*life).backends, "deleted klusters": (*life).deletedKlusters,
		"routes": (*life).routes, "translations": (*life).translations, "responding klusters": (*life).respondingKlusters,
		"discovered": (*life).discovered,
	}
	began := time.Now()
	for i, name := range slices.Sorted(maps.Keys(activities)) {
		group.Go(func() { // not parallel subtests: those may have to wait for each other
			t.Run(name, func(t *testing.T) {
				activities[name](&life{world: w, T: t, random: source(uint64(i + 1))})
			})
		})
	}
	kills := 0
	func() {
		defer close(w.over)
		for ; kills < rounds(t, 20) && !t.Failed(); kills++ {
			r.kill(t)
			if kills%50 == 49 {
				t.Logf("%d kills in %s", kills+1, time.Since(began).Round(time.Second))
			}
		}
	}()
	last := time.Now()
	r.supervised(t, group.Wait)
	converged := time.Since(last)
	patiently(t, r.resumed)
	w.ledger.check(t)
	if err := w.ledger.balances(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		r.report(t)
		return
	}
	(&network{Plane: w.Plane, t: t, c: w.c}).neverPanicked()
	late, err := r.late(w.audit)
	if err != nil {
		t.Fatal(err)
	}
	if inFlight := 3 * len(r.revoked); len(late) > inFlight { // what a paused process was just sending arrives when it resumes
		t.Errorf("former leaders sent %d writes to kube-apiserver after %d pauses:\n%s", len(late), len(r.revoked), strings.Join(late, "\n"))
	}
	t.Logf("%d kills in %s: %v; processes that ended automatically: %v", kills, last.Sub(began).Round(time.Second), r.kills, r.exits)
	t.Logf("created %v, deleted %v", w.ledger.created, w.ledger.deleted)
	t.Logf("converged %s after the last kill; %d writes of former leaders arrived at kube-apiserver", converged.Round(100*time.Millisecond), len(late))
}

// supervised revives managers and discoverers until something is done.
func (r *reaper) supervised(t *testing.T, wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if err := r.revive(t.Context()); err != nil {
				t.Error(err)
				<-done
				return
			}
			_ = r.resumed(t.Context()) // it is repeated
		}
	}
}

// report shows what the processes printed last.
func (r *reaper) report(t *testing.T) {
	t.Helper()
	t.Logf("kills: %v; processes that ended automatically: %v", r.kills, r.exits)
	for _, process := range slices.Concat(r.Managers, r.APIServers) {
		t.Logf("%s has pid %d and printed last:\n%s", process.Name(), process.PID(), strings.Join(process.Tail(30), "\n"))
	}
	for _, c := range r.running {
		lines := c.stderr.lines()
		t.Logf("the discoverer of life %d printed last:\n%s", c.life, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
}
