// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package simulated has chassis of OVN that have no datapath. It uses Groundskeeper's client of the databases, whose tests use ovnserver.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Chassis are chassis that have no datapath. In the Southbound database they do what ovn-controller does: each registers itself, binds
// the ports that request it, and confirms nb_cfg. Hundreds of them cost less than one real chassis.
type Chassis struct {
	client *ovsdb.Client
	// chassis are the ids of the rows by name.
	chassis map[string]string
}

// The tables of the Southbound database that chassis use.
const (
	southboundDatabase = "OVN_Southbound"
	globalTable        = "SB_Global"
	bindingTable       = "Port_Binding"
)

// Register registers chassis with the given names in the Southbound database at an endpoint.
func Register(ctx context.Context, southbound string, names []string) (*Chassis, error) {
	endpoint, err := ovsdb.ParseEndpoint(southbound)
	if err != nil {
		return nil, err
	}
	// ovn-northd may write thousands of rows before it is the turn of a chassis.
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []ovsdb.Endpoint{endpoint}, Database: southboundDatabase, Timeout: 2 * time.Minute, Probe: -1})
	if err != nil {
		return nil, err
	}
	c := &Chassis{client: client, chassis: map[string]string{}}
	var operations []ovsdb.Operation
	for i, name := range names {
		id := func(table int) string { return fmt.Sprintf("5117a7ed-0000-4000-8000-%04d%08d", table, i) }
		c.chassis[name] = id(1)
		operations = append(operations,
			ovsdb.Insert("Encap", id(2), map[string]any{"type": "geneve", "ip": fmt.Sprintf("172.31.%d.%d", i/250, 1+i%250), "chassis_name": name}),
			ovsdb.Insert("Chassis", id(1), map[string]any{"name": name, "hostname": name, "encaps": ovsdb.UUID(id(2))}),
			ovsdb.Insert("Chassis_Private", id(3), map[string]any{"name": name, "chassis": ovsdb.UUID(id(1))}))
	}
	if _, err := client.Transact(ctx, operations...); err != nil {
		client.Close()
		return nil, fmt.Errorf("register chassis: %w", err)
	}
	return c, nil
}

// Run has the chassis bind ports and confirm, until the context ends.
func (c *Chassis) Run(ctx context.Context) error {
	defer c.client.Close()
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		ended <- c.client.Monitor(ctx, ovsdb.Watched{globalTable: {"nb_cfg"}, bindingTable: {"requested_chassis"}}, func([]ovsdb.Change) { notify() }, notify)
	}()
	var confirmed int64
	for {
		select {
		case err := <-ended:
			return err
		case <-changed:
		}
		var err error
		if confirmed, err = c.apply(ctx, confirmed); err != nil {
			cancel()
			if failed := <-ended; !errors.Is(failed, context.Canceled) {
				err = errors.Join(err, failed)
			}
			return err
		}
	}
}

// apply binds the ports that request a chassis, and then confirms what is requested unless it is already confirmed. Like
// ovn-controllers, each chassis confirms in its own transaction.
func (c *Chassis) apply(ctx context.Context, confirmed int64) (int64, error) {
	results, err := c.client.Transact(ctx, ovsdb.Select(globalTable, nil, "nb_cfg"),
		ovsdb.Select(bindingTable, []ovsdb.Condition{{"type", "==", ""}, {"chassis", "==", ovsdb.Set{}}}, "_uuid", "requested_chassis"))
	if err != nil {
		return confirmed, err
	}
	var binds []ovsdb.Operation
	for _, row := range results[1].Rows {
		if requested, err := row.UUIDs("requested_chassis"); err == nil && len(requested) == 1 {
			binds = append(binds, ovsdb.Update(bindingTable, []ovsdb.Condition{ovsdb.ByID(row.UUID())}, map[string]any{"chassis": ovsdb.UUID(requested[0]), "up": true}))
		}
	}
	if len(binds) > 0 {
		if _, err := c.client.Transact(ctx, binds...); err != nil {
			return confirmed, fmt.Errorf("bind %d ports: %w", len(binds), err)
		}
	}
	if len(results[0].Rows) != 1 {
		return confirmed, nil
	}
	value, err := results[0].Rows[0].Value("nb_cfg")
	if err != nil {
		return confirmed, err
	}
	number, ok := value.(interface{ Int64() (int64, error) })
	if !ok {
		return confirmed, fmt.Errorf("nb_cfg is %v", value)
	}
	wanted, err := number.Int64()
	if err != nil || wanted == confirmed {
		return confirmed, err
	}
	for name := range c.chassis {
		confirm := ovsdb.Update("Chassis_Private", []ovsdb.Condition{{"name", "==", name}}, map[string]any{"nb_cfg": wanted, "nb_cfg_timestamp": time.Now().UnixMilli()})
		if _, err := c.client.Transact(ctx, confirm); err != nil {
			return confirmed, fmt.Errorf("confirm for chassis %s: %w", name, err)
		}
	}
	return wanted, nil
}
