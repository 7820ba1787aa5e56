// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// tolerated is how much a clock may differ unnoticed: the date of a response has a precision of a second, and a response takes time.
const tolerated = 5 * time.Second

// clusterClock is the clock of the cluster, as far as responses show it. The times in objects are of the cluster, and a clock of this machine
// that is minutes ahead would make all of them seem long past.
type clusterClock struct {
	clock.PassiveClock
	ahead atomic.Int64
}

// observe returns the clock of the cluster that is reached by a configuration.
func observe(config *rest.Config, local clock.PassiveClock) clock.PassiveClock {
	c := &clusterClock{PassiveClock: local}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, c} })
	return c
}

// Now returns the time in the cluster.
func (c *clusterClock) Now() time.Time {
	return c.PassiveClock.Now().Add(time.Duration(c.ahead.Load()))
}

// Since returns how long a time in the cluster is past.
func (c *clusterClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// dated reads the dates of responses.
type dated struct {
	http.RoundTripper
	clock *clusterClock
}

// RoundTrip sends a request.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.RoundTripper.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		ahead := date.Sub(d.clock.PassiveClock.Now())
		if ahead.Abs() < tolerated {
			ahead = 0
		}
		d.clock.ahead.Store(int64(ahead))
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.RoundTripper }
