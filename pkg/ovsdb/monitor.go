// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Change is a row that changed.
type Change struct {
	// Table and ID name the row.
	Table, ID string
	// Deleted reports that it does not exist any more.
	Deleted bool
	// Row has the columns that changed. Those with several values have the values that were added or removed.
	Row Row
}

// Watched are the tables of a monitor, and the columns of each.
type Watched map[string][]string

// Monitor reports rows that change to a function until the context ends, over all connections. A change that a transaction of this
// client causes is reported before the transaction returns. The function must not call the client. missed is called instead when
// changes may not have been noticed: at the first connection, and when the server does not know what changed while there was none.
func (c *Client) Monitor(ctx context.Context, watched Watched, changed func([]Change), missed func()) error {
	m := &monitor{client: c, id: fmt.Sprintf("groundskeeper-%p", &watched), watched: watched, changed: changed, missed: missed,
		last: noTransaction}
	c.mu.Lock()
	c.monitors[m.id] = m.notified
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.monitors, m.id)
	}()
	for {
		connection, err := m.start(ctx)
		if err != nil {
			if rejected := CodeOf(err); rejected != "" {
				return fmt.Errorf("monitor %s: %w", c.options.Database, err)
			}
		} else {
			select {
			case <-connection.ended:
			case <-ctx.Done():
				m.stop(connection)
			}
		}
		if err := kit.Pause(ctx, connectPause); err != nil {
			return err
		}
	}
}

// notified passes a notification on to the monitors.
func (c *Client) notified(method string, params json.RawMessage) {
	if !strings.HasPrefix(method, "update") {
		return
	}
	var head []json.RawMessage
	var id string
	if json.Unmarshal(params, &head) != nil || len(head) < 2 || json.Unmarshal(head[0], &id) != nil {
		return
	}
	c.mu.Lock()
	handle := c.monitors[id]
	c.mu.Unlock()
	if handle != nil {
		handle(method, params)
	}
}

// noTransaction is the id of none.
const noTransaction = "00000000-0000-0000-0000-000000000000"

// monitor is one that is continued over several connections.
type monitor struct {
	client  *Client
	id      string
	watched Watched
	changed func([]Change)
	missed  func()

	mu sync.Mutex
	// last is the id of the last transaction that was reported.
	last string
}

// since returns the id of the last transaction that was reported.
func (m *monitor) since() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// reached notes the id of a transaction. If an older one comes last, its changes are reported again, which does no harm.
func (m *monitor) reached(transaction string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = transaction
}

// start sets the monitor up on the current connection.
func (m *monitor) start(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, m.client.options.Timeout)
	defer cancel()
	connection, err := m.client.connected(ctx)
	if err != nil {
		return nil, err
	}
	tables := map[string]any{}
	for table, columns := range m.watched {
		tables[table] = []any{map[string]any{"columns": columns,
			"select": map[string]bool{"initial": false, "insert": true, "delete": true, "modify": true}}}
	}
	database := m.client.options.Database
	data, err := connection.call(ctx, "monitor_cond_since", []any{database, m.id, tables, m.since()})
	switch {
	case strings.Contains(CodeOf(err), "unknown method"):
		if _, err := connection.call(ctx, "monitor_cond", []any{database, m.id, tables}); err != nil {
			return nil, err
		}
		m.missed()
		return connection, nil
	case err != nil:
		return nil, err
	}
	var response []json.RawMessage
	var found bool
	var last string
	if json.Unmarshal(data, &response) != nil || len(response) != 3 || json.Unmarshal(response[0], &found) != nil ||
		json.Unmarshal(response[1], &last) != nil {
		return nil, errors.New("the response to monitor_cond_since is not understood")
	}
	m.reached(last)
	if !found {
		m.missed()
		return connection, nil
	}
	m.report(response[2])
	return connection, nil
}

// stop ends the monitor on a connection, if it can.
func (m *monitor) stop(connection *connection) {
	ctx, cancel := context.WithTimeout(context.Background(), m.client.options.Timeout)
	defer cancel()
	_, _ = connection.call(ctx, "monitor_cancel", []any{m.id}) // at worst the connection keeps a monitor that is ignored
}

// notified handles update2, with what changed, and update3, with the id of the transaction before it.
func (m *monitor) notified(_ string, params json.RawMessage) {
	var parts []json.RawMessage
	if json.Unmarshal(params, &parts) != nil {
		return
	}
	var last string
	if len(parts) == 3 && json.Unmarshal(parts[1], &last) == nil {
		m.reached(last)
	}
	m.report(parts[len(parts)-1])
}

func (m *monitor) report(data json.RawMessage) {
	var tables map[string]map[string]map[string]json.RawMessage
	if json.Unmarshal(data, &tables) != nil {
		m.missed()
		return
	}
	var changes []Change
	for table, rows := range tables {
		for id, kinds := range rows {
			for kind, row := range kinds {
				change := Change{Table: table, ID: id, Deleted: kind == "delete"}
				_ = json.Unmarshal(row, &change.Row) // null for a deletion
				changes = append(changes, change)
			}
		}
	}
	if len(changes) > 0 {
		m.changed(changes)
	}
}
