// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// withdrawalPause is how long after the deletion of a ServiceExport the others are listed before its copy is deleted, or listed again
// when that failed.
const withdrawalPause = 10 * time.Second

// withdrawn are Services whose ServiceExport was deleted a moment ago. They count as exported until a listing has succeeded without
// it: Kubernetes deletes all ServiceExports, one by one, before their CustomResourceDefinition, which no user does to withdraw
// Services. Afterwards there is no listing that succeeds.
type withdrawn struct {
	// changed has an element when Services were added.
	changed chan struct{}

	mu   sync.Mutex
	keys sets.Set[types.NamespacedName]
}

func (w *withdrawn) add(key types.NamespacedName) {
	w.mu.Lock()
	w.keys.Insert(key)
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// remove removes a Service and reports whether it was there.
func (w *withdrawn) remove(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	removed := w.keys.Has(key)
	w.keys.Delete(key)
	return removed
}

func (w *withdrawn) has(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys.Has(key)
}

func (w *withdrawn) list() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys.UnsortedList()
}

// confirmWithdrawn deletes the copies of withdrawn Services after a listing without their ServiceExports, until ctx is done.
func (u *Upstream) confirmWithdrawn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.withdrawn.changed:
		}
		for keys := u.withdrawn.list(); len(keys) > 0; keys = u.withdrawn.list() {
			select {
			case <-ctx.Done():
				return
			case <-u.Clock.After(withdrawalPause):
			}
			if err := u.confirm(ctx, keys); err != nil && ctx.Err() == nil {
				logr.FromContextOrDiscard(ctx).Error(err, "Cannot confirm the deletion of ServiceExports, retaining the copies")
			}
		}
	}
}

// confirm lists the ServiceExports of the namespaces of withdrawn Services, and has those deleted that are not among them.
func (u *Upstream) confirm(ctx context.Context, keys []types.NamespacedName) error {
	if err := u.verify(ctx); err != nil {
		return err
	}
	byNamespace := map[string]sets.Set[types.NamespacedName]{}
	for _, key := range keys {
		present, listed := byNamespace[key.Namespace]
		if !listed {
			var err error
			if present, err = u.listExports(ctx, key.Namespace); err != nil {
				return err
			}
			byNamespace[key.Namespace] = present
		}
		if present.Has(key) || !u.withdrawn.remove(key) {
			continue
		}
		copies := []desired.Ref{{Kind: desired.KindService, NamespacedName: u.copyOf(key)}}
		for _, slice := range u.slices.Indexed(key.Namespace, key.String()) {
			copies = append(copies, u.sliceRef(key, slice.Name))
		}
		u.listener.Deleted(key, copies...)
	}
	return nil
}
