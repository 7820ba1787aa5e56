// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// screen is what a command that runs has written so far.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *screen) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the text so far.
func (o *screen) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// watchStages runs "kubectl get --watch" until the test ends.
func (d *descent) watchStages(t *testing.T) *screen {
	t.Helper()
	out := &screen{}
	watch := exec.Command(d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), "get", "kluster", "--namespace", d.namespace, d.k.Name, "--watch")
	watch.Stdout, watch.Stderr = out, out
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = watch.Process.Kill()
		_ = watch.Wait()
	})
	eventually(t, func(context.Context) error {
		if !strings.Contains(out.String(), d.k.Name) {
			return errors.New("kubectl shows nothing")
		}
		return nil
	})
	return out
}

// TestDeorbitAnnounced checks that Deorbit first drains the traffic of an announced cluster, then withdraws the announcement, and
// only then changes anything in the cluster; and that columns, events and metrics report the progress.
func TestDeorbitAnnounced(t *testing.T) {
	t.Parallel()
	d := newDescent(t)
	a := &announcement{shop: &shop{drainPlane: &drainPlane{Plane: d.Plane, c: d.c}, T: t, namespace: d.namespace}, d: d.klusterPlane, k: d.k}
	a.kubectl(t, "apply", "--server-side", "-f", "testdata/crds", "--field-manager=installer")
	a.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	d.edit(t, d.k, func() {
		d.k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
		d.k.Finalizers = slices.DeleteFunc(d.k.Finalizers, func(f string) bool { return f == keeper })
	})
	d.is(t, d.k, kubernikusv1.ConditionAnnounced, "True/Announced")
	a.backend = &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: d.k.Name}}
	eu := a.shop.backend(discoveryNamespace, "eu")
	a.service(a.backend, "web-page")
	a.service(eu, "eu-page")
	a.route = a.apply("user", announcedRoute)
	a.has("synced", func(*gimbalv1.DiscoveryBackend) bool { return true })

	g := d.gated(t)
	var first sync.Once
	tooEarly := make(chan error, 1)
	g.clusterGate.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if isWrite(r) {
			first.Do(func() { tooEarly <- a.absent(r.Context()) })
		}
		next.ServeHTTP(w, r)
	})
	shown := d.watchStages(t)
	d.remove(t)
	a.kubectl(t, "wait", "--namespace", d.namespace, "--for=delete", "kluster/"+d.k.Name, "--timeout=180s")
	select {
	case err := <-tooEarly:
		if err != nil {
			t.Errorf("at the first write into the cluster: %v", err)
		}
	default:
		t.Error("nothing was ever written into the cluster")
	}
	a.weigh(`{"eu-page":30}`)
	if left := g.clusterGate.written(); len(left) == 0 {
		t.Error("no write was seen")
	}
	for _, words := range []string{"STAGE", "LEFTOVERS", "Terminating", "Drain", "Verify"} {
		eventually(t, func(context.Context) error {
			if !strings.Contains(shown.String(), words) {
				return fmt.Errorf("kubectl get --watch does not show %q but:\n%s", words, shown)
			}
			return nil
		})
	}
	a.reported(t)
}

// Complains while the backend is there, or a route still leads there.
func (a *announcement) absent(ctx context.Context) error {
	if err := confirmDeleted(ctx, a.c, a.backend); err != nil {
		return err
	}
	if weights := a.weights(); weights != `{"eu-page":30}` && weights != `{"eu-page":30,"web-page":0}` {
		return fmt.Errorf("the weights are %s", weights)
	}
	return nil
}

// Checks events and metrics of a Kluster that is deorbited.
func (a *announcement) reported(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := a.c.List(ctx, list, client.InNamespace(a.namespace)); err != nil {
			return err
		}
		reasons := map[string][]string{}
		for _, event := range list.Items {
			if event.Regarding.UID == a.k.UID {
				reasons[event.Reason] = append(reasons[event.Reason], event.Note)
			}
		}
		if len(reasons["DeorbitStarted"]) != 1 || len(reasons["DeorbitStage"]) < 5 || len(reasons["Deorbited"]) != 1 {
			return fmt.Errorf("events %v", reasons)
		}
		return nil
	})
	w := &workloads{klusterPlane: a.d}
	for series, want := range map[string]float64{
		`groundskeeper_deorbit_finished_total{outcome="leftovers"}`:         1,
		`groundskeeper_deorbit_duration_seconds_count`:                      1,
		`groundskeeper_deorbit_deleted_total{kind="PersistentVolumeClaim"}`: 3,
		`groundskeeper_deorbit_deleted_total{kind="Service"}`:               2,
		`groundskeeper_deorbit_klusters{stage="Release"}`:                   0,
		`groundskeeper_deorbit_leftovers_total{kind="Volume"}`:              1,
	} {
		w.becomes(t, series, want)
	}
}
