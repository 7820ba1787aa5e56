// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// impatientConfig gives up a cluster that nothing leads to in a moment.
const impatientConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
controllers:
  credentials: {allowPlainHTTP: true} # the cloud is on loopback
  kluster:
    enabled: true
    routeGC: {interval: 1h}
    deorbit: {pollInterval: 1s, apiUnavailableTimeout: 1s}
`

// breakage is how a cloud fails: it responds with a status, or cuts the connection when that is 0. What it does not hit passes.
type breakage struct {
	name   string
	hits   func(r *http.Request) bool
	status int
	count  atomic.Int32
}

// reads hits what is read below a path.
func reads(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, path) }
}

// either hits what one of two does.
func either(a, b func(*http.Request) bool) func(*http.Request) bool {
	return func(r *http.Request) bool { return a(r) || b(r) }
}

// login hits requests for a token.
func login(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/auth/tokens")
}

// broken returns a meddler of several breakages. The first one that hits a request counts.
func broken(all ...*breakage) meddler {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		for _, b := range all {
			if !b.hits(r) {
				continue
			}
			b.count.Add(1)
			if b.status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(b.status)
			_, _ = w.Write([]byte(`{"error": {"code": 1, "message": "broken by a test"}}`))
			return
		}
		next.ServeHTTP(w, r)
	}
}

// wreck is a Kluster that nothing leads into, with a cloud that breaks.
type wreck struct {
	*klusterPlane
	gate   *gate
	k      *kubernikusv1.Kluster
	secret *corev1.Secret
	// server has a volume, that therefore cannot go.
	server string
}

func newWreck(t *testing.T) *wreck {
	t.Helper()
	w := &wreck{klusterPlane: newKlusterPlane(t)}
	w.cloud = fake.New(fake.Options{PageSize: 2})
	t.Cleanup(w.cloud.Close)
	w.cloud.AddUser("gardener", "first", "garden")
	w.network = w.cloud.AddNetwork("10.0.0.0/24")
	w.router = w.cloud.AddRouter("garden", w.network)
	w.gate = newCloudGate(t, w.cloud)
	if err := w.Managers[0].Restart(t.Context(), "--config="+write(t, impatientConfig)); err != nil {
		t.Fatal(err)
	}
	w.k, w.secret = w.register(t, "web", "100.100.0.0/16")
	k := w.k
	w.edit(t, w.secret, func() { w.secret.Data = map[string][]byte{"clouds.yaml": w.gate.clouds()} })
	w.edit(t, k, func() {
		accept(k, w.gate)
		k.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete
		k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: time.Hour}
		k.Finalizers = append(k.Finalizers, keeper)
	})
	w.is(t, k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	tag := map[string]string{"cinder.csi.openstack.org/cluster": k.CSIClusterID()}
	w.server = w.cloud.AddServer("garden", w.network, "10.0.0.5", "ACTIVE")
	w.cloud.AddVolume("garden", fake.Volume{Name: "pinned", Metadata: tag, AttachedTo: []string{w.server}})
	for i := range 3 { // more than one page
		litter(w.cloud, k, fmt.Sprint("gone-", i))
	}
	w.cloud.AddVolume("garden", fake.Volume{Name: "another's", Metadata: map[string]string{"cinder.csi.openstack.org/cluster": "web-2"}})
	return w
}

// stands waits until Deorbit is in a stage.
func (w *wreck) stands(t *testing.T, stage kubernikusv1.DeorbitStage) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := w.c.Get(ctx, client.ObjectKeyFromObject(w.k), w.k); err != nil {
			return err
		}
		if at := w.k.Status.Deorbit; at == nil || at.Stage != stage {
			return fmt.Errorf("it is in %+v", at)
		}
		return nil
	})
}

// fails waits until a breakage was hit, and a check failed.
func (w *wreck) fails(t *testing.T, b *breakage) {
	t.Helper()
	const failures = "groundskeeper_deorbit_failures_total"
	eventually(t, func(context.Context) error {
		if b.count.Load() == 0 {
			return fmt.Errorf("%s: nothing was hit", b.name)
		}
		return nil
	})
	before := -1.0
	eventually(t, func(ctx context.Context) error {
		now, err := metric(ctx, w.Managers[0], failures)
		if err != nil {
			return err
		}
		if before < 0 {
			before = now
		}
		if now == before {
			return fmt.Errorf("%s: no look failed", b.name)
		}
		return nil
	})
}

// spared breaks the cloud in one way after the other, and checks that nothing is written. Each fault stays until the next one was
// hit, so that no check ever sees a working cloud; therefore the next one has to affect an earlier read.
func (w *wreck) spared(t *testing.T, all ...*breakage) {
	t.Helper()
	before := len(w.gate.written())
	for i, b := range all {
		now := []*breakage{b}
		if i > 0 {
			now = append(now, all[i-1])
		}
		w.gate.set(broken(now...))
		w.fails(t, b)
		if requests := w.gate.written()[before:]; len(requests) > 0 {
			t.Fatalf("%s: the cloud was requested to %v", b.name, requests)
		}
	}
}

// renew writes the credentials again, which ends the pause after they were rejected.
func (w *wreck) renew(t *testing.T, comment string) {
	t.Helper()
	w.edit(t, w.secret, func() { w.secret.Data["clouds.yaml"] = append([]byte("# "+comment+"\n"), w.gate.clouds()...) })
}

// has waits until the cloud has only what is to stay.
func (w *wreck) has(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if got := slices.Sorted(maps.Values(inCloud(w.cloud))); !slices.Equal(got, want) {
			return fmt.Errorf("the cloud has %v", got)
		}
		return nil
	})
}

// TestDeorbitBrokenCloud checks that a cloud that fails during Verify or Release causes no loss, whether a list fails, its second
// page, or the credentials expire; and that the remaining resources are deleted once the cloud works again.
func TestDeorbitBrokenCloud(t *testing.T) {
	t.Parallel()
	w := newWreck(t)
	const volumes, balancers, addresses = "/volume/v3/", "/load-balancer/", "/network/v2.0/floatingips"
	secondPage := func() *breakage {
		return &breakage{name: "second page", status: http.StatusInternalServerError,
			hits: func(r *http.Request) bool { return reads(volumes)(r) && r.URL.Query().Has("marker") }}
	}
	cut := func() *breakage { return &breakage{name: "cut", hits: reads(addresses)} }
	gateway := &breakage{name: "bad gateway", hits: reads(balancers), status: http.StatusBadGateway}
	revoked := &breakage{name: "revoked", hits: either(login, reads(balancers)), status: http.StatusUnauthorized}

	first := secondPage()
	w.gate.set(broken(first))
	if err := confirm(t.Context(), w.c, w.k); err != nil {
		t.Fatal(err)
	}
	if err := w.c.Delete(t.Context(), w.k); err != nil {
		t.Fatal(err)
	}
	w.stands(t, kubernikusv1.DeorbitVerify)
	w.spared(t, first, cut(), gateway, revoked)
	w.is(t, w.k, kubernikusv1.ConditionDeorbited, "False/CredentialsRefused")

	// With new ones it rechecks. These end at the first deletion, and no other one follows.
	requests := len(w.gate.written())
	var ended atomic.Bool
	late := &breakage{name: "revoked at a deletion", status: http.StatusUnauthorized, hits: func(r *http.Request) bool {
		if isWrite(r) {
			ended.Store(true)
		}
		return ended.Load()
	}}
	w.gate.set(broken(late))
	w.renew(t, "second")
	w.fails(t, late)
	if now := w.gate.written()[requests:]; len(now) != 1 || !strings.HasPrefix(now[0], "DELETE ") {
		t.Errorf("after the credentials ended the cloud was requested to %v", now)
	}
	w.gate.set(nil)
	w.renew(t, "third")
	w.has(t, "volume another's", "volume pinned")

	// In Release all of it is rechecked.
	w.edit(t, w.k, func() { w.k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: time.Second} })
	w.stands(t, kubernikusv1.DeorbitRelease)
	all := &breakage{name: "everything", hits: reads("/"), status: http.StatusInternalServerError}
	w.gate.set(broken(all))
	w.fails(t, all) // no earlier check sees a part of these
	litter(w.cloud, w.k, "late")
	last := secondPage()
	w.spared(t, last, cut())
	w.gate.set(nil)
	w.has(t, "volume another's", "volume pinned")
	w.cloud.RemoveServer(w.server, false)
	w.is(t, w.k, kubernikusv1.ConditionDeorbited, "True/Deorbited")
	w.has(t, "volume another's")
}
