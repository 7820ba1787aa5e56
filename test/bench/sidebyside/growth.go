// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/test/plane"
)

// grown is one of the two servers whose objects become more and more.
type grown struct {
	// name is the series of what does not depend on the kubeconfig which the server is queried.
	name   string
	server *plane.Process
	config *rest.Config
	// prefix is that of its keys in etcd, without the namespace.
	prefix string
	// ways are those to query it that are measured; the first one fills.
	ways []contender
	// space is the namespace of the objects, empty what the server weighed without them.
	space string
	empty weight
}

// growth measures what a list, a watch, the memory and the store cost as objects become more. Objects are only added: a
// server remembers for a while what was deleted, so that it would weigh less than it does, compared with before.
func (c *comparison) growth(ctx context.Context) error {
	// It has run until now so that all is there that it makes at its start.
	if err := c.Managers[0].Stop(ctx); err != nil {
		return err
	}
	all, err := contenders(c.Plane, administrator)
	if err != nil {
		return err
	}
	servers := []*grown{
		{name: crdName, server: c.KubeAPIServer, config: c.Config(), prefix: crdPrefix, ways: []contender{all[0]}},
		{name: ownName, server: c.APIServers[0], config: c.DirectConfig(0), prefix: ownPrefix, ways: []contender{all[2], all[4]}},
	}
	for _, g := range servers {
		if err := c.plant(ctx, g); err != nil {
			return err
		}
	}
	costs, before := &costs{reporter: c.reporter}, 0
	for _, objects := range c.Growth {
		for _, g := range servers {
			if err := c.grow(ctx, g, before, objects, costs); err != nil {
				return fmt.Errorf("%s, %d objects: %w", g.name, objects, err)
			}
		}
		for _, r := range readings() {
			if err := c.read(ctx, servers, r, objects, costs); err != nil {
				return fmt.Errorf("%s, %d objects: %w", r.name, objects, err)
			}
		}
		before = objects
	}
	return errors.Join(costs.linear(), c.manages(ctx, all[4], before))
}

// plant makes the namespace and reads what the server weighs with next to nothing.
func (c *comparison) plant(ctx context.Context, g *grown) (err error) {
	if g.space, err = c.space(ctx); err != nil {
		return err
	}
	if err := c.warm(ctx, g.ways[0], g.space); err != nil {
		return err
	}
	g.empty, err = heapOf(ctx, g.server, g.config)
	return err
}

// grow adds objects and weighs the server.
func (c *comparison) grow(ctx context.Context, g *grown, from, to int, costs *costs) error {
	if _, err := g.ways[0].fillFrom(ctx, g.space, from, to); err != nil {
		return err
	}
	full, err := heapOf(ctx, g.server, g.config)
	if err != nil {
		return err
	}
	stored, err := c.stored(ctx, g.prefix+g.space+"/", to)
	if err != nil {
		return err
	}
	return errors.Join(
		costs.add(cost{what: costHeap, series: g.name, unit: "MiB", objects: to, spread: once(full.heap - g.empty.heap)}),
		costs.add(cost{what: costResident, series: g.name, unit: "MiB", objects: to, spread: once(full.resident - g.empty.resident)}),
		costs.add(cost{what: costStored, series: g.name, unit: "MiB", objects: to, spread: once(stored / (1 << 20))}))
}

// read gives each way its turns at one reading.
func (c *comparison) read(ctx context.Context, servers []*grown, r reading, objects int, costs *costs) error {
	type turn struct {
		contender
		space string
	}
	var turns []turn
	for _, g := range servers {
		for _, way := range g.ways {
			turns = append(turns, turn{way, g.space})
		}
	}
	times := max(1, 10000/objects)
	results := rounds{}
	for round := range c.Rounds {
		for i := range turns {
			t := turns[(i+round)%len(turns)]
			measured, err := t.reads(ctx, c.Plane, times, func(ctx context.Context, client *client) error {
				return r.of(ctx, &t.contender, client, t.space, objects)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			results[t.name] = append(results[t.name], measured)
		}
	}
	for _, name := range order(results) {
		err := errors.Join(
			costs.add(cost{what: r.name, series: name, unit: "ms", objects: objects, spread: spreadOf(valuesOf(results[name], func(r run) float64 { return milliseconds(r.percentile(0.5)) }))}),
			costs.add(cost{what: "CPU of " + r.name, series: name, unit: "ms", objects: objects, spread: spreadOf(valuesOf(results[name], run.serversEach))}))
		if err != nil {
			return err
		}
	}
	return nil
}

func once(value float64) spread { return spread{value, value, value} }
