// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// withoutElection lets a manager that replaces a killed one work immediately.
const withoutElection = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
`

// halt is at the gate of a controller manager and stops it before one of its writes: neither that write nor a later one arrives.
// Writes pass one after the other, so that exactly those before it have been performed.
type halt struct {
	// at selects the writes that count, and skip is how many of them pass.
	at      func(*http.Request) bool
	skip    int
	reached chan struct{}

	mu     sync.Mutex
	halted bool
}

func (h *halt) meddle(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isWrite(r) {
		next.ServeHTTP(w, r)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.halted && h.at(r) {
		if h.skip--; h.skip < 0 {
			h.halted = true
			close(h.reached)
		}
	}
	if h.halted {
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(w, r)
}

// finalizersRemoved: a user removes the finalizers of a drained backend that is being deleted. The controller manager is stopped at
// each moment of the deletion when that happens, so that the outcome does not depend on who is quicker. Whatever the moment, a route
// either has its former weights again or lacks the references, which can be restored from its record; none remains drained.
func (d *drainPlane) finalizersRemoved(t *testing.T) {
	gate, flag := newManagerGate(t, d.Plane)
	flags := []string{"--config=" + write(t, withoutElection), flag}
	route := func(r *http.Request) bool {
		return r.Method == http.MethodPut && slices.Contains([]string{"httpproxies", "httproutes"}, path.Base(path.Dir(r.URL.Path)))
	}
	for _, moment := range []struct {
		name string
		at   func(*http.Request) bool
		skip int
		// removed is how many of the two routes have lost their references then.
		removed int
	}{
		{name: "before the references are removed", at: route},
		{name: "after the first references are removed", at: route, skip: 1, removed: 1},
		{name: "before the copies are deleted", removed: 2, at: func(r *http.Request) bool {
			return r.Method == http.MethodDelete && path.Base(path.Dir(r.URL.Path)) == "services"
		}},
		{name: "before the finalizer is removed", removed: 2, at: func(r *http.Request) bool {
			return r.Method == http.MethodPatch && path.Base(path.Dir(r.URL.Path)) == "discoverybackends"
		}},
	} {
		t.Run(moment.name, func(t *testing.T) {
			s := d.newShop(t)
			before := []*unstructured.Unstructured{s.read(s.apply("user", proxyManifest)), s.read(s.apply("user", httpRouteManifest))}
			if err := s.Managers[0].Restart(t.Context(), flags...); err != nil {
				t.Fatal(err)
			}
			s.drain(s.us)
			stop := &halt{at: moment.at, skip: moment.skip, reached: make(chan struct{})}
			gate.set(stop.meddle)
			if err := errors.Join(confirm(t.Context(), s.c, s.us), s.c.Delete(t.Context(), s.us)); err != nil {
				t.Fatal(err)
			}
			select {
			case <-stop.reached:
			case <-time.After(time.Minute):
				t.Fatal("the deletion did not reach the moment")
			}
			if err := s.Managers[0].Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			gate.set(nil)
			if err := s.c.Patch(t.Context(), s.us, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
				t.Fatal(err)
			}
			if err := confirmDeleted(t.Context(), s.c, s.us); err != nil {
				t.Fatal(err)
			}
			var removed []*unstructured.Unstructured
			for _, route := range before {
				if !strings.Contains(fmt.Sprint(s.read(route).Object["spec"]), "us-web") {
					removed = append(removed, route)
				}
			}
			if len(removed) != moment.removed {
				t.Fatalf("routes without references = %d, want %d", len(removed), moment.removed)
			}
			if err := s.Managers[0].Start(t.Context(), flags...); err != nil {
				t.Fatal(err)
			}
			for _, route := range before {
				if !slices.Contains(removed, route) {
					s.unchanged(route)
				}
			}
			s.undoRemoval(removed)
			for _, route := range before {
				s.unchanged(route)
			}
		})
	}
	if err := d.Managers[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// undoRemoval creates the backend and its Service again and restores the references to it, as docs/backend-remove.md describes.
func (s *shop) undoRemoval(routes []*unstructured.Unstructured) {
	s.Helper()
	for _, route := range routes {
		if want := map[string]string{"HTTPProxy": "[-][30]", "HTTPRoute": "[1][30]"}[route.GetKind()]; weightsOf(s.read(route)) != want {
			s.Errorf("%s has the weights %s, want %s", route.GetKind(), weightsOf(s.read(route)), want)
		}
	}
	again := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: s.us.Namespace, Name: s.us.Name}, Cluster: s.us.Cluster}
	again.Cluster.ClusterStatus = gimbalv1.ClusterEnabled
	s.create(again)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "us-web"}}
	if err := s.c.Get(s.Context(), client.ObjectKeyFromObject(service), service); err != nil {
		s.service(again, "us-web")
	}
	if len(routes) == 0 {
		return
	}
	command := exec.CommandContext(s.Context(), s.Kubectl(), "groundskeeper", "restore-references", again.Name,
		"--kubeconfig", s.AdminKubeconfig(), "--namespace", again.Namespace, "--yes")
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(s.Kubectl())+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		s.Fatalf("restore-references: %v: %s", err, out)
	}
}

// finalizerComesBack: the API server restores the finalizer of a backend that is not being deleted, so that its deletion releases the
// routes even if a user removed it before.
func (s *shop) finalizerComesBack() {
	route := s.apply("user", httpRouteManifest)
	s.drain(s.us)
	if err := s.c.Patch(s.Context(), s.us, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		s.Fatal(err)
	}
	if !slices.Contains(s.us.Finalizers, gimbalv1.FinalizerName) {
		s.Errorf("finalizers = %v, want %s among them", s.us.Finalizers, gimbalv1.FinalizerName)
	}
	if err := errors.Join(confirm(s.Context(), s.c, s.us), s.c.Delete(s.Context(), s.us)); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, func(ctx context.Context) error { return confirmDeleted(ctx, s.c, s.us) })
	if got := weightsOf(s.read(route)); got != "[1][30]" {
		s.Errorf("weights = %s, want [1][30]", got)
	}
}
