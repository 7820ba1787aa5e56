// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gophercloud/gophercloud/v2"
)

// statusUnfit is a code that some rate limiters of OpenStack respond with.
const statusUnfit = 498

// The maximum length of a service's message, in bytes: Neutron quotes all routes of a router before it states what is wrong.
const (
	messageHead = 384
	messageTail = 192
)

// classify makes an Error of what gophercloud returns. Texts in secrets are removed from every message.
func classify(op string, err error, now time.Time, secrets ...string) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	e := &Error{Op: op}
	if again, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		if own, ok := errors.AsType[*Error](again.ErrReauth); ok {
			failed := *own
			failed.Op = op + ": " + own.Op
			return &failed
		}
		e.Op, err = op+": authenticate", again.ErrReauth
	}
	if after, ok := errors.AsType[*gophercloud.ErrErrorAfterReauthentication](err); ok {
		err = after.ErrOriginal
	}
	if failed, ok := errors.AsType[*pageError](err); ok {
		e.Op, err = fmt.Sprintf("%s: page %d", e.Op, failed.number), failed.err
	}
	response, responded := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err)
	fence, fenced := errors.AsType[fencedError](err)
	_, missing := errors.AsType[*gophercloud.ErrEndpointNotFound](err)
	switch {
	case responded:
		e.Status, e.Message = response.Actual, message(response.Body, secrets...)
		e.Reason = reasonFor(e.Status, e.Message)
		e.RetryAfter = retryAfter(response.ResponseHeader, now)
		if e.Status/100 == 3 {
			e.Message = "the service redirects; use the URL that it redirects to"
		}
	case missing:
		e.Reason, e.Err = ReasonServiceMissing, errors.New("the catalog has no such endpoint")
	case errors.Is(err, errPartial):
		e.Reason, e.Err = ReasonIncomplete, err
	case errors.Is(err, errNoTurn):
		e.Reason, e.Err = ReasonRateLimited, errNoTurn
	case fenced:
		e.Reason, e.Err = ReasonCanceled, fmt.Errorf("not sent: %w", fence.error)
	case errors.Is(err, context.Canceled):
		e.Reason, e.Err = ReasonCanceled, context.Canceled
	default:
		e.Reason, e.Err = ReasonUnreachable, plain(err, secrets...)
	}
	return e
}

// reasonFor reads the code of a response. Services report a used up quota by 403, 409 or 413.
func reasonFor(status int, text string) Reason {
	quota := strings.Contains(strings.ToLower(text), "quota")
	switch {
	case status == http.StatusUnauthorized:
		return ReasonCredentialsRefused
	case status == http.StatusRequestEntityTooLarge, quota && (status == http.StatusForbidden || status == http.StatusConflict):
		return ReasonQuotaExceeded
	case status == http.StatusForbidden:
		return ReasonForbidden
	case status == http.StatusNotFound:
		return ReasonNotFound
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return ReasonConflict
	case status == http.StatusTooManyRequests, status == statusUnfit:
		return ReasonRateLimited
	case status >= http.StatusInternalServerError:
		return ReasonUnreachable
	default:
		return ReasonRefused
	}
}

// plain returns an error of the network without the URL, which Error gives in its own words, and without secrets.
func plain(err error, secrets ...string) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	text := err.Error()
	if short := shorten(text, secrets...); short != text {
		return errors.New(short)
	}
	return err
}

// message reads the service's message out of the body of an error. Each service has its own form around it: {"error":
// {"message"}}, {"NeutronError": {"message"}}, {"itemNotFound": {"message"}} or {"faultstring"}. Of anything else nothing is
// repeated: the author of the Secret chooses the server, and could have Groundskeeper repeat the response of any server.
func message(body []byte, secrets ...string) string {
	text := ""
	var response map[string]json.RawMessage
	if json.Unmarshal(body, &response) == nil {
		for _, part := range response {
			var inner struct {
				Message string `json:"message"`
			}
			if json.Unmarshal(part, &inner) == nil && inner.Message != "" {
				text = inner.Message
			}
		}
		for _, name := range []string{"faultstring", "message"} {
			var flat string
			if json.Unmarshal(response[name], &flat) == nil && flat != "" {
				text = flat
			}
		}
	}
	return shorten(text, secrets...)
}

// shorten makes a text of another client one line of bounded length without Groundskeeper's secrets.
func shorten(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= messageHead+messageTail {
		return text
	}
	head, tail := messageHead, len(text)-messageTail
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + " ... " + text[tail:]
}
