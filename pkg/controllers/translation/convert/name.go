// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TranslationName returns the name of the Translation of what a key names, for instance pod.4.web-0. A key that is not
// fit for a name of Kubernetes is made so, and a hash of the original keeps it apart from others.
func TranslationName(kind, key string) string {
	return dnsName(strings.ToLower(kind) + "." + midonetv1.TranslationVersion + "." + key)
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
