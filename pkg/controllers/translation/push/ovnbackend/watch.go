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
		watched[k.Table] = append(watched[k.Table], k.Stored()...)
		if listing, ok := k.Listing(); ok {
			lister, _ := ovn.KindNamed(listing.Refers)
			watched[lister.Table] = append(watched[lister.Table], listing.ListedIn)
		}
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
	own := b.writing[change.Table+"/"+change.ID] > 0 || change.Deleted && b.purging > 0 || isListing(change) && b.joining+b.purging > 0
	return !own && ovn.IsDerived(change.ID)
}

// isListing reports whether a change is only one of the rows that a row lists, such as the ports of a group.
func isListing(change ovsdb.Change) bool {
	for _, k := range ovn.Kinds() {
		listing, ok := k.Listing()
		if !ok {
			continue
		}
		lister, _ := ovn.KindNamed(listing.Refers)
		if _, found := change.Row[listing.ListedIn]; found && lister.Table == change.Table && len(change.Row) == 1 {
			return true
		}
	}
	return false
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
func (b *Backend) purges() func() { return b.counts(&b.purging) }

// joins notes that rows begin or cease to list a row of the kind.
func (b *Backend) joins(k ovn.Kind) func() {
	if _, ok := k.Listing(); !ok {
		return func() {}
	}
	return b.counts(&b.joining)
}

// counts increases a counter until the returned function is called.
func (b *Backend) counts(counter *int) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	*counter++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		*counter--
	}
}
