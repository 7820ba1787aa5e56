// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/clock"
)

// compactor compacts the etcd of a server while any of its resources needs that. They are all in one etcd: the options reject
// --etcd-servers-overrides. The compactors of several servers agree with each other through a key in etcd.
type compactor struct {
	mu      sync.Mutex
	running etcd3.Compactor
	stop    func()
	users   int
}

// start returns the compactor, and a function that ends its use. An interval of 0 means that no client compacts: the compactor is nil
// then.
func (c *compactor) start(config storagebackend.TransportConfig, interval time.Duration) (etcd3.Compactor, func(), error) {
	if interval == 0 {
		return nil, func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		client, err := NewClient(context.Background(), config)
		if err != nil {
			return nil, nil, err
		}
		running := etcd3.NewCompactor(client.Client, interval, clock.RealClock{}, func() {})
		c.running, c.stop = running, func() { running.Stop(); _ = client.Close() }
	}
	c.users++
	return c.running, c.end, nil
}

func (c *compactor) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.stop()
	}
}
