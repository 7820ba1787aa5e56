// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	clientv3 "go.etcd.io/etcd/client/v3"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/plane"
)

// memoryObjects is how many objects the figures of memory mention.
const memoryObjects = 10000

// memory measures what objects take of the memory of their API server, and of etcd.
func (c *comparison) memory(ctx context.Context) error {
	all := c.contenders()
	crd, err := c.weigh(ctx, all[0], c.KubeAPIServer, c.Config(), crdPrefix)
	if err != nil {
		return err
	}
	own, err := c.weigh(ctx, all[2], c.APIServers[0], c.DirectConfig(0), ownPrefix)
	if err != nil {
		return err
	}
	return errors.Join(
		c.add("heap for 10,000 objects", "MiB", goalHeap, values{crdName: {crd.heap}, protobufName: {own.heap}}),
		c.add("resident memory for 10,000 objects", "MiB", 0, values{crdName: {crd.resident}, protobufName: {own.resident}}),
		c.add("an object in etcd", "B", goalStored, values{crdName: {crd.stored}, protobufName: {own.stored}}))
}

// weight is what objects weigh: MiB of the heap and of resident memory for all of them, bytes in etcd for one.
type weight struct{ heap, resident, stored float64 }

// weigh fills a namespace and compares the server before and after.
func (c *comparison) weigh(ctx context.Context, turn contender, server *plane.Process, config *rest.Config, prefix string) (weight, error) {
	space, err := c.space(ctx)
	if err != nil {
		return weight{}, err
	}
	// The first object starts the cache of its kind; the baseline has that, and connections.
	if err := c.warm(ctx, turn, space); err != nil {
		return weight{}, err
	}
	before, err := heapOf(ctx, server, config)
	if err != nil {
		return weight{}, err
	}
	objects, err := turn.fill(ctx, space, memoryObjects)
	if err != nil {
		return weight{}, err
	}
	after, err := heapOf(ctx, server, config)
	if err != nil {
		return weight{}, err
	}
	stored, err := c.stored(ctx, prefix+space+"/", memoryObjects)
	if err != nil {
		return weight{}, err
	}
	w := weight{heap: after.heap - before.heap, resident: after.resident - before.resident, stored: stored / float64(len(objects))}
	return w, turn.dropAll(ctx, space, objects)
}

// warm makes and drops a few objects.
func (c *comparison) warm(ctx context.Context, turn contender, space string) error {
	objects, err := turn.fill(ctx, space, warmUp)
	if err != nil {
		return err
	}
	return turn.dropAll(ctx, space, objects)
}

// heapOf collects the garbage of a server, by its profile of the heap, and reads what is left.
func heapOf(ctx context.Context, server *plane.Process, config *rest.Config) (weight, error) {
	client, err := newClient(config, "*/*")
	if err != nil {
		return weight{}, err
	}
	defer client.close()
	for range 2 { // finalizers need a second one
		if _, err := client.do(ctx, request{method: "GET", path: "/debug/pprof/heap?gc=1"}); err != nil {
			return weight{}, err
		}
	}
	samples, err := probe.Scrape(ctx, client.http, client.server+"/metrics", "go_memstats_heap_alloc_bytes")
	if err != nil {
		return weight{}, err
	}
	if len(samples) != 1 {
		return weight{}, fmt.Errorf("the metrics of %s have no go_memstats_heap_alloc_bytes", server.Name())
	}
	used, err := probe.UsageOf(server.PID())
	return weight{heap: samples[0].Value / (1 << 20), resident: used.RSS}, err
}

// pairsPerBatch is how many pairs are read from etcd by one request.
const pairsPerBatch = 5000

// stored returns the sum of the bytes of all values below a prefix, which has to have as many as there are objects.
func (c *comparison) stored(ctx context.Context, prefix string, objects int) (sum float64, err error) {
	store, err := c.store()
	if err != nil {
		return 0, err
	}
	defer func() { _ = store.Close() }()
	found, end := 0, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix))
	for key, more := prefix, true; more; {
		response, err := store.Get(ctx, key, end, clientv3.WithLimit(pairsPerBatch))
		if err != nil {
			return 0, err
		}
		for _, pair := range response.Kvs {
			sum += float64(len(pair.Value))
			key = string(pair.Key) + "\x00"
		}
		found, more = found+len(response.Kvs), response.More
	}
	if found != objects {
		return 0, fmt.Errorf("etcd has %d keys below %s, not %d", found, prefix, objects)
	}
	return sum, nil
}

// store returns a client of the plane's etcd, with one connection.
func (c *comparison) store() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{c.EtcdEndpoint()}})
}
