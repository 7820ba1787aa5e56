// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	DefaultQPS        = 20
	DefaultBurst      = 40
	DefaultTimeout    = 30 * time.Second
	DefaultAttempts   = 3
	DefaultMinBackoff = 200 * time.Millisecond
	DefaultMaxBackoff = 5 * time.Second
)

const (
	// turnWait is how long a request waits for its turn at most. All workers together wait for far less.
	turnWait = time.Minute
	// rejectionPause is how long rejected credentials are not tried again: Keystone may lock a user who fails too often.
	rejectionPause = time.Minute
	// extensionsAge is how old the list of Neutron's extensions may be.
	extensionsAge = time.Hour
)

// Options specify how all clients talk to their clouds.
type Options struct {
	// QPS and Burst limit the requests to one cloud, of all Secrets together, in requests per second and as a burst. 0: DefaultQPS,
	// DefaultBurst.
	QPS   float32
	Burst int
	// Timeout is the time for one attempt at a request, the response read. 0: DefaultTimeout.
	Timeout time.Duration
	// Attempts is how often a request is sent at most. 0: DefaultAttempts.
	Attempts int
	// MinBackoff and MaxBackoff are the first and the longest pause between two attempts. A Retry-After that is longer than
	// MaxBackoff is not waited for: the error has it (RetryAfter). 0: DefaultMinBackoff, DefaultMaxBackoff.
	MinBackoff, MaxBackoff time.Duration
	// AllowPlainHTTP accepts Secrets whose Keystone is reached over plain HTTP.
	AllowPlainHTTP bool
	// UserAgent identifies Groundskeeper to the cloud's operators, before the name of the library.
	UserAgent string
	// Telemetry counts requests; nil: not counted.
	Telemetry *Telemetry
	// Wrap is put around the connections to the clouds, to see each attempt at a request; nil: nothing is.
	Wrap func(http.RoundTripper) http.RoundTripper
	// BeforeWrite is called before each attempt at a change of the cloud, when it is its turn; its error ends the call. It is how
	// a lease fences writes: an attempt may come long after the first one. nil: all are sent.
	BeforeWrite func() error
	// Clock is the source of the time; nil: the real one.
	Clock clock.PassiveClock
}

// complete checks the options and fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.QPS < 0 || o.Burst < 0 || o.Timeout < 0 || o.Attempts < 0 || o.MinBackoff < 0 || o.MaxBackoff < 0 {
		return o, errors.New("openstack qps, burst, timeout, attempts and backoff must not be negative")
	}
	o.QPS = cmp.Or(o.QPS, DefaultQPS)
	o.Burst = cmp.Or(o.Burst, DefaultBurst)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.MinBackoff = cmp.Or(o.MinBackoff, DefaultMinBackoff)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, max(DefaultMaxBackoff, o.MinBackoff))
	if o.BeforeWrite == nil {
		o.BeforeWrite = func() error { return nil }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, nil
}
