// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgotesting "k8s.io/client-go/testing"
)

// Readers return an error until the existing objects are known.
func TestFindFailsBeforeSync(t *testing.T) {
	c := newCluster(t)
	if _, err := c.Watched().Find(t.Context(), trees, Query{}); err == nil {
		t.Error("Find of a Set that was not started: no error")
	}
	block := make(chan struct{})
	c.metadata.PrependReactor("list", "trees", func(clientgotesting.Action) (bool, runtime.Object, error) {
		<-block
		return false, nil, nil
	})
	c.run(t)
	if err := c.Settled(t.Context(), gardens); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Watched().Find(t.Context(), trees, Query{}); err == nil || err.Error() != "not all trees.example.com are known yet" {
		t.Errorf("got %v", err)
	}
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if err := c.Settled(expired, trees, gardens); err == nil || err.Error() != "the API server does not respond for trees.example.com" {
		t.Errorf("got %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := c.Settled(stopped, trees); err != nil {
		t.Errorf("Settled with a canceled context: %v, want no error", err)
	}
	close(block)
	c.settled(t)
}

// Kinds are installed and removed. A kind that is no longer served is an error for the duration of patience.
func TestKindsAreInstalledAndRemoved(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	c.served = map[schema.GroupResource]any{trees: false, gardens: false, hedges: true}
	c.run(t)
	c.settled(t)
	for name, reader := range map[string]Reader{"watched": c.Watched(), "live": c.Live(0)} {
		if got := names(t, reader, trees, Query{}); got != nil {
			t.Errorf("%s: a kind that is not served has %q", name, got)
		}
	}
	if _, watch := c.watchOf(hedges); watch != nil {
		t.Error("hedges are watched while gardens are not served")
	}
	idle := []string{"gardens.example.com is not served", "hedges.example.com is not watched, because the cluster does not serve gardens.example.com", "trees.example.com is not served"}
	if diff := cmp.Diff(idle, slices.Sorted(slices.Values(c.Idle()))); diff != "" {
		t.Errorf("Idle (-want +got):\n%s", diff)
	}
	c.serve(trees, true)
	c.serve(gardens, true)
	c.settled(t)
	if got := names(t, c.Watched(), trees, Query{}); len(got) != 1 {
		t.Errorf("objects of the installed kind = %q", got)
	}
	if _, watch := c.watchOf(hedges); watch == nil {
		t.Error("hedges are not watched while gardens are served")
	}

	// Discovery reports it before the watch ends.
	c.mu.Lock()
	c.served[trees] = false
	c.mu.Unlock()
	if _, err := c.Live(time.Hour).Find(t.Context(), trees, Query{}); err == nil {
		t.Error("Find of a kind that was just removed: no error")
	}
	c.serve(trees, false)
	c.serve(gardens, false)
	c.settled(t)
	if got := names(t, c.Watched(), trees, Query{}); got != nil {
		t.Errorf("objects of a removed kind = %q, want none", got)
	}
	if _, watch := c.watchOf(hedges); watch != nil {
		t.Error("hedges are still watched")
	}
	for patience, want := range map[time.Duration]string{
		time.Hour: "trees.example.com is no longer served: restore it, or wait 1h0m0s if it was removed permanently",
		0:         "trees.example.com is no longer served: restore it, or restart the controller manager if it was removed permanently",
	} {
		if _, err := c.Live(patience).Find(t.Context(), trees, Query{}); err == nil || err.Error() != want {
			t.Errorf("patience %s: %v", patience, err)
		}
	}
	c.time.SetTime(c.time.Now().Add(time.Hour))
	if _, err := c.Live(time.Hour).Find(t.Context(), trees, Query{}); err != nil {
		t.Errorf("after an hour: %v", err)
	}
	if _, err := c.Live(0).Find(t.Context(), trees, Query{}); err == nil {
		t.Error("without patience, Find succeeds after an hour")
	}
	c.serve(trees, true)
	c.settled(t)
	if _, err := c.Live(0).Find(t.Context(), trees, Query{}); err != nil {
		t.Errorf("Find of the kind after it was installed again: %v", err)
	}
}

// A failed watch triggers a check of discovery soon. Its reason is logged once, as long as it stays the same.
func TestFailedWatchTriggersDiscovery(t *testing.T) {
	c := newCluster(t)
	c.metadata.PrependReactor("list", "trees", func(clientgotesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("trees is forbidden")
	})
	c.run(t)
	eventually(t, func() bool {
		_, err := c.Watched().Find(t.Context(), trees, Query{})
		return err != nil && err.Error() == "list trees.example.com: trees is forbidden"
	})
	if pause := <-c.checks; pause != retryPeriod {
		t.Errorf("interval until the next check = %s, want %s", pause, retryPeriod)
	}
	for range 3 {
		<-c.checks
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reasons := slices.DeleteFunc(slices.Clone(c.logged), func(line string) bool { return !strings.Contains(line, "trees is forbidden") })
	if len(reasons) != 1 || !strings.Contains(reasons[0], "list trees.example.com") {
		t.Errorf("logged %q, want the reason once", reasons)
	}
}

func TestCheckIntervals(t *testing.T) {
	c := newCluster(t)
	c.run(t)
	c.settled(t)
	<-c.checks
	eventually(t, func() bool { return <-c.checks == time.Minute })
	c.serve(trees, errors.New("503"))
	if pause := <-c.checks; pause != retryPeriod {
		t.Errorf("interval after a failed check = %s, want %s", pause, retryPeriod)
	}
}

// Recheck starts a check before the interval is over.
func TestRecheck(t *testing.T) {
	c := newCluster(t)
	c.run(t)
	c.settled(t)
	eventually(t, func() bool { return <-c.checks == time.Minute })
	c.Recheck()
	eventually(t, func() bool { return <-c.checks == retryPeriod })
}

func TestServed(t *testing.T) {
	c := newCluster(t)
	if _, err := c.Served(gardens); err == nil {
		t.Error("Served before the first check: no error")
	}
	c.run(t)
	c.settled(t)
	if served, err := c.Served(gardens); err != nil || served == nil || *served != gardens.WithVersion("v1") {
		t.Errorf("served: %v, %v", served, err)
	}
	c.serve(gardens, errors.New("503"))
	if _, err := c.Served(gardens); err == nil {
		t.Error("Served while discovery fails: no error")
	}
	c.serve(gardens, false)
	if served, err := c.Served(gardens); err != nil || served != nil {
		t.Errorf("Served of a kind that is not served = %v, %v, want nil", served, err)
	}
}
