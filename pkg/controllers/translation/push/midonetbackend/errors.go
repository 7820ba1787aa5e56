// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/requests"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// failure converts an error of the client to a backend.Error; nil stays nil.
func failure(err error) error {
	if err == nil {
		return nil
	}
	message := messageOf(err)
	if midonet.IsInvalidResponse(err) {
		err = fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return &backend.Error{Reason: reasonOf(err), Code: codeOf(err), Message: message, Err: err}
}

// codeOf returns the code of the server's response, to the login if that failed.
func codeOf(err error) int {
	if code := midonet.StatusOf(err); code != 0 {
		return code
	}
	if e, ok := errors.AsType[*midonet.Error](err); ok {
		return midonet.StatusOf(e.Err)
	}
	return 0
}

func reasonOf(err error) backend.Reason {
	switch status := midonet.StatusOf(err); {
	case midonet.IsFenced(err):
		return backend.Fenced
	case midonet.IsLogin(err):
		// A password is changed here and there one after the other, so even a rejected login may soon be taken.
		return backend.Transient
	case midonet.IsInvalid(err):
		return backend.Refused
	case status == 0, midonet.IsTransient(err):
		return backend.Transient
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout:
		return backend.Transient
	case status == http.StatusNotFound:
		return backend.NotFound
	case status == http.StatusConflict:
		return backend.Conflict
	case status/100 == 3:
		// The configured URL is wrong, not the resource.
		return backend.Transient
	default:
		return backend.Refused
	}
}

// messageOf returns the server's message, or what is known instead.
func messageOf(err error) string {
	e, ok := errors.AsType[*midonet.Error](err)
	if !ok {
		return err.Error()
	}
	text := e.Message
	if text == "" && e.Err != nil {
		text = withoutSource(e.Err)
	}
	if text == "" {
		text = strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
	}
	if midonet.IsLogin(err) {
		return "logging in to MidoNet failed (check translation.midonet: username, passwordFile and project): " + text
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		return "MidoNet does not let this user do that (check translation.midonet: username, passwordFile and project): " + text
	}
	return text
}

// withoutSource returns an error's text without the local end of the connection: its port is another one each time, and a message
// that is new each time is written to the API server each time.
func withoutSource(err error) string {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Source == nil {
		return err.Error()
	}
	stable := *op
	stable.Source = nil
	return stable.Error()
}

// NewClient makes the client that the configuration describes. The fence is checked before each write, and its error ends the
// write; nil lets all through. Requests are counted in the registry. It does not connect, and reads the password when it logs in.
// An error names the setting that cannot be used.
func NewClient(config configv1alpha1.MidoNetConfiguration, fence func() error, registry prometheus.Registerer) (*midonet.Client, error) {
	observe, err := requests.Register(registry)
	if err != nil {
		return nil, err
	}
	options := midonet.Options{
		URL:         config.URL,
		Credentials: midonet.Credentials{Username: config.Username, Project: config.Project},
		BeforeWrite: fence,
		Observe: func(kind, method string, code int, took time.Duration) {
			label := "none"
			if code != 0 {
				label = strconv.Itoa(code)
			}
			observe(kind, method, label, took)
		},
	}
	if config.PasswordFile != "" {
		options.Password = midonet.PasswordFile(config.PasswordFile)
	}
	if config.Timeout != nil {
		options.Timeout = config.Timeout.Duration
	}
	return midonet.New(options)
}
