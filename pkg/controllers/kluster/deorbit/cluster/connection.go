// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster performs the stages of Deorbit inside the workload cluster: it freezes the cluster, deletes claims and their pods,
// snapshots and Services, and waits until the controllers of the cluster have cleaned up.
//
// Each call is one short check: it lists the objects, performs the actions that are possible now, and reports what remains.
package cluster

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"groundskeeper.io/groundskeeper/pkg/remote"
)

// Limits of a check.
const (
	// probeTimeout ends a check, and requestTimeout a request of it: the API server gives a webhook 10 s by default.
	probeTimeout   = 30 * time.Second
	requestTimeout = 15 * time.Second
	// writingTime is when a check has written enough: what is left has its turn in the next one.
	writingTime = 12 * time.Second
	// Parallel is how many objects are written concurrently.
	Parallel = 8
	// qps and burst limit the requests to one cluster, per second.
	qps, burst = 50, 100
)

// fieldManager is the manager of the fields Groundskeeper writes, and the user agent.
const fieldManager = "groundskeeper-deorbit"

// Connection is the connection to a workload cluster. It is used for many checks, and not concurrently.
type Connection struct {
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	transport *http.Transport
	// secrets may be in no message.
	secrets []string

	mu sync.Mutex
	// finalized are the uids of Services that were seen with the finalizer of a cloud provider.
	finalized map[types.UID]bool
	// unreachable is the number of consecutive checks in which a webhook could not be reached.
	unreachable map[webhook]int
}

// Connect returns a connection, over which nothing was sent yet. An error reports that the config cannot be used.
func Connect(config *rest.Config) (*Connection, error) {
	limited := remote.Limited(config, remote.Options{UserAgent: fieldManager})
	limited.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(qps, burst) // that of both clients
	c := &Connection{secrets: secretsOf(config), finalized: map[types.UID]bool{}, unreachable: map[webhook]int{}}
	httpClient, err := c.client(limited)
	if err != nil {
		return nil, fmt.Errorf("the credentials of the cluster cannot be used: %s", c.clean(err.Error()))
	}
	kube, err := kubernetes.NewForConfigAndClient(limited, httpClient)
	if err != nil {
		return nil, fmt.Errorf("the connection of the cluster cannot be used: %s", c.clean(err.Error()))
	}
	c.kube = kube
	if c.dynamic, err = dynamic.NewForConfigAndClient(limited, httpClient); err != nil {
		return nil, fmt.Errorf("the connection of the cluster cannot be used: %s", c.clean(err.Error()))
	}
	return c, nil
}

// client returns a client whose connections end with Close. It follows no redirect, which would carry the credentials to
// another server.
func (c *Connection) client(config *rest.Config) (*http.Client, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	c.transport = utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: tls, Proxy: config.Proxy, MaxIdleConnsPerHost: Parallel})
	wrapped, err := rest.HTTPWrappersForConfig(config, c.transport)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: wrapped, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Close ends the connections. A check that runs continues.
func (c *Connection) Close() { c.transport.CloseIdleConnections() }

// ID returns the uid of namespace kube-system: no two clusters have the same. An error is as that of Run.
func (c *Connection) ID(ctx context.Context) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	namespace, err := c.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", c.failed("get namespace "+metav1.NamespaceSystem, err)
	}
	return namespace.UID, nil
}
