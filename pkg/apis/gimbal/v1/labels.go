// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// IsReservedKey reports whether a label or annotation with this key has a meaning for Groundskeeper, so that only Groundskeeper
// may write it on copies.
func IsReservedKey(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return key == "app.kubernetes.io/managed-by" || domain+"/" == LabelPrefix || domain+"/" == LegacyLabelPrefix ||
		domain == "groundskeeper.io" || strings.HasSuffix(domain, ".groundskeeper.io")
}

// IsLabelKey reports whether a text is the key of a label, or a prefix of keys that ends with a slash.
func IsLabelKey(key string) bool {
	if domain, ok := strings.CutSuffix(key, "/"); ok {
		return len(validation.IsDNS1123Subdomain(domain)) == 0
	}
	return len(validation.IsQualifiedName(key)) == 0
}
