// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"

	"groundskeeper.io/groundskeeper/test/bench/probe"
)

const (
	discovererName = "groundskeeper-discoverer"
	// syncedPoll is how often a discoverer is queried whether it has compared everything.
	syncedPoll = 10 * time.Millisecond
)

// discovererProcess is a discoverer with the flags of its defaults.
type discovererProcess struct {
	cmd          *exec.Cmd
	log, address string
	once         sync.Once
}

func (d *discovery) startDiscoverer(ctx context.Context) (*discovererProcess, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p := &discovererProcess{log: filepath.Join(d.dir, discovererName+".log"), address: address}
	file, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the process has its own handle
	p.cmd = exec.CommandContext(ctx, filepath.Join(filepath.Dir(d.here.Kubectl()), discovererName), "kubernetes",
		"--gimbal-kubecfg-file="+d.kubeconfig, "--discover-kubecfg-file="+d.backend.AdminKubeconfig(), "--backend-name="+discoveredBackend,
		"--backend-namespace="+discoveryNamespace, "--prometheus-listen-address="+address)
	p.cmd.Stderr = file
	return p, p.cmd.Start()
}

// stop ends the process, which gives its Lease back; later calls do nothing.
func (p *discovererProcess) stop() {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
	})
}

// tail returns an error with the output of the process.
func (p *discovererProcess) tail() error {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s printed: %s", discovererName, content)
}

// synced waits until the process works and has found, or made, everything as it should be.
func (p *discovererProcess) synced(ctx context.Context) error {
	const cycles = "gimbal_discoverer_cycle_duration_seconds_count"
	return wait.PollUntilContextTimeout(ctx, syncedPoll, time.Minute, true, func(ctx context.Context) (bool, error) {
		samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+p.address+"/metrics", cycles)
		return err == nil && len(samples) == 1 && samples[0].Value > 0, nil // it may not listen yet
	})
}

// copyWatch sees the copies come.
type copyWatch struct{ services, endpoints watch.Interface }

func (d *discovery) watchCopies(ctx context.Context) (*copyWatch, error) {
	options := metav1.ListOptions{LabelSelector: gimbalv1.LabelBackend + "=" + discoveredBackend, ResourceVersion: "0"}
	services, err := d.client.CoreV1().Services("").Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	endpoints, err := d.client.DiscoveryV1().EndpointSlices("").Watch(ctx, options)
	if err != nil {
		services.Stop()
		return nil, err
	}
	return &copyWatch{services: services, endpoints: endpoints}, nil
}

func (c *copyWatch) stop() {
	c.services.Stop()
	c.endpoints.Stop()
}

// all waits until there are so many Services and as many EndpointSlices.
func (c *copyWatch) all(ctx context.Context, count int) error {
	services, endpoints := sets.New[types.UID](), sets.New[types.UID]()
	for len(services) < count || len(endpoints) < count {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d services and %d slices of %d are copied: %w", len(services), len(endpoints), count, context.Cause(ctx))
		case event := <-c.services.ResultChan():
			service, ok := event.Object.(*corev1.Service)
			if !ok {
				return errors.New("the watch of services ended")
			}
			services.Insert(service.UID)
		case event := <-c.endpoints.ResultChan():
			slice, ok := event.Object.(*discoveryv1.EndpointSlice)
			if !ok {
				return errors.New("the watch of slices ended")
			}
			endpoints.Insert(slice.UID)
		}
	}
	return nil
}

// changed waits until the first endpoint of a service is not ready here.
func (c *copyWatch) changed(ctx context.Context, i int) error {
	service, slice := discoveredService(i)
	name := desired.SliceName(desired.CopyName(discoveredBackend, service.Name), slice.Name)
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("service %s is not copied: %w", service.Name, context.Cause(ctx))
		case event := <-c.endpoints.ResultChan():
			slice, ok := event.Object.(*discoveryv1.EndpointSlice)
			if !ok {
				return errors.New("the watch of slices ended")
			}
			if slice.Name == name && !*slice.Endpoints[0].Conditions.Ready {
				return nil
			}
		}
	}
}
