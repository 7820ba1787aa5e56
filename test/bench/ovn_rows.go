// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// balancerTable is the table of load balancers, which have the endpoints of services.
const balancerTable = "Load_Balancer"

// rowWatch is notified of each changed row of the tables that Groundskeeper writes to. Columns that ovn-northd sets are not watched.
type rowWatch struct {
	client *ovsdb.Client
	// changed counts the rows.
	changed atomic.Int64

	mu sync.Mutex
	// awaited are the changes that a load balancer does not have yet, by the id of the row, and lags the times that others took.
	awaited map[string]awaitedChange
	lags    []time.Duration
	// arrived is notified when the last one that is awaited has arrived.
	arrived chan struct{}
}

// awaitedChange is an endpoint that a load balancer is about to get, and since when it lacks this one or an earlier one.
type awaitedChange struct {
	endpoint string
	since    time.Time
}

// watchRows begins to watch, until ctx ends.
func watchRows(ctx context.Context, endpoint string) (*rowWatch, error) {
	parsed, err := ovsdb.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []ovsdb.Endpoint{parsed}, Database: ovnbackend.Database, Timeout: time.Minute, Probe: -1})
	if err != nil {
		return nil, err
	}
	w := &rowWatch{client: client, awaited: map[string]awaitedChange{}, arrived: make(chan struct{}, 1)}
	watched := ovsdb.Watched{}
	for _, kind := range ovn.Kinds() {
		watched[kind.Table] = kind.Stored()
	}
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		defer client.Close()
		ended <- client.Monitor(ctx, watched, w.see, func() {
			select {
			case started <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-started:
		return w, nil
	case err := <-ended:
		return nil, err
	}
}

// see counts rows, and notes the changes that they bring.
func (w *rowWatch) see(changes []ovsdb.Change) {
	now := time.Now()
	w.changed.Add(int64(len(changes)))
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, change := range changes {
		awaited, is := w.awaited[change.ID]
		if change.Table != balancerTable || !is {
			continue
		}
		vips, err := change.Row.Map("vips")
		if err != nil {
			continue
		}
		for _, endpoints := range vips {
			if slices.Contains(strings.Split(endpoints, ","), awaited.endpoint) {
				w.lags = append(w.lags, now.Sub(awaited.since))
				delete(w.awaited, change.ID)
			}
		}
	}
	if len(w.awaited) == 0 {
		select {
		case w.arrived <- struct{}{}:
		default:
		}
	}
}

// await notes an endpoint that a row is about to get, and reports whether it still lacks an earlier one, which it may never get.
func (w *rowWatch) await(id, endpoint string) (overtaken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := time.Now()
	earlier, overtaken := w.awaited[id]
	if overtaken {
		since = earlier.since
	}
	w.awaited[id] = awaitedChange{endpoint, since}
	return overtaken
}

// rest waits until nothing is awaited, and returns the times since the changes, sorted.
func (w *rowWatch) rest(ctx context.Context) ([]time.Duration, error) {
	for {
		w.mu.Lock()
		missing := len(w.awaited)
		lags := slices.Sorted(slices.Values(w.lags))
		w.mu.Unlock()
		if missing == 0 {
			return lags, nil
		}
		select {
		case <-w.arrived:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%d changes are not in the database", missing), context.Cause(ctx))
		}
	}
}

// balancers returns the ids of load balancers by their names.
func (w *rowWatch) balancers(ctx context.Context) (map[string]string, error) {
	results, err := w.client.Transact(ctx, ovsdb.Select(balancerTable, nil, "_uuid", "name"))
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, row := range results[0].Rows {
		name, err := row.Value("name")
		if err != nil {
			return nil, err
		}
		ids[fmt.Sprint(name)] = row.UUID()
	}
	return ids, nil
}
