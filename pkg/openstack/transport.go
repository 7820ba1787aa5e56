// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// responseLimit is the most that is read of one response, in bytes: a page of ten thousand servers fits.
const responseLimit = 64 << 20

// errNoTurn means that a request did not leave, because too many others are before it.
var errNoTurn = errors.New("no turn within the limit of requests to this cloud: raise qps and burst for openstack in the configuration")

// errLongResponse means that a response was cut.
var errLongResponse = fmt.Errorf("the response is longer than %d bytes", responseLimit)

// fencedError means that Options.BeforeWrite rejected a request.
type fencedError struct{ error }

// Unwrap is why.
func (e fencedError) Unwrap() error { return e.error }

// identityService is the label of requests to Keystone and to what is found by its catalog.
const identityService = "identity"

type serviceKey struct{}

// toService marks the requests under a context as those to one service.
func toService(ctx context.Context, service string) context.Context {
	return context.WithValue(ctx, serviceKey{}, service)
}

// transport sends requests when it is their turn, ends those that take too long, and counts them.
type transport struct {
	base    http.RoundTripper
	turns   flowcontrol.RateLimiter
	options Options
}

// RoundTrip sends one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	service, ok := req.Context().Value(serviceKey{}).(string)
	if !ok {
		service = identityService
	}
	if err := t.mayLeave(req, service); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), t.options.Timeout)
	started := t.options.Clock.Now()
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	took := t.options.Clock.Since(started)
	if err != nil {
		cancel()
		t.options.Telemetry.request(service, req.Method, 0, took)
		return nil, err
	}
	t.options.Telemetry.request(service, req.Method, resp.StatusCode, took)
	resp.Body = &body{ReadCloser: resp.Body, left: responseLimit, end: cancel}
	return resp, nil
}

// mayLeave waits for the turn of a request, and checks whether it may change something then. A login changes nothing.
func (t *transport) mayLeave(req *http.Request, service string) error {
	if err := t.turns.Wait(req.Context()); err != nil {
		return cmp.Or(req.Context().Err(), errNoTurn)
	}
	if req.Method == http.MethodGet || req.Method == http.MethodHead || service == identityService {
		return nil
	}
	if err := t.options.BeforeWrite(); err != nil {
		return fencedError{err}
	}
	return nil
}

// body is a response that is bounded in length, and in duration until it is closed.
type body struct {
	io.ReadCloser
	left int64
	end  context.CancelFunc
}

// Read reads no more than the limit.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errLongResponse
	}
	return n, err
}

// Close ends the request.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// dialer makes the connections to clouds that show certificates of the system's CAs or of those in PEM. trust is that of
// Credentials.
func dialer(trust string) *http.Transport {
	d := http.DefaultTransport.(*http.Transport).Clone()
	d.Proxy = http.ProxyFromEnvironment
	d.MaxIdleConnsPerHost = 16
	d.IdleConnTimeout = 90 * time.Second
	d.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	switch trust {
	case "":
	case insecure:
		d.TLSClientConfig.InsecureSkipVerify = true // the Secret has verify: false, and a condition warns of it
	default:
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pool.AppendCertsFromPEM([]byte(trust))
		d.TLSClientConfig.RootCAs = pool
	}
	return d
}

// httpClient follows no redirect: it would carry the token to wherever that points.
func httpClient(base http.RoundTripper, turns flowcontrol.RateLimiter, o Options) http.Client {
	if o.Wrap != nil {
		base = o.Wrap(base)
	}
	return http.Client{
		Transport:     &transport{base: base, turns: turns, options: o},
		Timeout:       turnWait + o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
