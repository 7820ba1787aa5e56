// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/remotecleanup"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

const (
	// qps and burst limit the requests to each workload cluster. Watches take none of it.
	qps   = 100
	burst = 200
	// userAgent is who Groundskeeper is in the logs of workload clusters.
	userAgent = "groundskeeper-controller-manager"
	// steady is how long a cleanup has to run for its next failure to be a first one.
	steady = 10 * time.Minute
)

// realPauses are between two tries to begin the cleanup in a cluster.
func realPauses() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 1000, Cap: time.Minute}
}

type connector struct {
	options Options
	meters  *meters
	volumes *localvolume.Metrics
	pauses  wait.Backoff
}

func (c connector) open(ctx context.Context, b blueprint, news func()) (reporter, func(), error) {
	v := &view{health: &health{clock: c.options.Clock, changed: news}, news: news}
	config := remote.Limited(b.config, remote.Options{QPS: qps, Burst: burst, UserAgent: userAgent})
	client, closeConnections, err := httpClient(config, v.health, c.options.Fence)
	if err != nil {
		return nil, nil, err
	}
	var group sync.WaitGroup
	if b.nodes {
		nodeDeleted := func() {
			c.meters.nodeDeleted.Inc()
			c.options.NodeDeleted(b.key, b.uid)
		}
		if b.again {
			c.options.NodeDeleted(b.key, b.uid) // one may have been deleted while there was no watch
		}
		group.Go(func() {
			defer c.meters.runs(purposeNodes)()
			if err := watchNodes(ctx, config, client, nodeDeleted); err != nil {
				log.FromContext(ctx).Error(err, "The nodes of a workload cluster are not watched", "kluster", b.key)
			}
			<-ctx.Done()
		})
	}
	if b.volumes != nil {
		group.Go(func() {
			defer c.meters.runs(purposeVolumes)()
			c.clean(ctx, b, v, remotecleanup.Cluster{
				Name: b.key.String(), Config: config, HTTPClient: client, Settings: *b.volumes, Metrics: c.volumes, Clock: c.options.Clock,
				Running: v.running, Braked: v.braked, Elsewhere: v.cleanedElsewhere,
			})
		})
	}
	return v, func() {
		group.Wait()
		closeConnections()
	}, nil
}

// clean runs the local volume cleanup, and starts over when it could not begin, or ended.
func (c connector) clean(ctx context.Context, b blueprint, v *view, cluster remotecleanup.Cluster) {
	pauses := c.pauses
	for ctx.Err() == nil {
		began := c.options.Clock.Now()
		management, err := c.options.ClusterID(ctx)
		if err == nil {
			// The name is sufficient: a Kluster that is recreated continues.
			cluster.Holder = fmt.Sprintf("Kluster %s of the management cluster %s", b.key, management)
			err = remotecleanup.Run(ctx, cluster)
		}
		if ctx.Err() != nil {
			return
		}
		v.stopped(err)
		if _, forbidden := errors.AsType[*remotecleanup.ForbiddenError](err); err != nil && !forbidden {
			log.FromContext(ctx).V(1).Info("Restarting the local volume cleanup in a workload cluster", "kluster", b.key, "err", err)
		}
		if c.options.Clock.Since(began) > steady {
			pauses = c.pauses
		}
		select {
		case <-time.After(pauses.Step()):
		case <-ctx.Done():
		}
	}
}

const (
	// dialTimeout is how long a connection may take to come about.
	dialTimeout = 10 * time.Second
	// keepAlive is the pause between two probes of a connection that is idle.
	keepAlive = 30 * time.Second
)

// httpClient returns a client of one session, with separate connections. It follows no redirect, which would carry the credentials
// to another server. The returned function closes its connections.
func httpClient(config *rest.Config, health *health, fence func() error) (*http.Client, func(), error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, errors.New("the credentials of the cluster cannot be used")
	}
	// Other settings are the defaults of Kubernetes clients, including proxies from the environment and connection health checks.
	base := utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: tlsConfig, Proxy: config.Proxy,
		DialContext: (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
	})
	wrapped, err := rest.HTTPWrappersForConfig(config, kluster.Fenced{RoundTripper: &observed{next: base, health: health}, Fence: fence})
	if err != nil {
		base.CloseIdleConnections()
		return nil, nil, errors.New("the credentials of the cluster cannot be used")
	}
	client := &http.Client{Transport: wrapped, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client, base.CloseIdleConnections, nil
}

type observed struct {
	next   http.RoundTripper
	health *health
}

// RoundTrip implements http.RoundTripper.
func (o *observed) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(request)
	if request.Context().Err() == nil {
		o.health.observe(request, response, err)
	}
	return response, err
}
