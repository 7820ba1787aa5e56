// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/remote"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// watched is a watch of the nodes of a cluster.
type watched struct {
	*localvolumetest.APIServer
	t           *testing.T
	nodeDeleted atomic.Int32
	health      *health
	news        atomic.Int32
}

func watch(t *testing.T, names ...string) *watched {
	t.Helper()
	w := &watched{t: t, APIServer: localvolumetest.NewAPIServer(t)}
	for _, name := range names {
		w.node(name)
	}
	w.health = &health{clock: clock.RealClock{}, changed: func() { w.news.Add(1) }}
	config := remote.Limited(w.Config(), remote.Options{})
	client, closeConnections, err := httpClient(config, w.health, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- watchNodes(ctx, config, client, func() { w.nodeDeleted.Add(1) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		closeConnections()
	})
	return w
}

func (w *watched) node(name string) { w.Put("nodes", `{metadata: {name: `+name+`, labels: {a: b}}}`) }

func (w *watched) isWatched() {
	w.t.Helper()
	eventually(w.t, "the nodes are watched", func() bool { return w.Watches("nodes") == 1 })
}

func (w *watched) wantDeleted(n int32) {
	w.t.Helper()
	eventually(w.t, "nodes have been deleted", func() bool { return w.nodeDeleted.Load() >= n })
	if got := w.nodeDeleted.Load(); got != n {
		w.t.Errorf("%d nodes have been deleted, want %d", got, n)
	}
}

// TestWatchNodes checks which events report a node that disappeared. Each case lasts as long as the pause before the next try.
func TestWatchNodes(t *testing.T) {
	t.Parallel()
	breaks := func(status int) func(*watched) {
		return func(w *watched) {
			w.Requests()
			w.Break(status)
			eventually(w.t, "a failure", func() bool { return len(w.Requests()) > 0 })
			w.Break(0)
		}
	}
	for name, test := range map[string]struct {
		happens func(*watched)
		want    int32
	}{
		"a heartbeat":                {func(w *watched) { w.node("a") }, 0},
		"a new node":                 {func(w *watched) { w.node("new") }, 0},
		"a deletion":                 {func(w *watched) { w.Remove("nodes", "a", false) }, 1},
		"many deletions":             {func(w *watched) { w.Remove("nodes", "a", false); w.Remove("nodes", "b", false) }, 2},
		"another one in its place":   {func(w *watched) { w.Remove("nodes", "a", true); w.node("a") }, 1},
		"a watch that ends":          {(*watched).Disconnect, 0},
		"missing in a new listing":   {func(w *watched) { w.Remove("nodes", "a", true); w.Disconnect() }, 1},
		"a restart":                  {breaks(http.StatusServiceUnavailable), 0},
		"an internal error":          {breaks(http.StatusInternalServerError), 0},
		"a permission that is taken": {breaks(http.StatusForbidden), 0},
		"credentials that are past":  {breaks(http.StatusUnauthorized), 0},
		"no nodes at all":            {breaks(http.StatusNotFound), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, "a", "b", "c")
			w.isWatched()
			test.happens(w)
			w.isWatched()
			w.Remove("nodes", "c", false) // notified after all else
			w.wantDeleted(test.want + 1)
		})
	}
}

// TestWatchNodesUnreachable checks that the pause between tries grows, so that an unresponsive cluster costs little.
func TestWatchNodesUnreachable(t *testing.T) {
	t.Parallel()
	w := watch(t, "a")
	w.isWatched()
	w.Close()
	eventually(t, "it is noticed", func() bool { return w.news.Load() == 1 })
	if got := w.nodeDeleted.Load(); got != 0 {
		t.Errorf("%d nodes have been deleted", got)
	}
}
