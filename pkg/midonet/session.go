// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

const (
	opLogin = "log in"
	// expiryMargin is how long before it expires a token is replaced, so that it lasts for a request.
	expiryMargin = 30 * time.Second
	// loginPause is how long a rejected user is not tried again, so that Groundskeeper does not get the user locked out.
	loginPause = 10 * time.Second
)

// session holds the token. One goroutine logs in, the others wait for it.
type session struct {
	// turn is held while the token is checked or fetched. It is a channel so that waiting ends with a context.
	turn     chan struct{}
	token    string
	expires  time.Time // zero: unknown, a 401 will show
	rejected *Error    // by the last login; it is not tried again until the time below
	until    time.Time
}

// get returns the token to use, a new one if need be. It is empty when there is no user.
func (s *session) get(ctx context.Context, c *Client) (string, error) {
	if c.options.Credentials.Username == "" {
		return "", nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", &Error{Op: opLogin, Err: ctx.Err()}
	}
	now := c.clock.Now()
	if s.token != "" && (s.expires.IsZero() || now.Before(s.expires.Add(-expiryMargin))) {
		return s.token, nil
	}
	if s.rejected != nil && now.Before(s.until) {
		return "", s.rejected
	}
	token, expires, err := c.login(ctx)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && !IsTransient(e) && e.Status != 0 {
			s.rejected, s.until = e, c.clock.Now().Add(loginPause)
		}
		return "", err
	}
	if !expires.IsZero() && !c.clock.Now().Before(expires.Add(-expiryMargin)) {
		// Shorter than the margin, or a clock is wrong: the server knows better when it ends.
		expires = time.Time{}
	}
	s.token, s.expires, s.rejected = token, expires, nil
	return token, nil
}

// discard drops a token that the server did not take, unless another goroutine has replaced it already.
func (s *session) discard(token string) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.token == token {
		s.token = ""
	}
}

// login fetches a token: POST /login with the user as Basic auth gives {"key", "expires"}.
func (c *Client) login(ctx context.Context) (string, time.Time, error) {
	credentials := c.options.Credentials
	var err error
	if credentials.Password, err = c.options.Password(); err != nil {
		return "", time.Time{}, &Error{Op: opLogin, Err: err}
	}
	c.password.Store(&credentials.Password)
	header := http.Header{}
	header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credentials.Username+":"+credentials.Password)))
	if credentials.Project != "" {
		header.Set("X-Auth-Project", credentials.Project)
	}
	a, err := c.send(ctx, "login", http.MethodPost, "/login", nil, header, nil)
	if err != nil {
		return "", time.Time{}, &Error{Op: opLogin, Err: err}
	}
	if a.status/100 != 2 {
		return "", time.Time{}, &Error{Op: opLogin, Status: a.status, Message: message(a.body, credentials.Password)}
	}
	token, expires, err := decodeToken(a.body)
	if err != nil {
		return "", time.Time{}, &Error{Op: opLogin, Err: err}
	}
	return token, expires, nil
}

// decodeToken reads the response to a login. Its errors do not repeat the response.
func decodeToken(data []byte) (token string, expires time.Time, err error) {
	var t struct {
		Key     string `json:"key"`
		Expires any    `json:"expires"`
	}
	if json.Unmarshal(data, &t) != nil {
		return "", time.Time{}, errors.New("the response is not {\"key\", \"expires\"}")
	}
	if t.Key == "" {
		return "", time.Time{}, errors.New("the response has no token in \"key\"")
	}
	if strings.ContainsFunc(t.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", time.Time{}, errors.New("the token has characters that no header can have")
	}
	return t.Key, expiry(t.Expires), nil
}

// expiry reads the end of a token in the ways that servers and their plugins write it; zero when none fits.
func expiry(value any) time.Time {
	switch v := value.(type) {
	case float64:
		// Milliseconds since 1970, as Java counts. A year beyond 9999 is no time.
		if v > 0 && v < 253402300800000 {
			return time.UnixMilli(int64(v))
		}
	case string:
		for _, layout := range []string{time.RFC3339Nano, time.RFC1123, time.RFC1123Z, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05",
			"Mon Jan _2 15:04:05 MST 2006"} {
			if t, err := time.Parse(layout, v); err == nil {
				return t
			}
		}
	}
	return time.Time{}
}
