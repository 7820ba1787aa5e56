// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TranslationVersion is part of the name of every Translation, and of no id. A new one has every Translation written
// anew; the backend resources in it stay.
const TranslationVersion = "4"

// TranslationName returns the name of the Translation of what a key names, for instance pod.4.web-0. A key that is not
// fit for a name of Kubernetes is made so, and a hash of the original keeps it apart from others.
func TranslationName(kind, key string) string {
	return dnsName(strings.ToLower(kind) + "." + TranslationVersion + "." + key)
}

// VersionOf returns the version in the name of a Translation, and false for a name that TranslationName never made. A
// Translation with a version other than TranslationVersion is stale.
func VersionOf(name string) (version string, ok bool) {
	kind, rest, _ := strings.Cut(name, ".")
	version, key, found := strings.Cut(rest, ".")
	if !found || kind == "" || key == "" || version == "" || strings.Trim(version, "0123456789") != "" {
		return "", false
	}
	return version, true
}

func dnsName(name string) string {
	safe := strings.Map(dnsCharacter, name)
	if safe == name && len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	suffix := "-" + sha1Hex(name)
	if limit := validation.DNS1123SubdomainMaxLength - len(suffix); len(safe) > limit {
		safe = strings.TrimRight(safe[:limit], ".-") // a label must not end with the dash of the suffix alone
	}
	return safe + suffix
}

func dnsCharacter(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '-':
		return r
	case 'A' <= r && r <= 'Z':
		return r - 'A' + 'a'
	default: // the slash between the parts of a key, the colon of IPv6
		return '-'
	}
}
