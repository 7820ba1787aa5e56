// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"net/http"
	"strings"
)

// Cloud returns what is between a fake cloud and its clients. Logins are no writes.
func (g *Gate) Cloud(next http.Handler) http.Handler {
	return g.Handler(next, func(r *http.Request) bool {
		return r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/auth/tokens")
	})
}

// IsCloudWrite selects the writes of HTTP.
func IsCloudWrite(r *Request) bool { return !r.object && strings.HasPrefix(r.Object, "/") }
