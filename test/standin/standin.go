// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Config is a workload cluster and its OpenStack.
type Config struct {
	// Kubernetes is the cluster.
	Kubernetes kubernetes.Interface
	// Dynamic is the cluster, too, for its snapshots; nil: it has none. Their CRDs have to be there at the start.
	Dynamic dynamic.Interface
	// Cloud is how to log in to the project of the cluster.
	Cloud Credentials
	// ClusterName is what the cloud controller calls the cluster (--cluster-name), and ClusterID the CSI driver (--cluster).
	ClusterName, ClusterID string
	// SubnetID is where the addresses of load balancers are from; empty: nothing is made for Services. FloatingNetworkID
	// is where their floating addresses are from; empty: they have none.
	SubnetID, FloatingNetworkID string
	// Log receives a line for each operation and failure; nil: none.
	Log func(line string)
}

// Kind is what the stand-in manages.
type Kind string

// Kinds.
const (
	Services  Kind = "Service"
	Claims    Kind = "PersistentVolumeClaim"
	Volumes   Kind = "PersistentVolume"
	Snapshots Kind = "VolumeSnapshot"
	Contents  Kind = "VolumeSnapshotContent"
)

const (
	// workers is how many objects are managed at a time.
	workers = 8
	// A failure is tried again after a pause that doubles.
	firstPause, longestPause = 50 * time.Millisecond, time.Second
)

// key is an object to check.
type key struct {
	kind            Kind
	namespace, name string
}

// String is as kubectl would name it.
func (k key) String() string {
	if k.namespace == "" {
		return fmt.Sprintf("%s %s", k.kind, k.name)
	}
	return fmt.Sprintf("%s %s/%s", k.kind, k.namespace, k.name)
}

// Standin runs until it is stopped.
type Standin struct {
	config Config
	cloud  *cloud
	queue  workqueue.TypedRateLimitingInterface[key]
	ended  sync.WaitGroup
	cancel context.CancelFunc
	knobs  knobs
	// unwatch waits for the end of what watches. snapshots are those that are known; nil: the cluster has none.
	unwatch   func()
	snapshots cache.Store
}

// Start starts a stand-in for a cluster, and returns when it has seen all objects that are there. An error means that it
// cannot log in, or cannot watch the cluster. It has to be stopped.
func Start(ctx context.Context, config Config) (*Standin, error) {
	if config.Kubernetes == nil || config.ClusterName == "" || config.ClusterID == "" {
		return nil, errors.New("a stand-in needs Config.Kubernetes, ClusterName and ClusterID")
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Standin{config: config, cloud: newCloud(config.Cloud), cancel: cancel,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[key](firstPause, longestPause))}
	if err := s.cloud.login(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("stand-in: %w", err)
	}
	if err := s.watch(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("stand-in: %w", err)
	}
	for range workers {
		s.ended.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	return s, nil
}

// Stop ends all that the stand-in does, wherever it is, as kill -9 would, and returns when that is so.
func (s *Standin) Stop() {
	s.cancel()
	s.queue.ShutDown()
	s.ended.Wait()
	if s.unwatch != nil {
		s.unwatch()
	}
}

// next checks one object. False means that the stand-in was stopped.
func (s *Standin) next(ctx context.Context) bool {
	k, stopped := s.queue.Get()
	if stopped {
		return false
	}
	defer s.queue.Done(k)
	wait, err := s.knobs.admit(k)
	if wait < 0 {
		return true // it is set aside
	}
	if err == nil && pause(ctx, wait) == nil {
		err = s.handle(ctx, k)
	}
	if err == nil || ctx.Err() != nil {
		s.queue.Forget(k)
		return true
	}
	s.log("%s: %v", k, err)
	s.queue.AddRateLimited(k)
	return true
}

// handle reconciles an object.
func (s *Standin) handle(ctx context.Context, k key) error {
	switch k.kind {
	case Services:
		return s.service(ctx, k)
	case Claims:
		return s.claim(ctx, k)
	case Volumes:
		return s.volume(ctx, k)
	case Snapshots:
		return s.snapshot(ctx, k)
	default:
		return s.content(ctx, k)
	}
}

func (s *Standin) log(format string, args ...any) {
	if s.config.Log != nil {
		s.config.Log(fmt.Sprintf(format, args...))
	}
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
