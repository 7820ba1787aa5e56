// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/test/plane"
)

// electedConfig is patientConfig with an election that is over soon, and that a busy machine does not lose.
var electedConfig = strings.Replace(patientConfig, "{leaderElect: false}", "{leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 250ms}", 1)

// takeover is a descent with two managers, each with a dedicated gate to the API server.
type takeover struct {
	*descent
	gates
	apiGates map[*plane.Process]*gate
	flags    map[*plane.Process][]string
}

// freeze stops the leader when as many deletions of a kind as it sends concurrently have arrived at a gate: none is on its way
// there then, past the fence and not sent yet. The server does them, and the responses come when the leader is thawed.
func (o *takeover) freeze(t *testing.T, at *gate, kind string, concurrent int) (frozen <-chan struct{}, thaw func()) {
	t.Helper()
	leader, _ := leaderOf(t, o.Managers)
	pid, thawed, stopped := leader.PID(), make(chan struct{}), make(chan struct{})
	if pid == 0 { // 0 would be this process
		t.Fatalf("%s has ended", leader.Name())
	}
	var mu sync.Mutex
	arrived := 0
	at.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, kind) {
			next.ServeHTTP(w, r)
			return
		}
		body(r) // all requests must have arrived
		mu.Lock()
		arrived++
		turn := arrived
		mu.Unlock()
		if turn > concurrent {
			next.ServeHTTP(w, r)
			return
		}
		if turn == concurrent {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			close(stopped)
		}
		select {
		case <-stopped:
		case <-thawed: // the test ended before all requests arrived
		}
		response := finish(r, next)
		<-thawed
		pass(w, response)
	})
	return stopped, sync.OnceFunc(func() {
		if leader.PID() == pid {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		close(thawed)
	})
}

// survives lets the leader be stopped in the midst of deletions, another one take over and come as far as it should, and then lets
// the old one continue. That writes nothing any more, and ends.
func (o *takeover) survives(t *testing.T, at *gate, kind string, concurrent int, begin func(), settled func()) {
	t.Helper()
	old, _ := leaderOf(t, o.Managers)
	pid := old.PID()
	frozen, thaw := o.freeze(t, at, kind, concurrent)
	defer thaw()
	begin()
	eventually(t, func(context.Context) error {
		select {
		case <-frozen:
			return nil
		default:
			return fmt.Errorf("%d of %s are not deleted immediately", concurrent, kind)
		}
	})
	next, _ := leaderOf(t, slices.DeleteFunc(slices.Clone(o.Managers), func(p *plane.Process) bool { return p == old }))
	t.Logf("%s is stopped at %s, %s leads", old.Name(), kind, next.Name())
	settled()
	written := func() string {
		// Others than Deorbit write to nothing but the API server, which knows automatically what is out of date.
		others := func(write string) bool { return !strings.HasSuffix(write, " kluster-deorbit-controller") }
		return strings.Join(slices.Concat(slices.DeleteFunc(o.apiGates[old].written(), others), o.clusterGate.written(), o.cloudGate.written()), "\n")
	}
	before := written()
	thaw()
	eventually(t, func(context.Context) error {
		if old.PID() == pid {
			return fmt.Errorf("%s continues", old.Name())
		}
		return nil
	})
	if after := written(); after != before {
		t.Errorf("before %s continued:\n%s\nand then:\n%s", old.Name(), before, after)
	}
	at.set(nil)
	if err := old.Start(t.Context(), o.flags[old]...); err != nil {
		t.Fatal(err)
	}
	if err := old.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDeorbitTakenOver pauses a leader while it deletes PersistentVolumeClaims, and the next one while it deletes resources in the
// cloud. When they continue, others have completed both, and the paused leaders must not write. No process is paused between the
// check of the fence and the request: a write that passed the check arrives.
func TestDeorbitTakenOver(t *testing.T) {
	t.Parallel()
	o := &takeover{descent: newDescent(t, func(p *plane.Options) { p.Managers = 2 }),
		apiGates: map[*plane.Process]*gate{}, flags: map[*plane.Process][]string{}}
	o.leftovers(t)
	o.gates = o.gated(t)
	for _, manager := range o.Managers {
		api, flag := newManagerGate(t, o.Plane)
		o.apiGates[manager], o.flags[manager] = api, []string{"--config=" + write(t, electedConfig), flag}
		if err := manager.Restart(t.Context(), o.flags[manager]...); err != nil {
			t.Fatal(err)
		}
	}
	o.standin.SetDead(true)
	for i := range 4 * cluster.Parallel { // more resources have to be deleted than are in progress
		o.o.create(pending("shop", fmt.Sprint("many-", i), "cinder"))
	}
	waits := func() {
		eventually(t, func(ctx context.Context) error {
			if err := o.c.Get(ctx, client.ObjectKeyFromObject(o.k), o.k); err != nil {
				return err
			}
			if at := o.k.Status.Deorbit; at.Stage != kubernikusv1.DeorbitWait || len(at.Remaining) == 0 {
				return fmt.Errorf("it is in %s, %+v remain", at.Stage, at.Remaining)
			}
			return nil
		})
	}
	const oneByOne = 1 // deletions in the cloud
	o.survives(t, o.clusterGate, "/persistentvolumeclaims/", cluster.Parallel, func() { o.remove(t) }, waits)
	o.survives(t, o.cloudGate, "/", oneByOne, func() { o.standin.SetDead(false) },
		func() { o.is(t, o.k, kubernikusv1.ConditionDeorbited, "True/Deorbited") })
	o.ended(t)
}

// ended checks the end.
func (o *takeover) ended(t *testing.T) {
	t.Helper()
	left := &corev1.PersistentVolumeClaimList{}
	if err := o.o.c.List(t.Context(), left); err != nil || len(left.Items) != 1 || left.Items[0].Name != "foreign" {
		t.Errorf("%v, %d claims are left", err, len(left.Items))
	}
	var names []string
	for _, what := range inCloud(o.cloud) {
		names = append(names, what)
	}
	if len(names) != 4 {
		t.Errorf("%v is left", names)
	}
	if len(o.k.Status.Deorbit.Remaining) > 0 {
		t.Errorf("leftovers %+v", o.k.Status.Deorbit.Remaining)
	}
	release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := o.c.Patch(t.Context(), &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: o.k.Namespace, Name: o.k.Name}}, release); err != nil {
		t.Error(err)
	}
}
