// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgotesting "k8s.io/client-go/testing"
)

// As long as that is unknown what exists, nothing may be decided by it.
func TestNothingIsKnownAtFirst(t *testing.T) {
	c := newCluster(t)
	if _, err := c.Watched().Find(t.Context(), trees, Query{}); err == nil {
		t.Error("a Set that does not run reports that there is nothing")
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
		t.Errorf("the end of the process is an error: %v", err)
	}
	close(block)
	c.settled(t)
}

// Kinds come and go. While one that was there is unavailable, nothing may be deleted for some time, or indefinitely.
func TestKindsComeAndGo(t *testing.T) {
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
		t.Error("hedges are watched, though there are no gardens")
	}
	c.serve(trees, true)
	c.serve(gardens, true)
	c.settled(t)
	if got := names(t, c.Watched(), trees, Query{}); len(got) != 1 {
		t.Errorf("a kind that came has %q", got)
	}
	if _, watch := c.watchOf(hedges); watch == nil {
		t.Error("hedges are not watched, though there are gardens")
	}

	// The API server knows it first.
	c.mu.Lock()
	c.served[trees] = false
	c.mu.Unlock()
	if _, err := c.Live(time.Hour).Find(t.Context(), trees, Query{}); err == nil {
		t.Error("a kind that has just been deleted has no objects")
	}
	c.serve(trees, false)
	c.serve(gardens, false)
	c.settled(t)
	if got := names(t, c.Watched(), trees, Query{}); got != nil {
		t.Errorf("a kind that has been deleted has %q", got)
	}
	if _, watch := c.watchOf(hedges); watch != nil {
		t.Error("hedges are still watched")
	}
	for patience, want := range map[time.Duration]string{
		time.Hour: "trees.example.com is not served any more: bring it back, or wait 1h0m0s after it was removed permanently",
		0:         "trees.example.com is not served any more: restore it, or restart the controller manager if it was removed permanently",
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
		t.Error("a kind that is never discarded is discarded after an hour")
	}
	c.serve(trees, true)
	c.settled(t)
	if _, err := c.Live(0).Find(t.Context(), trees, Query{}); err != nil {
		t.Errorf("it is back: %v", err)
	}
}

// A watch that fails is noticed, and managed soon.
func TestWatchFails(t *testing.T) {
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
		t.Errorf("the next check comes after %s", pause)
	}
}

func TestPauses(t *testing.T) {
	c := newCluster(t)
	c.run(t)
	c.settled(t)
	<-c.checks
	eventually(t, func() bool { return <-c.checks == time.Minute })
	c.serve(trees, errors.New("503"))
	if pause := <-c.checks; pause != retryPeriod {
		t.Errorf("after a failure the next check comes after %s", pause)
	}
}

// Who knows that kinds came or went need not wait for the next check.
func TestCheck(t *testing.T) {
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
		t.Error("before the first check it is known what is served")
	}
	c.run(t)
	c.settled(t)
	if served, err := c.Served(gardens); err != nil || served == nil || *served != gardens.WithVersion("v1") {
		t.Errorf("served: %v, %v", served, err)
	}
	c.serve(gardens, errors.New("503"))
	if _, err := c.Served(gardens); err == nil {
		t.Error("it is known what is served while discovery fails")
	}
	c.serve(gardens, false)
	if served, err := c.Served(gardens); err != nil || served != nil {
		t.Errorf("what is not served is %v, %v", served, err)
	}
}
