// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"fmt"
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

// operations are those of a life, in the order in which they are made.
var operations = []string{opCreate, opGet, opUpdate, opApply, opDelete, opDeleteCollection}

// cycle is a life of objects at one contender: each operation is made on all of them, by all workers together.
type cycle struct {
	contender
	user string
	etcd *plane.Process
	// space is the namespace of the objects, empty before and after.
	space   string
	size    int
	clients []*client
	// profiles are written of each operation.
	profiles profiler
	// objects are as the server responded when they were created.
	objects []*midonetv1.Translation
}

// newCycle makes a cycle for a number of workers, whose clients the caller closes.
func newCycle(c contender, user string, profiles profiler, space string, objects, workers int) (*cycle, error) {
	clients, err := c.clients(workers)
	return &cycle{contender: c, user: user, etcd: profiles.plane.Etcd, space: space, size: objects + warmUp, clients: clients, profiles: profiles}, err
}

// run makes the next operation of the life and returns what it took.
func (c *cycle) run(ctx context.Context, operation string) (run, error) {
	switch operation {
	case opCreate:
		return c.creates(ctx)
	case opGet:
		return c.make(ctx, operation, getsEach, func(object *midonetv1.Translation, _ int) ([]request, error) { return one(c.get(object), nil) })
	case opUpdate:
		return c.make(ctx, operation, 1, func(object *midonetv1.Translation, i int) ([]request, error) {
			return one(c.replace(object, strconv.Itoa(i+1)))
		})
	case opApply:
		return c.make(ctx, operation, 1, func(object *midonetv1.Translation, i int) ([]request, error) {
			return one(c.apply(c.space, object.Name, strconv.Itoa(i)), nil)
		})
	case opDelete:
		return c.make(ctx, operation, 1, func(object *midonetv1.Translation, _ int) ([]request, error) {
			return []request{c.delete(object), c.release(c.space, object.Name)}, nil
		})
	case opDeleteCollection:
		return c.deletesCollection(ctx)
	}
	return run{}, fmt.Errorf("there is no operation %q", operation)
}

func one(r request, err error) ([]request, error) { return []request{r}, err }

// creates makes the objects.
func (c *cycle) creates(ctx context.Context) (run, error) {
	requests := make([]request, c.size)
	for i := range requests {
		var err error
		if requests[i], err = c.create(newTranslation(c.space, nameOf(i), i, "0")); err != nil {
			return run{}, err
		}
	}
	responses := make([][]byte, c.size)
	profiled := c.profiles.start(ctx, opCreate+"-"+c.name)
	r, err := measured(ctx, c.clients, warmUp, c.size, c.measuredProcesses(), func(ctx context.Context, client *client, i int) (err error) {
		responses[i], err = client.do(ctx, requests[i])
		return err
	})
	if err := errors.Join(err, profiled()); err != nil {
		return run{}, err
	}
	c.objects = make([]*midonetv1.Translation, c.size)
	for i, response := range responses {
		if c.objects[i], err = decode(response); err != nil {
			return run{}, err
		}
	}
	return r, nil
}

// getsEach is how often each object is read: a read is the shortest of all operations.
const getsEach = 3

// make makes an operation on each object so many times, its requests one after the other.
func (c *cycle) make(ctx context.Context, operation string, times int, of func(object *midonetv1.Translation, i int) ([]request, error)) (run, error) {
	requests := make([][]request, times*len(c.objects))
	for i := range requests {
		var err error
		if requests[i], err = of(c.objects[i%len(c.objects)], i); err != nil {
			return run{}, err
		}
	}
	profiled := c.profiles.start(ctx, operation+"-"+c.name)
	r, err := measured(ctx, c.clients, warmUp, len(requests), c.measuredProcesses(), func(ctx context.Context, client *client, i int) error {
		for _, r := range requests[i] {
			if _, err := client.do(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	return r, errors.Join(err, profiled())
}

// deletesCollection deletes many objects with one request. It returns the cost per object.
func (c *cycle) deletesCollection(ctx context.Context) (run, error) {
	objects, err := c.fill(ctx, c.space, c.size)
	if err != nil {
		return run{}, err
	}
	r, err := measured(ctx, c.clients[:1], 0, 1, c.measuredProcesses(), func(ctx context.Context, client *client, _ int) error {
		_, err := client.do(ctx, request{method: "DELETE", path: c.collection(c.space)})
		return err
	})
	if err != nil {
		return run{}, err
	}
	r.operations = c.size
	return r, c.releaseAll(ctx, c.space, objects)
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
