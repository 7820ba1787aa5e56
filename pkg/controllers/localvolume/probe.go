// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// prober reads Nodes live immediately before a deletion. A batch takes seconds, and a Node that is registered meanwhile is in neither
// the list of the batch nor, possibly, in a watch event. Deletions that wait for a probe share the next one, so that a batch costs a few
// requests for each as many deletions as there are worker threads.
type prober struct {
	site *Site
	// running is held by the probe that reads.
	running sync.Mutex
	// mu guards next, the probe that has not begun.
	mu   sync.Mutex
	next *probe
}

type probe struct {
	names sets.Set[string]
	// done is closed when nodes and err are final.
	done  chan struct{}
	nodes *nodeSet
	err   error
}

// around reads the Nodes that could be those with these names, in requests that begin after the call.
func (l *prober) around(ctx context.Context, names []string) (*nodeSet, error) {
	l.mu.Lock()
	leads := l.next == nil
	if leads {
		l.next = &probe{names: sets.New[string](), done: make(chan struct{})}
	}
	mine := l.next
	mine.names.Insert(names...)
	l.mu.Unlock()
	if leads {
		l.running.Lock()
		l.mu.Lock()
		l.next = nil // who comes from now on needs a probe that begins later
		l.mu.Unlock()
		mine.nodes, mine.err = l.site.findNodes(ctx, sets.List(mine.names))
		l.running.Unlock()
		close(mine.done)
	}
	<-mine.done
	return mine.nodes, mine.err
}

// findNodes reads the Nodes of these names, those that ever had one of them, and those that have one as a topology label. It lists,
// with selectors, and so needs no other permission than the list of all nodes.
func (s *Site) findNodes(ctx context.Context, names []string) (*nodeSet, error) {
	found := newNodeSet(s.Inventory.sources.all)
	read := func(selector client.ListOption) error {
		list := nodeMetadataList()
		if err := lists.Complete(s.Client).List(ctx, list, selector); err != nil {
			return fmt.Errorf("find the node immediately before a deletion: %w", err)
		}
		for i := range list.Items {
			found.set(&list.Items[i])
		}
		return nil
	}
	for _, node := range s.Inventory.everNamed(names) {
		if err := read(client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(nodeNameField, node)}); err != nil {
			return nil, err
		}
	}
	for _, key := range s.Inventory.sources.all {
		values := names
		if s.Inventory.mayLack(names, key) { // it may be a Node without the label, or with an empty one
			values = append(slices.Clone(names), "")
			lacks, err := labels.NewRequirement(key, selection.DoesNotExist, nil)
			if err != nil {
				return nil, fmt.Errorf("find the node immediately before a deletion: %w", err)
			}
			if err := read(client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*lacks)}); err != nil {
				return nil, err
			}
		}
		requirement, err := labels.NewRequirement(key, selection.In, values)
		if err != nil { // one of the names can be no label
			if err := read(client.HasLabels{key}); err != nil {
				return nil, err
			}
			continue
		}
		if err := read(client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*requirement)}); err != nil {
			return nil, err
		}
	}
	return found, nil
}
