// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import "strings"

// TranslationVersion is part of the name of every Translation that a converter makes, and of no id. A new one has every
// Translation rewritten; its backend resources are unchanged.
const TranslationVersion = "4"

// VersionOf returns the version in the name of a Translation, kind.version.key, and false for a name that no converter
// makes. A Translation with a version other than TranslationVersion is stale.
func VersionOf(name string) (version string, ok bool) {
	kind, rest, _ := strings.Cut(name, ".")
	version, key, found := strings.Cut(rest, ".")
	if !found || kind == "" || key == "" || version == "" || strings.Trim(version, "0123456789") != "" {
		return "", false
	}
	return version, true
}
