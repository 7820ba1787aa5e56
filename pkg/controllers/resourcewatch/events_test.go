// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"fmt"
	"slices"
	"testing"
)

// A subscriber is notified of existing objects and of changes, also for kinds that are served later.
func TestSubscribe(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	c.served[gardens] = false
	notify := func(e Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		what := map[bool]string{true: "changed"}[e.Old != nil && e.New != nil]
		if e.Old == nil {
			what = "created"
		} else if e.New == nil {
			what = "deleted"
		}
		c.subscribers = append(c.subscribers, fmt.Sprintf("%s %s %s initial=%t", what, e.Resource.Resource, e.Object().Name, e.Initial))
	}
	c.Subscribe(notify, trees, gardens)
	c.run(t)
	c.settled(t)
	subscribers := func(want string) {
		t.Helper()
		eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return slices.Contains(c.subscribers, want)
		})
	}
	subscribers("created trees oak initial=true")
	tracker := c.metadata.Tracker()
	resource := trees.WithVersion("v1")
	elm := tree("a", "elm")
	if err := tracker.Create(resource, elm, "a"); err != nil {
		t.Fatal(err)
	}
	subscribers("created trees elm initial=false")
	elm = elm.DeepCopy()
	elm.ResourceVersion, elm.Generation = "8", 4
	if err := tracker.Update(resource, elm, "a"); err != nil {
		t.Fatal(err)
	}
	subscribers("changed trees elm initial=false")
	if err := tracker.Delete(resource, "a", "elm"); err != nil {
		t.Fatal(err)
	}
	subscribers("deleted trees elm initial=false")
	if err := c.dynamic.Tracker().Create(gardens.WithVersion("v1"), garden("a", "g", "oak"), "a"); err != nil {
		t.Fatal(err)
	}
	c.serve(gardens, true)
	subscribers("created gardens g initial=true")
	// A later subscriber is notified of the existing objects.
	late := make(chan string, 10)
	c.Subscribe(func(e Event) { late <- e.Object().Name + fmt.Sprint(e.Initial) }, trees)
	if got := <-late; got != "oaktrue" {
		t.Errorf("got %q", got)
	}
}
