// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

const (
	defaultInterval = 10 * time.Second
	writeTimeout    = 10 * time.Second
)

// ErrReplaced means that the store under a running server is no longer the one it started with. The server must end: it would
// respond "not found" for everything the old store held.
var ErrReplaced = errors.New("the store was replaced under the running server")

// Recorder keeps the record of the store current while the server runs.
type Recorder struct {
	// Interval is the least time between two records. 0 means 10 s.
	Interval time.Duration
	// Clock is the real one when nil.
	Clock clock.WithTicker
	// Metrics records the result of each attempt; nil means no metrics.
	Metrics *Metrics

	config   Config
	id       string
	written  atomic.Int64 // revision of the latest write of this process
	recorded int64        // revision that both store and cluster know; Run's alone
}

// NewRecorder returns a Recorder for the store that Verify returned.
func NewRecorder(config Config, verified Record) *Recorder {
	return &Recorder{config: config, id: verified.ID}
}

// Written records the revision of a write. It may be called concurrently and in any order.
func (r *Recorder) Written(revision int64) {
	for {
		known := r.written.Load()
		if revision <= known || r.written.CompareAndSwap(known, revision) {
			return
		}
	}
}

// Known returns the id of the store and the revision of the latest write that this process knows of.
func (r *Recorder) Known() Record {
	return Record{ID: r.id, Revision: r.written.Load()}
}

// Run records until the context ends, and once more then. It returns nil, or an error that wraps
// ErrReplaced, on which the server must end. Other failures are logged once and tried again.
func (r *Recorder) Run(ctx context.Context) error {
	ticks := cmp.Or[clock.WithTicker](r.Clock, clock.RealClock{})
	log := klog.FromContext(ctx).WithName("store-identity")
	ticker := ticks.NewTicker(cmp.Or(r.Interval, defaultInterval))
	defer ticker.Stop()
	failing := false
	for {
		last := false
		select {
		case <-ctx.Done():
			last = true
		case <-ticker.C():
		}
		err := r.record(context.WithoutCancel(ctx))
		r.Metrics.Observe(ticks.Now(), err)
		switch {
		case errors.Is(err, ErrReplaced):
			return err
		case err != nil && (last || !failing):
			log.Error(err, "Cannot record the state of the store, trying again")
		case err == nil && failing:
			log.Info("The state of the store is recorded again", "revision", r.recorded)
		}
		failing = err != nil
		if last {
			return nil
		}
	}
}

// record writes the revision of the latest write, first into the store and then into the cluster.
func (r *Recorder) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	store := store{kv: r.config.KV, prefix: r.config.Prefix}
	if r.recorded == 0 {
		// Record the writes of an earlier process that crashed before it recorded them.
		_, revision, err := store.read(ctx)
		if err != nil {
			return err
		}
		r.Written(revision)
	}
	to := Record{ID: r.id, Revision: r.written.Load()}
	// Without a write, too: it notices a store that was replaced.
	stored, err := store.advance(ctx, to)
	if err != nil || to.Revision <= r.recorded {
		return err
	}
	host := host{client: r.config.Host}
	for {
		recorded, version, err := host.record(ctx)
		if err != nil {
			return err
		}
		if recorded != nil && recorded.ID != r.id {
			return fmt.Errorf("%w: ConfigMap %s names store %s, not %s", ErrReplaced, configMapName, recorded.ID, r.id)
		}
		if recorded != nil && recorded.Revision >= to.Revision {
			break // another replica was first
		}
		if written, err := host.write(ctx, stored, version); err != nil {
			return err
		} else if written {
			break
		}
	}
	r.recorded = to.Revision
	return nil
}

// Metrics report how the record of the store is kept. A nil one reports nothing.
type Metrics struct {
	recorded prometheus.Gauge
	failures prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	f := telemetry.With(registry)
	m := &Metrics{
		recorded: f.Gauge("groundskeeper_store_recorded_timestamp_seconds",
			"When the state of the store was last compared and recorded, in seconds since 1970. 0: not yet."),
		failures: f.Counter("groundskeeper_store_record_failures_total", "Attempts to record the state of the store that failed."),
	}
	return m, f.Err()
}

// Observe records the result of an attempt to write the record.
func (m *Metrics) Observe(now time.Time, err error) {
	switch {
	case m == nil:
	case err != nil:
		m.failures.Inc()
	default:
		m.recorded.Set(float64(now.Unix()))
	}
}
