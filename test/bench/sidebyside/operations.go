// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"strconv"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// Names of operations in reports, in the order in which they are made.
const (
	opCreate           = "create"
	opGet              = "get"
	opUpdate           = "update"
	opApply            = "server-side apply"
	opDelete           = "delete, with the finalizer's patch"
	opDeleteCollection = "deletecollection, for each object"
)

// warmUp is how many operations of each kind are made before the clock starts: connections, caches, tokens.
const warmUp = 50

// cycle is a life of objects at one contender: each operation is made on all of them, by all workers together.
type cycle struct {
	contender
	etcd *plane.Process
	// space is the namespace of the objects, empty before and after.
	space   string
	objects int
	clients []*client
	runs    map[string]run
	// profiles are written of each operation.
	profiles profiler
}

// newCycle makes a cycle for a number of workers.
func newCycle(c contender, profiles profiler, space string, objects, workers int) (*cycle, error) {
	clients, err := c.clients(workers)
	return &cycle{contender: c, etcd: profiles.plane.Etcd, space: space, objects: objects + warmUp, clients: clients, runs: map[string]run{}, profiles: profiles}, err
}

// run makes the whole life and returns what each operation took.
func (c *cycle) run(ctx context.Context) (map[string]run, error) {
	defer closeAll(c.clients)
	objects, err := c.creates(ctx)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		operation string
		times     int // how many requests for each object
		of        func(object *midonetv1.Translation, i int) ([]request, error)
	}{
		{opGet, 4, func(object *midonetv1.Translation, _ int) ([]request, error) { return one(c.get(object), nil) }},
		{opUpdate, 1, func(object *midonetv1.Translation, i int) ([]request, error) {
			return one(c.replace(object, strconv.Itoa(i+1)))
		}},
		{opApply, 1, func(object *midonetv1.Translation, i int) ([]request, error) {
			return one(c.apply(c.space, object.Name, strconv.Itoa(i)), nil)
		}},
		{opDelete, 1, func(object *midonetv1.Translation, _ int) ([]request, error) {
			return []request{c.delete(object), c.release(c.space, object.Name)}, nil
		}},
	} {
		requests := make([][]request, len(objects)*step.times)
		for i := range requests {
			if requests[i], err = step.of(objects[i%len(objects)], i); err != nil {
				return nil, err
			}
		}
		if err := c.make(ctx, step.operation, requests); err != nil {
			return nil, err
		}
	}
	return c.runs, c.deletesCollection(ctx)
}

func one(r request, err error) ([]request, error) { return []request{r}, err }

// creates makes the objects, and returns them as the server answered.
func (c *cycle) creates(ctx context.Context) ([]*midonetv1.Translation, error) {
	requests := make([]request, c.objects)
	for i := range requests {
		var err error
		if requests[i], err = c.create(newTranslation(c.space, nameOf(i), i, "0")); err != nil {
			return nil, err
		}
	}
	answers := make([][]byte, c.objects)
	profiled := c.profiles.start(ctx, opCreate+"-"+c.name)
	r, err := measured(ctx, c.clients, warmUp, c.objects, c.measuredProcesses(), func(ctx context.Context, client *client, i int) (err error) {
		answers[i], err = client.do(ctx, requests[i])
		return err
	})
	if err := errors.Join(err, profiled()); err != nil {
		return nil, err
	}
	c.runs[opCreate] = r
	objects := make([]*midonetv1.Translation, c.objects)
	for i, answer := range answers {
		if objects[i], err = decode(answer); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// make sends requests, those of one operation one after the other, and keeps what it took.
func (c *cycle) make(ctx context.Context, operation string, requests [][]request) error {
	profiled := c.profiles.start(ctx, operation+"-"+c.name)
	r, err := measured(ctx, c.clients, warmUp, len(requests), c.measuredProcesses(), func(ctx context.Context, client *client, i int) error {
		for _, r := range requests[i] {
			if _, err := client.do(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	c.runs[operation] = r
	return errors.Join(err, profiled())
}

// deletesCollection deletes as many objects by one request. It says what that costs for one of them.
func (c *cycle) deletesCollection(ctx context.Context) error {
	objects, err := c.fill(ctx, c.space, c.objects)
	if err != nil {
		return err
	}
	r, err := measured(ctx, c.clients[:1], 0, 1, c.measuredProcesses(), func(ctx context.Context, client *client, _ int) error {
		_, err := client.do(ctx, request{method: "DELETE", path: c.collection(c.space)})
		return err
	})
	if err != nil {
		return err
	}
	r.operations = c.objects
	c.runs[opDeleteCollection] = r
	return c.releaseAll(ctx, c.space, objects)
}

func (c *cycle) measuredProcesses() []*plane.Process {
	return append([]*plane.Process{c.etcd}, c.processes...)
}

// lists measures listings of a namespace that has objects, by one client.
func (c *contender) lists(ctx context.Context, p *plane.Plane, space, query string, times int) (run, error) {
	clients, err := c.clients(1)
	if err != nil {
		return run{}, err
	}
	defer closeAll(clients)
	path := c.collection(space) + query
	return measured(ctx, clients, 1, times+1, append([]*plane.Process{p.Etcd}, c.processes...), func(ctx context.Context, client *client, _ int) error {
		_, err := client.do(ctx, request{method: "GET", path: path})
		return err
	})
}
