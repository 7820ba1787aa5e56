// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import "net/http"

// RedirectError is the error for a server that redirects a request. It is not followed, because the credentials would be sent to
// another server.
type RedirectError struct {
	// To is where the redirect leads, without a query and credentials.
	To string
}

// Error implements error.
func (e *RedirectError) Error() string { return "the server redirects to " + e.To }

// rejectRedirect is the CheckRedirect of an HTTP client that follows none.
func rejectRedirect(next *http.Request, _ []*http.Request) error {
	return &RedirectError{To: next.URL.Scheme + "://" + next.URL.Host + next.URL.Path}
}
