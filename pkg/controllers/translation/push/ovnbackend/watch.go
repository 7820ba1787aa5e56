// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"sync/atomic"

	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Watch reports changes by other clients until the context ends. Only rows with derived ids are of interest: those of Groundskeeper.
func (b *Backend) Watch(ctx context.Context, changed func()) error {
	watched := ovsdb.Watched{}
	for _, k := range ovn.Kinds() {
		var columns []string
		for _, column := range k.Columns {
			columns = append(columns, column.Name)
		}
		watched[k.Table] = columns
	}
	var connected atomic.Bool
	return b.client.Monitor(ctx, watched, func(changes []ovsdb.Change) {
		for _, change := range changes {
			if b.concerns(change) {
				changed()
				return
			}
		}
	}, func() {
		// At the first connection there is nothing to compare with: everything is read then.
		if connected.Swap(true) {
			changed()
		}
	})
}

// concerns reports whether a change is one of another client, of a row that may be Groundskeeper's.
func (b *Backend) concerns(change ovsdb.Change) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.writing[change.Table+"/"+change.ID] > 0 || change.Deleted && b.purging > 0
	return !own && ovn.IsDerived(change.ID)
}

// writes notes that a row is being written, until the returned function is called. The server reports a change before it responds to
// the transaction that made it, so nothing of it comes later.
func (b *Backend) writes(table, id string) func() {
	key := table + "/" + id
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing[key]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.writing[key]--; b.writing[key] == 0 {
			delete(b.writing, key)
		}
	}
}

// purges notes that a row is being deleted with those below it.
func (b *Backend) purges() func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.purging++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.purging--
	}
}
