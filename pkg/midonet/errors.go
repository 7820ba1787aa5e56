// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Error is a call that failed. It never holds a credential.
type Error struct {
	// Op is what was tried: create, get, update, delete, list or log in.
	Op string
	// Ref is the resource, or for a list the kind and the parent.
	Ref Ref
	// Status is the code of the server's response, 0 when none came.
	Status int
	// Message is the server's, shortened; empty when it gave none.
	Message string
	// Err is why there is no response, or none that can be read; nil when the server rejected.
	Err error
}

// Error names the resource, the code and the server's message.
func (e *Error) Error() string {
	s := e.Op
	if e.Ref.Kind != "" {
		s += " " + e.Ref.String()
	}
	if e.Status != 0 {
		s += fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the reason why there is no response.
func (e *Error) Unwrap() error { return e.Err }

// StatusOf returns the code of the server's response, 0 when there was none or the error is not of a call.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// IsNotFound reports that the resource, or one that it refers to, does not exist.
func IsNotFound(err error) bool { return StatusOf(err) == http.StatusNotFound }

// IsFenced reports that Options.BeforeWrite stopped the write.
func IsFenced(err error) bool { return errors.Is(err, errFenced) }

// IsInvalid reports that the call was wrong in itself and was not sent.
func IsInvalid(err error) bool { return errors.Is(err, errRejected) && !IsFenced(err) }

// IsInvalidResponse reports whether the server responded with a resource that is not understood.
func IsInvalidResponse(err error) bool { return errors.Is(err, errInvalid) }

// IsLogin reports that logging in failed.
func IsLogin(err error) bool {
	for e, ok := errors.AsType[*Error](err); ok; e, ok = errors.AsType[*Error](e.Err) {
		if e.Op == opLogin {
			return true
		}
	}
	return false
}

// IsTransient reports that the same call may succeed later without anybody's doing: no response came, or the server was busy or
// broken. A 500 is one of those, except for an entry of a MAC or ARP table it can also mean that the entry exists.
func IsTransient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	if login, ok := errors.AsType[*Error](e.Err); ok {
		return IsTransient(login)
	}
	switch {
	case e.Op == opLogin && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return false
	case e.Status >= 500, e.Status == http.StatusTooManyRequests:
		return true
	default:
		return e.Status == 0 && e.Err != nil && !errors.Is(e.Err, errRejected) && !errors.Is(e.Err, context.Canceled)
	}
}

// notSent reports that the request never left: no server accepted it.
func notSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// withoutURL takes the URL off an error of net/http: Error names the resource in its own words.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// messageLimit is how many bytes of a server's message are kept.
const messageLimit = 1024

// message reads the server's message out of the body of an error, {"message","code"} as a rule, and removes secrets.
func message(body []byte, secrets ...string) string {
	var response struct {
		Message string `json:"message"`
	}
	text := string(body)
	if json.Unmarshal(body, &response) == nil {
		text = response.Message
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return kit.Bounded(strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "), messageLimit)
}
