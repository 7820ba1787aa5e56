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
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	// changes is the number of changes that watchers receive in each round.
	changes = 20
	// watchersPerConnection is how many watches share a connection: as many clients as there are would take more of the
	// machine for their handshakes than for what is measured.
	watchersPerConnection = 50
)

// fanOut measures how long it takes until the last of many watchers has a change.
func (c *comparison) fanOut(ctx context.Context) error {
	all, err := contenders(c.Plane, administrator)
	if err != nil {
		return err
	}
	for _, watchers := range c.Watchers {
		results := rounds{}
		for round := range c.Rounds {
			for i := range all {
				turn := all[(i+round)%len(all)]
				space, err := c.space(ctx)
				if err != nil {
					return err
				}
				r, err := turn.publish(ctx, c.Plane, space, watchers)
				if err != nil {
					return fmt.Errorf("%s, %d watchers: %w", turn.name, watchers, err)
				}
				results[turn.name] = append(results[turn.name], r)
			}
		}
		if err := c.reportFanOut(watchers, results); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) reportFanOut(watchers int, results rounds) error {
	operation := fmt.Sprintf("a change to %d watchers", watchers)
	last := func(r run) float64 { return milliseconds(r.percentile(0.5)) }
	for _, name := range order(results) {
		for _, figure := range []struct {
			what string
			of   func(run) float64
		}{{"until the last one receives it", last}, {"CPU of the API servers", run.serversEach}} {
			s := spreadOf(valuesOf(results[name], figure.of))
			if err := c.reporter.Add(report.Figure{
				Benchmark: benchmark, Series: name, Name: operation + ": " + figure.what, Value: s.median, Unit: "ms", Least: &s.least, Most: &s.most,
			}); err != nil {
				return err
			}
		}
	}
	if watchers < 100 { // one watcher is reported by one write: there is nothing to win
		return nil
	}
	for _, name := range own(results) {
		if err := c.compare(name, operation+": until the last one receives it", ratios(results[name], results[crdName], last), goalFanOut); err != nil {
			return err
		}
	}
	return nil
}

// Starts watchers, makes changes, and measures from the moment that a change is sent until each watcher has it.
func (c *contender) publish(ctx context.Context, p *plane.Plane, space string, watchers int) (run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects, err := c.fill(ctx, space, 1)
	if err != nil {
		return run{}, err
	}
	var seen atomic.Int64
	done, failed := make(chan struct{}, changes), make(chan error, watchers)
	clients, err := c.clients((watchers + watchersPerConnection - 1) / watchersPerConnection)
	if err != nil {
		return run{}, err
	}
	defer closeAll(clients)
	defer cancel() // watches end before their connections are closed
	path := c.collection(space) + "?watch=true&resourceVersion=" + objects[0].ResourceVersion
	for i := range watchers {
		response, err := clients[i%len(clients)].send(ctx, request{method: "GET", path: path}) //nolint:bodyclose // the goroutine below closes it
		if err != nil {
			return run{}, err
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
	r, err := c.change(ctx, p, objects[0], done, failed)
	if err != nil {
		return run{}, err
	}
	cancel()
	return r, c.dropAll(context.WithoutCancel(ctx), space, objects)
}

// change makes changes one after the other, each when all watchers have the one before.
func (c *contender) change(ctx context.Context, p *plane.Plane, object *midonetv1.Translation, done <-chan struct{}, failed <-chan error) (run, error) {
	writer, err := newClient(c.config, c.media)
	if err != nil {
		return run{}, err
	}
	defer writer.close()
	return measured(ctx, []*client{writer}, 2, changes, append([]*plane.Process{p.Etcd}, c.processes...), func(ctx context.Context, client *client, i int) error {
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
