// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// retry decides about further attempts. gophercloud asks it after each failure, except for those that a new token mends.
type retry struct {
	options Options
	// pause waits, or returns the context's error.
	pause func(context.Context, time.Duration) error
	// random is in [0, 1) and spreads the pauses.
	random func() float64
}

func newRetry(o Options) retry { return retry{options: o, pause: kit.Pause, random: rand.Float64} }

// failed is gophercloud's RetryFunc: nil means once more.
func (r retry) failed(ctx context.Context, method, _ string, _ *gophercloud.RequestOpts, err error, failures uint) error {
	var header http.Header
	if response, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		if !slices.Contains([]int{500, 502, 503, 504}, response.Actual) {
			return err
		}
		header = response.ResponseHeader
	} else if _, fenced := errors.AsType[fencedError](err); fenced || errors.Is(err, errNoTurn) {
		return err
	}
	return r.again(ctx, method, header, err, failures)
}

// limited is gophercloud's RetryBackoffFunc: the service asks for fewer requests.
func (r retry) limited(ctx context.Context, response *gophercloud.ErrUnexpectedResponseCode, _ error, failures uint) error {
	return r.again(ctx, response.Method, response.ResponseHeader, *response, failures)
}

// again waits before the next attempt, or returns the error of the last one. Only requests that have the same outcome
// however often they arrive are sent twice.
func (r retry) again(ctx context.Context, method string, header http.Header, err error, failures uint) error {
	idempotent := []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}
	if !slices.Contains(idempotent, method) || failures >= uint(r.options.Attempts) || ctx.Err() != nil {
		return err
	}
	requested := retryAfter(header, r.options.Clock.Now())
	if requested > r.options.MaxBackoff {
		return err // the caller has better things to do than to wait for so long
	}
	backoff := kit.Backoff(int(failures), r.options.MinBackoff, r.options.MaxBackoff, r.random())
	if r.pause(ctx, max(requested, backoff)) != nil {
		return err
	}
	return nil
}

// retryAfter reads the header of that name, in seconds or as a date; 0: there is none, or it is over. More than a day
// is a day.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), most)
	}
	return 0
}
