// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kind is a kind that Groundskeeper serves, with the name of its definition in OpenAPI.
type kind struct{ group, version, name, definition string }

func kinds() []kind {
	return []kind{
		{gardenerv1beta1.GroupName, "v1beta1", "Project", gardenerv1beta1.Project{}.OpenAPIModelName()},
		{gimbalv1.GroupName, "v1", "DiscoveryBackend", gimbalv1.DiscoveryBackend{}.OpenAPIModelName()},
		{kubernikusv1.GroupName, "v1", "Kluster", kubernikusv1.Kluster{}.OpenAPIModelName()},
		{midonetv1.GroupName, "v1", "Translation", midonetv1.Translation{}.OpenAPIModelName()},
	}
}

// kindPage returns the page of a kind: its fields, and those of all types of Groundskeeper in it.
func kindPage(k kind, definitions map[string]common.OpenAPIDefinition) (string, error) {
	var b strings.Builder
	b.WriteString(heading(k.name + " (" + k.group + "/" + k.version + ")"))
	own := k.definition[:strings.LastIndex(k.definition, ".")+1]
	queue, seen := []string{k.definition}, map[string]bool{k.definition: true}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		definition, ok := definitions[name]
		if !ok {
			return "", fmt.Errorf("OpenAPI has no definition %s", name)
		}
		schema := definition.Schema
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", last(name), text(schema.Description))
		var rows [][]string
		for _, field := range sorted(schema.Properties) {
			property := schema.Properties[field]
			reference := reference(&property)
			if strings.HasPrefix(reference, own) && !seen[reference] {
				seen[reference] = true
				queue = append(queue, reference)
			}
			required := ""
			if slices.Contains(schema.Required, field) {
				required = "yes"
			}
			about := property.Description
			if len(property.Enum) > 0 {
				about += " One of " + literals(property.Enum) + "."
			}
			rows = append(rows, []string{code(field), typeOf(&property, own), required, fallback(property.Default), text(about)})
		}
		if len(rows) > 0 {
			b.WriteString(table([]string{"field", "type", "required", "default", "meaning"}, rows))
		}
	}
	return b.String(), nil
}

// reference returns the definition that a property, or an element of it, is of.
func reference(s *spec.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref.String() != "":
		return s.Ref.String()
	case s.Items != nil:
		return reference(s.Items.Schema)
	case s.AdditionalProperties != nil:
		return reference(s.AdditionalProperties.Schema)
	case len(s.AllOf) == 1:
		return reference(&s.AllOf[0])
	}
	return ""
}

// typeOf returns the name of the type of a property, with a link if Groundskeeper defines it.
func typeOf(s *spec.Schema, own string) string {
	switch {
	case s == nil:
		return ""
	case s.Items != nil:
		return "list of " + typeOf(s.Items.Schema, own)
	case s.AdditionalProperties != nil:
		return "map to " + typeOf(s.AdditionalProperties.Schema, own)
	}
	if r := reference(s); strings.HasPrefix(r, own) {
		return "[" + last(r) + "](#" + strings.ToLower(last(r)) + ")"
	} else if r != "" {
		return last(r)
	}
	kind := strings.Join(s.Type, " or ")
	if s.Format != "" && s.Format != "int64" {
		kind += " (" + s.Format + ")"
	}
	return kind
}

// fallback returns a default that is not the zero value.
func fallback(value any) string {
	data, err := json.Marshal(value)
	if s := string(data); err == nil && !slices.Contains([]string{"null", "{}", `""`, "0", "false"}, s) {
		return code(strings.Trim(s, `"`))
	}
	return ""
}

func literals(values []any) string {
	var all []string
	for _, v := range values {
		all = append(all, code(fmt.Sprint(v)))
	}
	return strings.Join(all, ", ")
}

func last(name string) string { return name[strings.LastIndex(name, ".")+1:] }
