// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// blocked is a client whose lists are counted, and wait until they are let go.
type blocked struct {
	client.Client
	lists chan struct{}
	let   chan struct{}
}

func (b blocked) List(context.Context, client.ObjectList, ...client.ListOption) error {
	b.lists <- struct{}{}
	<-b.let
	return nil
}

// TestProbeIsShared checks that deletions that begin during a probe share the next one, and never use the one that began before them.
func TestProbeIsShared(t *testing.T) {
	const workers = 10
	inventory, _ := newTestInventory(t)
	c := blocked{lists: make(chan struct{}, 100), let: make(chan struct{})}
	l := &prober{site: &Site{Dependencies: Dependencies{Client: c}, Inventory: inventory}}
	var group sync.WaitGroup
	around := func(name string) {
		group.Go(func() {
			if _, err := l.around(t.Context(), []string{name}); err != nil {
				t.Error(err)
			}
		})
	}
	around("first")
	<-c.lists // its first request is under way
	for i := range workers {
		around(fmt.Sprintf("later-%d", i))
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.next != nil && l.next.names.Len() == workers, nil
	})
	if err != nil {
		t.Fatalf("the later deletions do not share a probe that has not begun: %v", err)
	}
	close(c.let)
	group.Wait()
	if got, want := 1+len(c.lists), 2+workers+1; got != want { // by name and by label, then by each name and by label
		t.Errorf("requests = %d, want %d", got, want)
	}
}
