// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// realizePause is the time between two requests for a confirmation: each is a write by every chassis.
const realizePause = 2 * time.Second

// mostOpen is how many requests without a confirmation are remembered.
const mostOpen = 64

const notObserved = -1

// portKind is the kind of the resources that an interface of a chassis is connected to.
const portKind = "LogicalSwitchPort"

// realization is what is known of the progress of the chassis. ovn-northd has them confirm each value of nb_cfg of NB_Global, and sets
// hv_cfg to the lowest one that all have confirmed.
type realization struct {
	mu sync.Mutex
	// requested is the number of requests for a confirmation. wanted reports that a point is used that no request covers yet.
	requested int64
	wanted    bool
	// open are the values of nb_cfg that stand for requests without a confirmation; realized is the last request with one.
	open     map[int64]int64
	realized int64
	// observed is the last hv_cfg that was reported during the request under way, notObserved if none was. It may be reported before the
	// value is known that stands for the request.
	observed int64
	// up are the ports that an interface is connected to.
	up map[string]bool
	// wake holds a token when there is something to request.
	wake chan struct{}
}

func newRealization() *realization {
	return &realization{open: map[int64]int64{}, up: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Written implements push.Realizer. A request that is under way may be earlier than the last write, so it is the next one.
func (b *Backend) Written() int64 {
	r := b.realization
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = true
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return r.requested + 1
}

// Realized implements push.Realizer.
func (b *Backend) Realized(point int64) bool {
	b.realization.mu.Lock()
	defer b.realization.mu.Unlock()
	return point <= b.realization.realized
}

// Connects implements push.Realizer.
func (b *Backend) Connects(ref backend.Ref) bool { return ref.Kind == portKind }

// Connected implements push.Realizer.
func (b *Backend) Connected(ref backend.Ref) bool {
	b.realization.mu.Lock()
	defer b.realization.mu.Unlock()
	return b.realization.up[ref.ID]
}

// begin returns the number of a new request; false if none is wanted.
func (r *realization) begin() (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wanted {
		return 0, false
	}
	r.wanted = false
	r.observed = notObserved
	r.requested++
	return r.requested, true
}

// sent notes the value that stands for a request, and what was confirmed when it was read, or that the request failed and has to be
// repeated. It reports whether more is confirmed than before.
func (r *realization) sent(request, value, confirmed int64, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.wanted = true
		return false
	}
	r.open[request] = value
	// A later one confirms what an earlier one would.
	delete(r.open, request-mostOpen)
	return r.confirm(max(confirmed, r.observed))
}

// confirmed notes what all chassis have confirmed, and reports whether it is more than before.
func (r *realization) confirmed(value int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed = value
	return r.confirm(value)
}

func (r *realization) confirm(value int64) bool {
	more := false
	for request, needs := range r.open {
		if needs <= value {
			r.realized, more = max(r.realized, request), true
		}
	}
	maps.DeleteFunc(r.open, func(request, _ int64) bool { return request <= r.realized })
	return more
}

// connected notes which ports are up, and returns those that were not, or the other way round. all reports that there are no others.
func (r *realization) connected(up map[string]bool, all bool) []backend.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var changed []backend.Key
	note := func(id string, is bool) {
		if r.up[id] == is {
			return
		}
		changed = append(changed, backend.Key{Kind: portKind, ID: id})
		if is {
			r.up[id] = true
		} else {
			delete(r.up, id)
		}
	}
	if all {
		for id := range maps.Clone(r.up) {
			note(id, up[id])
		}
	}
	for id, is := range up {
		note(id, is)
	}
	return changed
}

// Realize implements push.Realizer.
func (b *Backend) Realize(ctx context.Context, changed func([]backend.Key)) error {
	port, _ := ovn.KindNamed(portKind)
	missed := make(chan struct{}, 1)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		ended <- b.client.Monitor(ctx, ovsdb.Watched{globalTable: {"hv_cfg"}, port.Table: {"up", "type"}}, func(changes []ovsdb.Change) {
			for _, change := range changes {
				b.progressed(port.Table, change, changed)
			}
		}, func() {
			select {
			case missed <- struct{}{}:
			default:
			}
		})
	}()
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return errors.Join(ctx.Err(), <-ended)
		case <-missed:
			if err := b.readProgress(ctx, port.Table, changed); err != nil {
				return err
			}
		case <-b.realization.wake:
			b.requestConfirmation(ctx, changed)
		}
	}
}

// progressed handles a change of a port or of the confirmation.
func (b *Backend) progressed(table string, change ovsdb.Change, changed func([]backend.Key)) {
	switch change.Table {
	case globalTable:
		if value, err := numberOf(change.Row, "hv_cfg"); err == nil && b.realization.confirmed(value) {
			changed(nil)
		}
	case table:
		_, reported := change.Row["up"]
		if _, typed := change.Row["type"]; !reported && !typed && !change.Deleted {
			return
		}
		if keys := b.realization.connected(map[string]bool{change.ID: !change.Deleted && isUp(change.Row)}, false); len(keys) > 0 {
			changed(keys)
		}
	}
}

// readProgress reads what may have changed while it was not reported.
func (b *Backend) readProgress(ctx context.Context, table string, changed func([]backend.Key)) error {
	results, err := b.client.Transact(ctx, ovsdb.Select(table, nil, "_uuid", "up", "type"), ovsdb.Select(globalTable, nil, "hv_cfg"))
	if err != nil {
		return failure(err)
	}
	up := map[string]bool{}
	for _, row := range results[0].Rows {
		if isUp(row) {
			up[row.UUID()] = true
		}
	}
	if keys := b.realization.connected(up, true); len(keys) > 0 {
		changed(keys)
	}
	for _, row := range results[1].Rows {
		if value, err := numberOf(row, "hv_cfg"); err == nil && b.realization.confirmed(value) {
			changed(nil)
		}
	}
	return nil
}

// requestConfirmation has all chassis confirm what is written until now. Another client may request one as well: a later value is
// confirmed later.
func (b *Backend) requestConfirmation(ctx context.Context, changed func([]backend.Key)) {
	request, wanted := b.realization.begin()
	if !wanted {
		return
	}
	err := b.fence.transact(ctx, []ovsdb.Operation{ovsdb.Mutate(globalTable, nil, ovsdb.Mutation{"nb_cfg", "+=", 1})})
	var value, confirmed int64
	if err == nil {
		value, confirmed, err = b.confirmation(ctx)
	}
	if b.realization.sent(request, value, confirmed, err) {
		changed(nil)
	}
	_ = kit.Pause(ctx, realizePause)
	if err != nil {
		select {
		case b.realization.wake <- struct{}{}:
		default:
		}
	}
}

// confirmation reads what is requested and what is confirmed.
func (b *Backend) confirmation(ctx context.Context) (requested, confirmed int64, err error) {
	results, err := b.client.Transact(ctx, ovsdb.Select(globalTable, nil, "nb_cfg", "hv_cfg"))
	if err != nil {
		return 0, 0, failure(err)
	}
	if len(results[0].Rows) != 1 {
		return 0, 0, fmt.Errorf("table %s has %d rows", globalTable, len(results[0].Rows))
	}
	row := results[0].Rows[0]
	if requested, err = numberOf(row, "nb_cfg"); err != nil {
		return 0, 0, err
	}
	confirmed, err = numberOf(row, "hv_cfg")
	return requested, confirmed, err
}

func numberOf(row ovsdb.Row, column string) (int64, error) {
	value, err := row.Value(column)
	if err != nil {
		return 0, err
	}
	number, ok := value.(interface{ Int64() (int64, error) })
	if !ok {
		return 0, fmt.Errorf("column %s is not a number", column)
	}
	return number.Int64()
}

// isUp reports whether the optional column up is set and true. To a port of a physical network no interface is ever connected: it
// is on every chassis that has the network.
func isUp(row ovsdb.Row) bool {
	if kind, err := row.Value("type"); err == nil && kind == "localnet" {
		return true
	}
	value, err := row.Value("up")
	return err == nil && value == true
}
