// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"slices"
	"testing"
)

// Who asks is told what there is and what happens, of the kinds that appear later too.
func TestTell(t *testing.T) {
	c := newCluster(t, tree("a", "oak"))
	c.served[gardens] = false
	tell := func(e Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		what := map[bool]string{true: "changed"}[e.Old != nil && e.New != nil]
		if e.Old == nil {
			what = "created"
		} else if e.New == nil {
			what = "deleted"
		}
		c.told = append(c.told, fmt.Sprintf("%s %s %s initial=%t", what, e.Resource.Resource, e.Object().Name, e.Initial))
	}
	c.Tell(tell, trees, gardens)
	c.run(t)
	c.settled(t)
	told := func(want string) {
		t.Helper()
		eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return slices.Contains(c.told, want)
		})
	}
	told("created trees oak initial=true")
	tracker := c.metadata.Tracker()
	resource := trees.WithVersion("v1")
	elm := tree("a", "elm")
	if err := tracker.Create(resource, elm, "a"); err != nil {
		t.Fatal(err)
	}
	told("created trees elm initial=false")
	elm = elm.DeepCopy()
	elm.ResourceVersion, elm.Generation = "8", 4
	if err := tracker.Update(resource, elm, "a"); err != nil {
		t.Fatal(err)
	}
	told("changed trees elm initial=false")
	if err := tracker.Delete(resource, "a", "elm"); err != nil {
		t.Fatal(err)
	}
	told("deleted trees elm initial=false")
	if err := c.dynamic.Tracker().Create(gardens.WithVersion("v1"), garden("a", "g", "oak"), "a"); err != nil {
		t.Fatal(err)
	}
	c.serve(gardens, true)
	told("created gardens g initial=true")
	// Whoever comes late is told what there is.
	late := make(chan string, 10)
	c.Tell(func(e Event) { late <- e.Object().Name + fmt.Sprint(e.Initial) }, trees)
	if got := <-late; got != "oaktrue" {
		t.Errorf("got %q", got)
	}
}
