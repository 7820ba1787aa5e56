// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/clock"
)

// compactors runs one compactor per etcd cluster for all resources that store there, while any of
// them needs it. Those of several servers agree with each other through a key in etcd.
type compactors struct {
	mu      sync.Mutex
	running map[string]*compactor
}

type compactor struct {
	etcd3.Compactor
	stop   func()
	client *kubernetes.Client
	users  int
}

// start returns the compactor of a cluster, and a function that ends its use. An interval of 0 means that no client compacts: the
// compactor is nil then.
func (c *compactors) start(config storagebackend.TransportConfig, interval time.Duration) (etcd3.Compactor, func(), error) {
	if interval == 0 {
		return nil, func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	servers := slices.Sorted(slices.Values(config.ServerList))
	key := fmt.Sprint(strings.Join(servers, ","), interval)
	running, ok := c.running[key]
	if !ok {
		client, err := NewClient(context.Background(), config)
		if err != nil {
			return nil, nil, err
		}
		own := etcd3.NewCompactor(client.Client, interval, clock.RealClock{}, func() {})
		running = &compactor{Compactor: own, stop: own.Stop, client: client}
		if c.running == nil {
			c.running = map[string]*compactor{}
		}
		c.running[key] = running
	}
	running.users++
	return running, func() { c.end(key, running) }, nil
}

func (c *compactors) end(key string, running *compactor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if running.users--; running.users > 0 {
		return
	}
	delete(c.running, key)
	running.stop()
	_ = running.client.Close()
}
