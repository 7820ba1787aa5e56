// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// roleMonitor is the id of the monitor of what a server is to the database.
const roleMonitor = "groundskeeper-role"

// role is what the server of a connection is to the database. Only a leader is used: a follower forwards writes, but its reads may
// be of the past.
type role struct {
	database string
	// lost ends the connection.
	lost func(error)

	mu    sync.Mutex
	known serverRow
}

// serverRow is the row of a database in the server's own database, _Server. A database that is not clustered has a leader, too.
type serverRow struct {
	Name      string `json:"name"`
	Leader    bool   `json:"leader"`
	Connected bool   `json:"connected"`
}

// check fails for a server that does not have the database, or is not its leader. Its later changes end the connection.
func (r *role) check(ctx context.Context, c *connection) error {
	columns := []string{"name", "leader", "connected"}
	where := []Condition{{"name", "==", r.database}}
	request := map[string]any{"Database": []any{map[string]any{"columns": columns, "where": where}}}
	data, err := c.call(ctx, "monitor_cond", []any{"_Server", roleMonitor, request})
	if CodeOf(err) != "" {
		return r.listed(ctx, c) // a server without _Server knows no clusters
	}
	if err != nil {
		return err
	}
	if err := r.update(data); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usable()
}

// listed fails for a server that does not have the database.
func (r *role) listed(ctx context.Context, c *connection) error {
	data, err := c.call(ctx, "list_dbs", []any{})
	if err != nil {
		return err
	}
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("list_dbs: the response is not understood: %w", err)
	}
	for _, name := range names {
		if name == r.database {
			return nil
		}
	}
	return r.absent()
}

func (r *role) absent() error {
	return fmt.Errorf("the server does not have the database %s", r.database)
}

// usable reports why the server cannot be used. The lock is held.
func (r *role) usable() error {
	switch {
	case r.known.Name == "":
		return r.absent()
	case !r.known.Connected:
		return errors.New("the server is not connected to its cluster")
	case !r.known.Leader:
		return errors.New("the server is not the leader of its cluster")
	default:
		return nil
	}
}

// notified ends the connection when the server is the leader no more.
func (r *role) notified(method string, params json.RawMessage) {
	var update []json.RawMessage
	if method != "update2" || json.Unmarshal(params, &update) != nil || len(update) != 2 || string(update[0]) != `"`+roleMonitor+`"` {
		return
	}
	err := r.update(update[1])
	if err == nil {
		r.mu.Lock()
		err = r.usable()
		r.mu.Unlock()
	}
	if err != nil {
		r.lost(err)
	}
}

// update takes over what changed of the row.
func (r *role) update(data json.RawMessage) error {
	var tables map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &tables); err != nil {
		return fmt.Errorf("the state of the server is not understood: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, changes := range tables["Database"] {
		for change, row := range changes {
			switch change {
			case "delete":
				r.known = serverRow{}
				continue
			case "initial", "insert": // a column that has its default, such as false, is omitted
				r.known = serverRow{}
			}
			if err := json.Unmarshal(row, &r.known); err != nil {
				return fmt.Errorf("the state of the server is not understood: %w", err)
			}
		}
	}
	return nil
}
