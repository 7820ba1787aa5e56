// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
)

// Clients keeps one authenticated client for each Secret. It is for many goroutines at a time.
type Clients struct {
	options Options

	mu      sync.Mutex
	secrets map[types.UID]*entry
	// turns are the rate limits by host of Keystone, dialers the connections by CAs.
	turns   shared[flowcontrol.RateLimiter]
	dialers shared[*http.Transport]
}

// entry is the client of one version of a Secret, there or on its way.
type entry struct {
	version     string
	credentials Credentials
	// ready is closed when client or err is there; both are read only after it.
	ready  chan struct{}
	client *Client
	err    error
	// retry is when credentials that failed may be tried again.
	retry time.Time
}

// NewClients makes an empty set of clients.
func NewClients(o Options) (*Clients, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	return &Clients{
		options: o,
		secrets: map[types.UID]*entry{},
		turns: shared[flowcontrol.RateLimiter]{
			make:  func(string) flowcontrol.RateLimiter { return flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst) },
			drop:  flowcontrol.RateLimiter.Stop,
			items: map[string]*item[flowcontrol.RateLimiter]{},
		},
		dialers: shared[*http.Transport]{make: dialer, drop: (*http.Transport).CloseIdleConnections, items: map[string]*item[*http.Transport]{}},
	}, nil
}

// Get returns the client of a Secret. The first who wants a version of it authenticates, all others wait for that. A new version
// with the same credentials keeps the client. Credentials that Keystone rejected are not tried again for a minute, unless the
// Secret changes. Errors name the Secret and wrap an Error.
func (c *Clients) Get(ctx context.Context, secret *corev1.Secret) (*Client, error) {
	e, err := c.entryOf(secret)
	if err == nil {
		select {
		case <-e.ready:
			err = e.err
		case <-ctx.Done():
			err = &Error{Op: "authenticate", Reason: ReasonCanceled, Err: ctx.Err()}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return e.client, nil
}

// Remove removes the client of a Secret that is no longer used. Its current requests continue.
func (c *Clients) Remove(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(uid)
}

// entryOf finds or starts the entry of a Secret.
func (c *Clients) entryOf(secret *corev1.Secret) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.secrets[secret.UID]
	usable := last != nil && !last.failed(c.options.Clock.Now())
	if usable && last.version == secret.ResourceVersion {
		return last, nil
	}
	credentials, err := CredentialsOf(secret.Data)
	if err != nil {
		c.drop(secret.UID)
		return nil, &Error{Op: "read the credentials", Reason: ReasonCredentialsInvalid, Err: err}
	}
	if err := CheckPlainHTTP(credentials.AuthURL, c.options.AllowPlainHTTP); err != nil {
		c.drop(secret.UID)
		return nil, &Error{Op: "read the credentials", Reason: ReasonCredentialsInvalid, Err: fmt.Errorf("%s %w", placeOfURL(secret.Data), err)}
	}
	if usable && last.credentials == credentials {
		last.version = secret.ResourceVersion
		return last, nil
	}
	c.drop(secret.UID)
	e := &entry{version: secret.ResourceVersion, credentials: credentials, ready: make(chan struct{})}
	c.secrets[secret.UID] = e
	transport := httpClient(c.dialers.take(credentials.trust()), c.turns.take(hostOf(credentials.AuthURL)), c.options)
	// The context of a caller does not cancel it, because others wait for it, too. Its requests have timeouts.
	go e.connect(transport, c.options)
	return e, nil
}

// connect authenticates and wakes all who wait.
func (e *entry) connect(transport http.Client, o Options) {
	defer close(e.ready)
	e.client, e.err = connect(context.Background(), e.credentials, transport, o)
	if ReasonOf(e.err) == ReasonCredentialsRefused {
		e.retry = o.Clock.Now().Add(rejectionPause)
	}
}

// failed reports whether there is an error, and it is time to try again.
func (e *entry) failed(now time.Time) bool {
	select {
	case <-e.ready:
		return e.err != nil && !now.Before(e.retry)
	default:
		return false
	}
}

// drop discards an entry and what only it used.
func (c *Clients) drop(uid types.UID) {
	e := c.secrets[uid]
	if e == nil {
		return
	}
	delete(c.secrets, uid)
	c.turns.release(hostOf(e.credentials.AuthURL))
	c.dialers.release(e.credentials.trust())
}
