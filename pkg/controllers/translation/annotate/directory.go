// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

const (
	// listingAge is how long a listing of the hosts is good for.
	listingAge = 30 * time.Second
	// listingPause is the shortest time between two listings. A Node whose host is not in the last one, or that met an
	// error, does not cause another before.
	listingPause = 5 * time.Second
)

// directory finds hosts by name. It is for one goroutine.
type directory struct {
	hosts    Hosts
	clock    clock.PassiveClock
	listings *prometheus.CounterVec

	// at is when the last listing ended, err how.
	at  time.Time
	err error
	// ids are the ids of the hosts of a name; empty is that of a host which is not understood.
	ids map[string][]string
}

// find returns the ids of the hosts that have a name, exactly. It lists the hosts when it has to, for all Nodes.
func (d *directory) find(ctx context.Context, name string) ([]string, error) {
	found, err := d.ids[name], d.err
	age := d.clock.Since(d.at)
	if age >= listingAge || age >= listingPause && (err != nil || len(found) == 0) {
		d.list(ctx)
		found, err = d.ids[name], d.err
	}
	return found, err
}

// has reports whether the last listing had a host with the name.
func (d *directory) has(name string) bool { return len(d.ids[name]) > 0 }

func (d *directory) list(ctx context.Context) {
	hosts, err := d.hosts.Hosts(ctx)
	d.at, d.err, d.ids = d.clock.Now(), err, map[string][]string{}
	if err != nil {
		d.listings.WithLabelValues(listingFailed).Inc()
		return
	}
	d.listings.WithLabelValues(listingDone).Inc()
	for _, host := range hosts {
		d.ids[host.Name] = append(d.ids[host.Name], host.ID)
	}
}
