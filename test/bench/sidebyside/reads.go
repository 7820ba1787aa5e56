// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

const (
	// changes is the number of changes that watchers receive in each round.
	changes = 20
	// watchersPerConnection is how many watches share a connection: as many clients as there are would take more of the
	// machine for their handshakes than for what is measured.
	watchersPerConnection = 50
)

// lists measures lists of a namespace by one client, from the cache and consistent.
func (c *comparison) lists(ctx context.Context) error {
	const objects, times = 10000, 4
	spaces := map[string]string{}
	for _, turn := range c.contenders() {
		if spaces[turn.root] != "" {
			continue // both encodings list the same objects
		}
		space, err := c.space(ctx)
		if err != nil {
			return err
		}
		if _, err := turn.fill(ctx, space, objects); err != nil {
			return err
		}
		spaces[turn.root] = space
	}
	for _, kind := range []struct{ name, query string }{{"from the cache", "?resourceVersion=0"}, {"consistent", ""}} {
		name := fmt.Sprintf("list of %d, %s", objects, kind.name)
		err := c.rounds(ctx, name, goalLists, func(ctx context.Context, turn *contender) (float64, error) {
			clients, err := turn.clients(1)
			if err != nil {
				return 0, err
			}
			defer closeAll(clients)
			list := request{method: "GET", path: turn.collection(spaces[turn.root]) + kind.query}
			return measured(ctx, clients, 1, times, turn.processes, func(ctx context.Context, client *client, _ int) error {
				_, err := client.do(ctx, list)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// watches measures what it costs that many watchers receive a change.
func (c *comparison) watches(ctx context.Context) error {
	const watchers = 200
	return c.rounds(ctx, fmt.Sprintf("a change to %d watchers", watchers), 0, func(ctx context.Context, turn *contender) (float64, error) {
		space, err := c.space(ctx)
		if err != nil {
			return 0, err
		}
		return turn.publish(ctx, space, watchers)
	})
}

// rounds gives each contender its turns at one measurement, and reports it.
func (c *comparison) rounds(
	ctx context.Context, what string, goal float64, measure func(context.Context, *contender) (float64, error),
) error {
	all, results := c.contenders(), values{}
	for round := range c.Rounds {
		for i := range all {
			turn := &all[(i+round)%len(all)]
			cpu, err := measure(ctx, turn)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", what, turn.name, err)
			}
			results[turn.name] = append(results[turn.name], cpu)
		}
	}
	return c.add(what, "ms", goal, results)
}

func (c *contender) publish(ctx context.Context, space string, watchers int) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects, err := c.fill(ctx, space, 1)
	if err != nil {
		return 0, err
	}
	var seen atomic.Int64
	done, failed := make(chan struct{}, changes), make(chan error, watchers)
	clients, err := c.clients((watchers + watchersPerConnection - 1) / watchersPerConnection)
	if err != nil {
		return 0, err
	}
	defer closeAll(clients)
	defer cancel() // watches end before their connections are closed
	path := c.collection(space) + "?watch=true&resourceVersion=" + objects[0].ResourceVersion
	for i := range watchers {
		response, err := clients[i%len(clients)].send(ctx, request{method: "GET", path: path}) //nolint:bodyclose // the goroutine below closes it
		if err != nil {
			return 0, err
		}
		go func() {
			defer func() { _ = response.Body.Close() }()
			frames := bufio.NewReaderSize(response.Body, 16<<10)
			for {
				if err := c.skipFrame(frames); err != nil {
					failed <- err
					return
				}
				if seen.Add(1)%int64(watchers) == 0 {
					done <- struct{}{}
				}
			}
		}()
	}
	cpu, err := c.change(ctx, objects[0], done, failed)
	if err != nil {
		return 0, err
	}
	cancel()
	return cpu, c.dropAll(context.WithoutCancel(ctx), space, objects)
}

// change makes changes one after the other, each when all watchers have the one before.
func (c *contender) change(
	ctx context.Context, object *midonetv1.Translation, done <-chan struct{}, failed <-chan error,
) (float64, error) {
	writer, err := newClient(c.config, c.media)
	if err != nil {
		return 0, err
	}
	defer writer.close()
	return measured(ctx, []*client{writer}, 2, changes, c.processes, func(ctx context.Context, client *client, i int) error {
		r, err := c.replace(object, strconv.Itoa(i+1))
		if err != nil {
			return err
		}
		response, err := client.do(ctx, r)
		if err != nil {
			return err
		}
		if object, err = decode(response); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case err := <-failed:
			return fmt.Errorf("a watch ended: %w", err)
		case <-time.After(time.Minute):
			return fmt.Errorf("not all watchers were notified of change %d", i)
		}
	})
}

// skipFrame reads one event of a watch: a line in JSON, a length and as many bytes in protobuf.
func (c *contender) skipFrame(frames *bufio.Reader) error {
	if c.media == typeJSON {
		for {
			_, err := frames.ReadSlice('\n')
			if err != bufio.ErrBufferFull { //nolint:errorlint // it is never wrapped
				return err
			}
		}
	}
	var length [4]byte
	if _, err := io.ReadFull(frames, length[:]); err != nil {
		return err
	}
	_, err := frames.Discard(int(binary.BigEndian.Uint32(length[:])))
	return err
}
