// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// maxText is how many bytes of a message are kept: a status has room for many.
const maxText = 300

// failure is an API server that does not do what it has to. Its text has no credentials.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// failed converts a failure to an error with its context; nil stays nil.
func (c *Connection) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{text: what + ": " + c.clean(err.Error()), cause: err}
}

// secretsOf returns the credentials in a config.
func secretsOf(config *rest.Config) []string {
	secrets := []string{config.BearerToken, config.Password}
	if config.Password != "" {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(config.Username+":"+config.Password)))
	}
	return secrets
}

// clean makes the text of another client one line of bounded length without Groundskeeper's credentials, which a server may echo.
func (c *Connection) clean(text string) string {
	for _, secret := range c.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

type verdict int

const (
	accepted verdict = iota
	// deleted means that there is no such object any more.
	deleted
	// changed means that the object is not the one that the decision was made by.
	changed
	// rejected means that admission or validation does not let it happen.
	rejected
)

// judge classifies the result of a write. The error is the API server's own: the request was not evaluated.
func judge(err error) (verdict, error) {
	if err == nil {
		return accepted, nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return 0, err
	}
	// A webhook may respond with any code.
	text, code := status.ErrStatus.Message, int(status.ErrStatus.Code)
	if strings.HasPrefix(text, "admission webhook ") || strings.HasPrefix(text, "Internal error occurred: admission webhook ") || calling.MatchString(text) {
		return rejected, nil
	}
	switch {
	case apierrors.IsNotFound(err):
		return deleted, nil
	case apierrors.IsConflict(err):
		return changed, nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden && isRight(text),
		code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError, code < http.StatusBadRequest:
		return 0, err
	}
	return rejected, nil
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}

// isRight reports whether a right is missing, by the message of a response with status 403: admission responds with it as well.
func isRight(text string) bool {
	return strings.Contains(text, `User "`) && strings.Contains(text, `" cannot `)
}

// calling is how an API server begins to report that a webhook did not give it a response.
var calling = regexp.MustCompile(`^Internal error occurred: failed calling webhook "`)

// unanswered is how it reports that it did not get as far as a request: by the error of its HTTP client, which names the URL. A
// webhook that responds, be it with an error, is not named so.
// https://github.com/kubernetes/apiserver/blob/master/pkg/util/webhook/error.go
var unanswered = regexp.MustCompile(`^Internal error occurred: failed calling webhook "([^"]+)": (?:failed to call webhook: )?Post "?(https://[^\s"]+?)"?: `)

// webhook is a webhook of some configuration, by its name and its URL as the API server calls it.
type webhook struct {
	name, url string
	// operation is what it does not let happen: DELETE or UPDATE.
	operation string
}

// unreachable returns the webhook that a write was rejected for because it could not be reached.
func unreachable(err error, operation string) (webhook, bool) {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return webhook{}, false
	}
	found := unanswered.FindStringSubmatch(status.ErrStatus.Message)
	if found == nil {
		return webhook{}, false
	}
	return webhook{name: found[1], url: found[2], operation: operation}, true
}

// rejection is why an object remains whose write was rejected.
func (c *Connection) rejection(err error) string {
	return fmt.Sprintf("rejected: %s", c.clean(err.Error()))
}
