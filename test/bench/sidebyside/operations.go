// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"fmt"
	"strconv"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// warmUp is how many operations of each kind are made before the clock starts: connections, caches, tokens.
const warmUp = 50

// operation is made on each object of a life. The last one deletes them.
type operation struct {
	name string
	// times is how often it is made on an object.
	times int
	// of returns its requests for an object, which are sent one after the other.
	of func(c *contender, object *midonetv1.Translation, i int) ([]request, error)
}

// operations are made in this order.
var operations = []operation{
	{"get", 3, func(c *contender, object *midonetv1.Translation, _ int) ([]request, error) {
		return one(c.get(object), nil)
	}},
	{"update", 1, func(c *contender, object *midonetv1.Translation, i int) ([]request, error) {
		return one(c.replace(object, strconv.Itoa(i+1)))
	}},
	{"server-side apply", 1, func(c *contender, object *midonetv1.Translation, i int) ([]request, error) {
		return one(c.apply(object.Namespace, object.Name, strconv.Itoa(i)), nil)
	}},
	{"delete, with the finalizer's patch", 1, func(c *contender, object *midonetv1.Translation, _ int) ([]request, error) {
		return []request{c.delete(object), c.release(object.Namespace, object.Name)}, nil
	}},
}

func one(r request, err error) ([]request, error) { return []request{r}, err }

// life is that of objects of a contender, in a namespace.
type life struct {
	contender
	space   string
	clients []*client
	objects []*midonetv1.Translation
}

// lives measures single operations. All contenders run one operation before the next one: the speed of a machine changes within
// minutes, so compared measurements have to be close.
func (c *comparison) lives(ctx context.Context) error {
	creates, collections := values{}, values{}
	results := make([]values, len(operations))
	for i := range results {
		results[i] = values{}
	}
	for round := range c.Rounds {
		lives, err := c.begin(ctx)
		if err != nil {
			return err
		}
		step := func(into values, measure func(context.Context, *life) (float64, error)) error {
			for i := range lives {
				l := lives[(i+round)%len(lives)] // never always behind the same one
				cpu, err := measure(ctx, l)
				if err != nil {
					return fmt.Errorf("%s: %w", l.name, err)
				}
				into[l.name] = append(into[l.name], cpu)
			}
			return nil
		}
		if err := step(creates, c.create); err != nil {
			return err
		}
		for i, o := range operations {
			if err := step(results[i], o.measure); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
		if err := step(collections, c.deleteCollection); err != nil {
			return err
		}
		for _, l := range lives {
			closeAll(l.clients)
		}
	}
	if err := c.add("create", "ms", goalSingle, creates); err != nil {
		return err
	}
	for i, o := range operations {
		if err := c.add(o.name, "ms", goalSingle, results[i]); err != nil {
			return err
		}
	}
	return c.add("deletecollection, for each object", "ms", goalSingle, collections)
}

// begin returns a life for each contender, without objects.
func (c *comparison) begin(ctx context.Context) ([]*life, error) {
	var lives []*life
	for _, contender := range c.contenders() {
		space, err := c.space(ctx)
		if err != nil {
			return nil, err
		}
		clients, err := contender.clients(c.Workers)
		if err != nil {
			return nil, err
		}
		lives = append(lives, &life{contender: contender, space: space, clients: clients})
	}
	return lives, nil
}

// create makes the objects of a life.
func (c *comparison) create(ctx context.Context, l *life) (float64, error) {
	requests := make([]request, c.Objects+warmUp)
	for i := range requests {
		var err error
		if requests[i], err = l.create(newTranslation(l.space, nameOf(i), i, "0")); err != nil {
			return 0, err
		}
	}
	l.objects = make([]*midonetv1.Translation, len(requests))
	responses := make([][]byte, len(requests))
	cpu, err := measured(ctx, l.clients, warmUp, len(requests), l.processes, func(ctx context.Context, client *client, i int) (err error) {
		responses[i], err = client.do(ctx, requests[i])
		return err
	})
	for i := 0; i < len(responses) && err == nil; i++ {
		l.objects[i], err = decode(responses[i])
	}
	return cpu, err
}

// measure makes the operation on all objects of a life.
func (o operation) measure(ctx context.Context, l *life) (float64, error) {
	requests := make([][]request, o.times*len(l.objects))
	for i := range requests {
		var err error
		if requests[i], err = o.of(&l.contender, l.objects[i%len(l.objects)], i); err != nil {
			return 0, err
		}
	}
	return measured(ctx, l.clients, warmUp, len(requests), l.processes, func(ctx context.Context, client *client, i int) error {
		for _, r := range requests[i] {
			if _, err := client.do(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteCollection deletes new objects by one request, and returns what it costs for each.
func (c *comparison) deleteCollection(ctx context.Context, l *life) (float64, error) {
	objects, err := l.fill(ctx, l.space, c.Objects)
	if err != nil {
		return 0, err
	}
	cpu, err := measured(ctx, l.clients[:1], 0, 1, l.processes, func(ctx context.Context, client *client, _ int) error {
		_, err := client.do(ctx, request{method: "DELETE", path: l.collection(l.space)})
		return err
	})
	if err != nil {
		return 0, err
	}
	return cpu / float64(c.Objects), l.releaseAll(ctx, l.space, objects)
}
