// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// responseLimit is the most that is read of a response, in bytes: a list of a million rules fits.
const responseLimit = 512 << 20

// New makes a client. It does not connect.
func New(o Options) (*Client, error) {
	o, base, err := o.complete()
	if err != nil {
		return nil, err
	}
	return &Client{
		options: o,
		base:    base,
		// A redirect would carry the token to wherever it points.
		http: &http.Client{Transport: o.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		session: session{turn: make(chan struct{}, 1)},
		clock:   clock.RealClock{},
		pause:   kit.Pause,
		random:  rand.Float64,
	}, nil
}

// request is one call: everything but the attempts.
type request struct {
	verb                Verb
	ref                 Ref
	method, path        string
	query               url.Values
	body                []byte
	contentType, accept string
}

func (r request) write() bool { return r.method != http.MethodGet }

// response is what came back.
type response struct {
	status     int
	body       []byte
	retryAfter time.Duration
}

// do sends a request until there is a response, rejected permanently, or out of attempts or time.
func (c *Client) do(ctx context.Context, r request) ([]byte, error) {
	if r.write() {
		// The whole of a write is short, so that one that was begun with a lease cannot end long after it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.options.Timeout)
		defer cancel()
	}
	loggedIn := false
	for attempt := 1; ; attempt++ {
		if r.write() {
			if err := c.options.BeforeWrite(); err != nil {
				return nil, &Error{Op: r.verb.String(), Ref: r.ref, Err: fmt.Errorf("%w: %w", errFenced, err)}
			}
		}
		a, token, err := c.attempt(ctx, r)
		if err == nil && a.status/100 == 2 {
			return a.body, nil
		}
		if err == nil && a.status == http.StatusUnauthorized && !loggedIn && token != "" {
			// The token ended before its time. One new one is enough to know.
			c.session.discard(token)
			loggedIn = true
			attempt--
			continue
		}
		failure := c.failure(r, a, token, err)
		if attempt >= c.options.Attempts || ctx.Err() != nil || !again(r.method, a.status, err) {
			return nil, failure
		}
		backoff := kit.Backoff(attempt, c.options.MinBackoff, c.options.MaxBackoff, c.random())
		if c.pause(ctx, max(backoff, min(a.retryAfter, c.options.MaxBackoff))) != nil {
			return nil, failure
		}
	}
}

// attempt sends a request once, with a token if there is a user.
func (c *Client) attempt(ctx context.Context, r request) (response, string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	token, err := c.session.get(ctx, c)
	if err != nil {
		return response{}, "", err
	}
	header := http.Header{}
	if token != "" {
		header.Set("X-Auth-Token", token)
	}
	if r.contentType != "" {
		header.Set("Content-Type", r.contentType)
	}
	if r.accept != "" {
		header.Set("Accept", r.accept)
	}
	a, err := c.send(ctx, r.ref.Kind, r.method, r.path, r.query, header, r.body)
	return a, token, err
}

// send sends one request, and returns its response.
func (c *Client) send(ctx context.Context, kind, method, path string, query url.Values, header http.Header, body []byte) (response, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header = header
	started := c.clock.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		c.options.Observe(kind, method, 0, c.clock.Since(started))
		return response{}, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, responseLimit+1))
	c.options.Observe(kind, method, resp.StatusCode, c.clock.Since(started))
	switch {
	case err != nil:
		return response{}, fmt.Errorf("the response broke off: %w", err)
	case len(data) > responseLimit:
		return response{}, fmt.Errorf("%w: the response is longer than %d bytes", errRejected, responseLimit)
	}
	a := response{status: resp.StatusCode, body: data}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.retryAfter = time.Duration(min(seconds, 3600)) * time.Second
	}
	return a, nil
}

// again decides whether to send a request once more. What replaces, deletes or reads has the same outcome however
// often it arrives. A POST has not: it is repeated only when the server cannot have worked on it.
func again(method string, status int, err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		// Logging in failed: nothing was sent yet.
		return IsTransient(e)
	}
	switch {
	case errors.Is(err, errRejected):
		return false
	case err != nil:
		return method != http.MethodPost || notSent(err)
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return true
	default:
		return status >= 500 && status != http.StatusNotImplemented && method != http.MethodPost
	}
}

// failure returns the error of the last attempt.
func (c *Client) failure(r request, a response, token string, err error) error {
	e := &Error{Op: r.verb.String(), Ref: r.ref, Status: a.status, Err: err}
	if login, ok := errors.AsType[*Error](err); ok {
		e.Err = login
		return e
	}
	if err == nil {
		password := ""
		if p := c.password.Load(); p != nil {
			password = *p
		}
		e.Message = message(a.body, password, token)
		if a.status/100 == 3 {
			e.Message = "the server redirects; give the URL that it redirects to"
		}
	}
	return e
}
