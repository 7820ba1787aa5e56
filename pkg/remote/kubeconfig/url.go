// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"net/url"
	"slices"
)

// isURL reports whether a text is an absolute URL of one of the schemes, with a host and without what does not belong into
// the address of a server. It rules out unix sockets and credentials that would end up in logs.
func isURL(text string, schemes ...string) bool {
	parsed, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, parsed.Scheme) && parsed.Hostname() != "" && parsed.Opaque == "" &&
		parsed.User == nil && parsed.RawQuery == "" && !parsed.ForceQuery && parsed.Fragment == ""
}
