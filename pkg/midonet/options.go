// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultTimeout    = 4 * time.Second
	DefaultAttempts   = 4
	DefaultMinBackoff = 100 * time.Millisecond
	DefaultMaxBackoff = 2 * time.Second
)

// Options specify which MidoNet to talk to and how.
type Options struct {
	// URL is the root of the API, for instance http://midonet:8181/midonet-api. It has no user and no password.
	URL string
	// Credentials are for logging in. Without a user name there is no login, and requests have no token.
	Credentials Credentials
	// Password, if not nil, gives the password at each login, in place of that of the credentials: it may change while
	// the client lives. Its error ends the login and must not hold the password.
	Password func() (string, error)
	// Timeout is the time for one write with all that belongs to it (logging in, trying again), and for one attempt at
	// a read. 0: DefaultTimeout.
	Timeout time.Duration
	// Attempts is how often a request is sent at most. 0: DefaultAttempts.
	Attempts int
	// MinBackoff and MaxBackoff are the first and the longest pause between two attempts. A pause is twice the one
	// before it, less a random part of up to half. 0: DefaultMinBackoff, DefaultMaxBackoff.
	MinBackoff, MaxBackoff time.Duration
	// BeforeWrite is called before each attempt at a write; its error ends the call. It is how a lease fences writes. nil: all writes are
	// sent.
	BeforeWrite func() error
	// Observe is called with each response: the kind ("login" for a login), the method, the status code (0 if there was none) and
	// the duration; nil if there is no observer. It is called from many goroutines.
	Observe func(kind, method string, code int, took time.Duration)
	// Transport sends requests; nil: a copy of net/http's with room for many connections to one host.
	Transport http.RoundTripper
}

// Credentials are a user of MidoNet, of Keystone as a rule. They print as the name of the user alone.
type Credentials struct {
	// Username and Password go into the login.
	Username string
	Password string `json:"-"`
	// Project is the tenant to log in to, sent as X-Auth-Project; empty: the server's default.
	Project string
}

// Format keeps the password out of every log, whatever the verb.
func (c Credentials) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "user "+c.Username)
}

// MarshalLog keeps the password out of structured logs.
func (c Credentials) MarshalLog() any { return "user " + c.Username }

// complete checks the options and fills in the defaults.
func (o Options) complete() (Options, *url.URL, error) {
	base, err := url.Parse(o.URL)
	switch {
	case err != nil:
		// The parser's error repeats the URL, which may have a password in it.
		return o, nil, errors.New("midonet URL: cannot be parsed; write it like http://midonet:8181/midonet-api")
	case base.User != nil:
		return o, nil, errors.New("midonet URL: must not have a user or a password in it; use the credentials")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return o, nil, errors.New("midonet URL: must be like http://midonet:8181/midonet-api")
	case base.RawQuery != "" || base.Fragment != "":
		return o, nil, errors.New("midonet URL: must end with the path")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""
	if o.Credentials.Username == "" && (o.Credentials.Password != "" || o.Password != nil) {
		return o, nil, errors.New("midonet credentials: the password has no user name")
	}
	if o.Timeout < 0 || o.Attempts < 0 || o.MinBackoff < 0 || o.MaxBackoff < 0 {
		return o, nil, errors.New("midonet timeout, attempts and backoff must not be negative")
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.MinBackoff = cmp.Or(o.MinBackoff, DefaultMinBackoff)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, max(DefaultMaxBackoff, o.MinBackoff))
	if o.MaxBackoff < o.MinBackoff {
		return o, nil, fmt.Errorf("midonet backoff: the longest pause (%s) is below the first (%s)", o.MaxBackoff, o.MinBackoff)
	}
	if o.Password == nil {
		o.Password = func() (string, error) { return o.Credentials.Password, nil }
	}
	if o.BeforeWrite == nil {
		o.BeforeWrite = func() error { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(string, string, int, time.Duration) {}
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = maxIdleConns
		o.Transport = t
	}
	return o, base, nil
}

// maxIdleConns keeps the connections of all parallel workers open between requests.
const maxIdleConns = 64

// PasswordFile returns a function for Options.Password that reads the password from a file, without the line break at
// its end. It reads at each login, so that a new password counts as soon as the old token does not.
func PasswordFile(path string) func() (string, error) {
	return func() (string, error) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("password file: %w", err)
		}
		password := strings.TrimRight(string(content), "\r\n")
		if password == "" {
			return "", fmt.Errorf("password file %s: it is empty", path)
		}
		return password, nil
	}
}
