// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kindPattern is that of the CustomResourceDefinition of midonet-kube-controllers.
var kindPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// resourceID is what the backend knows a resource by. Kinds without an id, such as PortLink, have none.
type resourceID struct{ kind, id string }

// validateResources checks every resource and that none is listed twice: two bodies for one resource would be pushed
// alternately, indefinitely.
func validateResources(resources []midonetv1.BackendResource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[resourceID]int, len(resources))
	for i, resource := range resources {
		path := path.Index(i)
		if resource.Kind != "" && !kindPattern.MatchString(resource.Kind) {
			errs = append(errs, field.Invalid(path.Child("kind"), shorten(resource.Kind),
				"must start with a capital and have only letters and digits, for instance HostInterfacePort"))
		}
		if resource.Body == "" { // the generated validation reports it
			continue
		}
		fields, err := parseBody(resource.Body)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("body"), shorten(resource.Body), err.Error()))
			continue
		}
		id := resourceID{kind: resource.Kind}
		if json.Unmarshal(fields["id"], &id.id) != nil || id.id == "" {
			continue
		}
		if first, twice := seen[id]; twice {
			duplicate := field.Duplicate(path, shorten(id.kind+" "+id.id))
			duplicate.Detail = fmt.Sprintf("resources[%d] has the same kind and id: remove one of the two", first)
			errs = append(errs, duplicate)
			continue
		}
		seen[id] = i
	}
	return errs
}

// parseBody returns the fields of a body: a JSON object on one line, that begins and ends with its braces as the
// CustomResourceDefinition of midonet-kube-controllers demands (^{.*}$).
func parseBody(body string) (map[string]json.RawMessage, error) {
	switch {
	case strings.Contains(body, "\n"):
		return nil, errors.New("must be on one line: remove the line breaks")
	case !strings.HasPrefix(body, "{") || !strings.HasSuffix(body, "}"):
		return nil, errors.New("must be a JSON object, from { to } with nothing around it")
	case !utf8.ValidString(body):
		return nil, errors.New("must be UTF-8, as JSON is")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		return nil, fmt.Errorf("must be valid JSON: %w", err)
	}
	return fields, nil
}

// shorten keeps a rejected value from filling the response.
func shorten(value string) string {
	const limit = 80
	value = strings.ToValidUTF8(value, "\uFFFD")
	if utf8.RuneCountInString(value) <= limit {
		return value
	}
	return string([]rune(value)[:limit]) + "…"
}
