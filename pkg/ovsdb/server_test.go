// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

const switchA, switchB, portA = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", "21607839-c6b4-5b98-8aa1-89a1aab61bca", "0c5e1e46-2b1c-5d1b-9a6c-1f7f2b7a0001"

// northbound connects to a real server of the Northbound database.
func northbound(t *testing.T) (*Client, *ovnserver.Server) {
	t.Helper()
	server := ovnserver.Start(t, ovnserver.Options{})
	endpoint, err := ParseEndpoint(server.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	client, err := New(Options{Endpoints: []Endpoint{endpoint}, Database: "OVN_Northbound"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, server
}

func TestTransactOnServer(t *testing.T) {
	c, _ := northbound(t)
	create := Insert("Logical_Switch", switchA, map[string]any{"name": "a", "other_config": Map{"x": "1", "y": "2"}})
	port := Insert("Logical_Switch_Port", portA, map[string]any{"name": "p", "addresses": Set{"unknown"}})
	refer := Mutate("Logical_Switch", []Condition{ByID(switchA)}, Including("ports", Set{UUID(portA)}))
	if _, err := c.Transact(t.Context(), create, port, refer); err != nil {
		t.Fatal(err)
	}
	results, err := c.Transact(t.Context(), Select("Logical_Switch", []Condition{ByID(switchA)}), Select("Logical_Switch_Port", nil, "_uuid", "addresses", "up"))
	if err != nil || len(results[0].Rows) != 1 || len(results[1].Rows) != 1 {
		t.Fatalf("rows = %+v, %v; want one switch and one port", results, err)
	}
	row := results[0].Rows[0]
	config, err := row.Map("other_config")
	if err != nil || len(config) != 2 || config["x"] != "1" || row.UUID() != switchA {
		t.Errorf("id %q, other_config %v, %v; want %s with what was written", row.UUID(), config, err, switchA)
	}
	if ports, err := row.UUIDs("ports"); err != nil || !slices.Equal(ports, []string{portA}) {
		t.Errorf("ports = %v, %v; want %s", ports, err, portA)
	}
	if up, err := results[1].Rows[0].Value("up"); err != nil || len(up.([]any)) != 0 {
		t.Errorf("up = %v, %v; want an empty set", up, err)
	}
	for name, tc := range map[string]struct {
		operations []Operation
		code       string
		at         int
	}{
		"id exists":                {[]Operation{create}, CodeDuplicate, 0},
		"name exists":              {[]Operation{Insert("Logical_Switch_Port", switchB, map[string]any{"name": "p"}), Mutate("Logical_Switch", []Condition{ByID(switchA)}, Including("ports", Set{UUID(switchB)}))}, CodeConstraint, 2},
		"reference to nothing":     {[]Operation{Mutate("Logical_Switch", []Condition{ByID(switchA)}, Including("ports", Set{UUID(switchB)}))}, CodeReference, 1},
		"requirement not met":      {[]Operation{Delete("Logical_Switch"), Require("Logical_Switch", ByID(switchB))}, CodeTimedOut, 1},
		"pair that does not exist": {[]Operation{Require("Logical_Switch", Condition{"other_config", "includes", Map{"x": "2"}})}, CodeTimedOut, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Transact(t.Context(), tc.operations...)
			failed, ok := err.(*Error) //nolint:errorlint // Transact returns it itself
			if !ok || failed.Code != tc.code || failed.Operation != tc.at {
				t.Errorf("error = %v, want %q of operation %d", err, tc.code, tc.at)
			}
		})
	}
	if results, err := c.Transact(t.Context(), Require("Logical_Switch", Condition{"other_config", "includes", Map{"x": "1"}}), Delete("Logical_Switch", ByID(switchA))); err != nil || results[1].Count != 1 {
		t.Errorf("deletion = %+v, %v; want one row", results, err)
	}
	if results, err := c.Transact(t.Context(), Select("Logical_Switch_Port", nil)); err != nil || len(results[0].Rows) != 0 {
		t.Errorf("ports = %+v, %v; want none without their switch", results, err)
	}
}

func TestSchemaOfServer(t *testing.T) {
	c, _ := northbound(t)
	schema, err := c.Schema(t.Context())
	if err != nil || schema.Name != "OVN_Northbound" || !json.Valid(schema.Tables["Load_Balancer"].Columns["vips"].Type) || !schema.Tables["Logical_Switch"].IsRoot {
		t.Errorf("schema = %s with %d tables, %v", schema.Name, len(schema.Tables), err)
	}
}

// Changes of another client are reported, the client's own before its transaction returns, and after a restart of the server that
// some may have been missed.
func TestMonitorOfServer(t *testing.T) {
	c, server := northbound(t)
	changes, missed := make(chan Change, 100), make(chan struct{}, 10)
	go func() {
		_ = c.Monitor(t.Context(), Watched{"Logical_Switch": {"name", "external_ids"}}, func(all []Change) {
			for _, change := range all {
				changes <- change
			}
		}, func() { missed <- struct{}{} })
	}()
	within(t, missed)
	if _, err := c.Transact(t.Context(), Insert("Logical_Switch", switchA, map[string]any{"name": "a"})); err != nil {
		t.Fatal(err)
	}
	select {
	case own := <-changes:
		if own.Table != "Logical_Switch" || own.ID != switchA || own.Deleted {
			t.Errorf("change = %+v, want the switch", own)
		}
	default:
		t.Error("the client's own change was not reported before the transaction returned")
	}
	server.Nbctl(t, "set", "Logical_Switch", switchA, "external_ids:x=y")
	if change := within(t, changes); change.ID != switchA || change.Row["external_ids"] == nil {
		t.Errorf("change = %+v, want external_ids of the switch", change)
	}
	server.Nbctl(t, "ls-del", switchA)
	if change := within(t, changes); change.ID != switchA || !change.Deleted {
		t.Errorf("change = %+v, want the deletion of the switch", change)
	}
	server.Restart(t)
	within(t, missed)
	server.Nbctl(t, "ls-add", "b")
	if change := within(t, changes); change.Deleted || change.ID == switchA {
		t.Errorf("change = %+v, want another switch", change)
	}
}

// within receives, or fails the test.
func within[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case received := <-from:
		return received
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was received")
		panic("unreachable")
	}
}
