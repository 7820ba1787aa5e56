// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
)

func validateVersion(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return nil
	}
	if _, err := parseVersion(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}
	return nil
}

// validateVersionChange rejects what an upgrade of Kubernetes cannot do. A version that does not parse is reported
// elsewhere, and may be replaced by any other.
func validateVersionChange(text, oldText string, path *field.Path) field.ErrorList {
	old, err := parseVersion(oldText)
	if err != nil {
		return nil
	}
	if text == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("cannot be removed: keep %s, or set a later version", oldText))}
	}
	wanted, err := parseVersion(text)
	if err != nil {
		return nil
	}
	switch {
	case wanted.LessThan(old):
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf("must not be before %s: a cluster cannot be downgraded", oldText))}
	case wanted.Major() != old.Major():
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf("must have the major version of %s", oldText))}
	case wanted.Minor() > old.Minor()+1:
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf(
			"must not skip a minor version: upgrade from %s to %d.%d first", oldText, old.Major(), old.Minor()+1))}
	}
	return nil
}

// parseVersion reads a semantic version. The parser of apimachinery also takes a leading v and blanks around it.
func parseVersion(text string) (*version.Version, error) {
	parsed, err := version.ParseSemantic(text)
	if err != nil || parsed.String() != text {
		return nil, fmt.Errorf("must be a semantic version such as 1.36.3")
	}
	return parsed, nil
}
