// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"slices"
	"sync"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

const (
	// mostSelected limits the rows that one transaction reads by their ids, so that each ends within the timeout of a call: of a table
	// with the ports of all Nodes, one of a Node would read all.
	mostSelected = 250
	// mostListers is the same for rows that list others, of which each may list all ports.
	mostListers = 16
)

// List reads a collection.
func (b *Backend) List(ctx context.Context, c backend.Collection) ([]backend.Observed, error) {
	return b.Comparison()(ctx, c)
}

// Comparison implements engine.Comparer. What lists rows, such as the groups of ports, is read once: a request for each row would cost the
// product of both.
func (b *Backend) Comparison() func(ctx context.Context, c backend.Collection) ([]backend.Observed, error) {
	p := &comparison{b: b, listers: map[string]*listers{}}
	return p.list
}

// comparison reads many collections.
type comparison struct {
	b  *Backend
	mu sync.Mutex
	// listers are the rows of the tenant that list rows of a kind.
	listers map[string]*listers
}

// listers are the ids of the rows that list a row, by the id of that.
type listers struct {
	once sync.Once
	of   map[string][]string
	err  error
}

func (p *comparison) list(ctx context.Context, c backend.Collection) ([]backend.Observed, error) {
	k, _ := ovn.KindNamed(c.Kind)
	if c.Parent == "" {
		results, err := p.b.client.Transact(ctx, ovsdb.Select(k.Table, nil, k.Selected()...))
		if err != nil {
			return nil, failure(err)
		}
		return p.b.rows(k, results[0].Rows, "", nil), nil
	}
	parent, _ := ovn.KindNamed(c.ParentKind)
	results, err := p.b.client.Transact(ctx, ovsdb.Select(parent.Table, []ovsdb.Condition{ovsdb.ByID(c.Parent)}, k.Link))
	if err != nil {
		return nil, failure(err)
	}
	if len(results[0].Rows) == 0 {
		return nil, &backend.Error{Reason: backend.NotFound, Message: c.ParentKind + " " + c.Parent + " does not exist"}
	}
	ids, err := results[0].Rows[0].UUIDs(k.Link)
	if err != nil {
		return nil, failure(err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	listedBy, err := p.listersOf(ctx, k)
	if err != nil {
		return nil, err
	}
	rows, err := p.b.selectRows(ctx, k.Table, ids, mostSelected, k.Selected()...)
	if err != nil {
		return nil, err
	}
	return p.b.rows(k, rows, c.Parent, listedBy), nil
}

// listersOf returns the rows of the tenant that list rows of a kind. If they cannot be read, no list of the comparison tries again.
func (p *comparison) listersOf(ctx context.Context, k ovn.Kind) (map[string][]string, error) {
	listing, ok := k.Listing()
	if !ok {
		return nil, nil
	}
	p.mu.Lock()
	l := p.listers[k.Name]
	if l == nil {
		l = &listers{}
		p.listers[k.Name] = l
	}
	p.mu.Unlock()
	l.once.Do(func() { l.of, l.err = p.b.readListers(ctx, listing) })
	return l.of, l.err
}

// readListers reads what lists rows in a column.
func (b *Backend) readListers(ctx context.Context, listing ovn.Column) (map[string][]string, error) {
	lister, _ := ovn.KindNamed(listing.Refers)
	results, err := b.client.Transact(ctx, ovsdb.Select(lister.Table, []ovsdb.Condition{b.tagged()}, "_uuid"))
	if err != nil {
		return nil, failure(err)
	}
	var ids []string
	for _, row := range results[0].Rows {
		ids = append(ids, row.UUID())
	}
	rows, err := b.selectRows(ctx, lister.Table, ids, mostListers, "_uuid", listing.ListedIn)
	if err != nil {
		return nil, err
	}
	listed := map[string][]string{}
	for _, row := range rows {
		members, err := row.UUIDs(listing.ListedIn)
		if err != nil {
			return nil, failure(err)
		}
		for _, member := range members {
			listed[member] = append(listed[member], row.UUID())
		}
	}
	return listed, nil
}

// selectRows reads rows by their ids, a number of them with each transaction. A server finds a row by its id without reading others.
func (b *Backend) selectRows(ctx context.Context, table string, ids []string, most int, columns ...string) ([]ovsdb.Row, error) {
	rows := make([]ovsdb.Row, 0, len(ids))
	for part := range slices.Chunk(ids, most) {
		operations := make([]ovsdb.Operation, len(part))
		for i, id := range part {
			operations[i] = ovsdb.Select(table, []ovsdb.Condition{ovsdb.ByID(id)}, columns...)
		}
		results, err := b.client.Transact(ctx, operations...)
		if err != nil {
			return nil, failure(err)
		}
		for _, result := range results {
			rows = append(rows, result.Rows...)
		}
	}
	return rows, nil
}

// rows returns rows as the engine sees them. What lists each of them is given by its id.
func (b *Backend) rows(k ovn.Kind, rows []ovsdb.Row, parent string, listedBy map[string][]string) []backend.Observed {
	all := make([]backend.Observed, len(rows))
	for i, row := range rows {
		all[i] = b.observed(k, row, parent, listedBy[row.UUID()])
	}
	return all
}
