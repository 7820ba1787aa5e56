// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/bench/probe"
)

// baselineWrites is how many writes run concurrently, as many as the controller's.
const baselineWrites = 16

// baseline reports how long the writes of a drain take without the controller: a client that has listed all EndpointSlices updates each
// of them, without any watch. The rest of the time is the controller's: its decisions, watches and metrics.
func (m *maintained) baseline(ctx context.Context) error {
	if err := m.Managers[0].Stop(ctx); err != nil {
		return err
	}
	config := rest.CopyConfig(m.Config())
	config.QPS, config.ContentType = -1, runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	slices := client.DiscoveryV1().EndpointSlices(routeNamespace)
	all, err := slices.List(ctx, metav1.ListOptions{LabelSelector: gimbalv1.LabelBackend + "=" + drainedBackend})
	if err != nil {
		return err
	}
	if len(all.Items) != m.objects {
		return fmt.Errorf("there are %d EndpointSlices of the backend, want %d", len(all.Items), m.objects)
	}
	before, err := probe.UsageOf(m.KubeAPIServer.PID())
	if err != nil {
		return err
	}
	start := time.Now()
	if err := parallel(baselineWrites, len(all.Items), func(i int) error {
		slice := &all.Items[i]
		slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(false), Terminating: new(false)}
		_, err := slices.Update(ctx, slice, metav1.UpdateOptions{})
		return err
	}); err != nil {
		return err
	}
	elapsed := time.Since(start)
	after, err := probe.UsageOf(m.KubeAPIServer.PID())
	if err != nil {
		return err
	}
	if err := m.add("", "time of these writes without the controller", elapsed.Seconds(), "s", nil); err != nil {
		return err
	}
	return m.add(m.KubeAPIServer.Name(), "CPU of these writes without the controller", (after.CPU - before.CPU).Seconds(), "CPU-s", nil)
}
