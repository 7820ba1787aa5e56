// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// schema is the part of JSON Schema (draft 7) that the kinds need.
type schema struct {
	Version              string             `json:"$schema,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Description          string             `json:"description,omitempty"`
	Type                 any                `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	Enum                 []any              `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	AnyOf                []*schema          `json:"anyOf,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"`
	Definitions          map[string]*schema `json:"definitions,omitempty"`
}

// anyCase is what the description of a field has whose values may be spelled in any case.
const anyCase = "not case-sensitive"

// converter collects the definitions that a schema refers to.
type converter struct {
	definitions map[string]common.OpenAPIDefinition
	done        map[string]*schema
}

// define converts a definition, and all that it refers to.
func (c converter) define(name string) error {
	if c.done[name] != nil {
		return nil
	}
	definition, ok := c.definitions[name]
	if !ok {
		return fmt.Errorf("OpenAPI has no definition %s", name)
	}
	c.done[name] = &schema{} // a definition may refer to itself
	converted, err := c.convert(&definition.Schema)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*c.done[name] = *converted
	return nil
}

// convert returns the JSON schema of an OpenAPI schema.
func (c converter) convert(s *spec.Schema) (*schema, error) {
	converted := &schema{Description: s.Description}
	reference := s.Ref.String()
	if len(s.AllOf) == 1 { // a reference with a default or a description
		reference = s.AllOf[0].Ref.String()
	}
	if reference != "" {
		converted.Ref = reference
		return converted, c.define(strings.TrimPrefix(reference, "#/definitions/"))
	}
	if many := append(slices.Clone(s.OneOf), s.AnyOf...); len(many) > 0 { // as a Quantity, which is a string or a number
		for i := range many {
			one, err := c.convert(&many[i])
			if err != nil {
				return nil, err
			}
			converted.AnyOf = append(converted.AnyOf, one)
		}
		return converted, nil
	}
	if len(s.Type) == 1 {
		converted.Type = s.Type[0]
	}
	if slices.Contains([]string{"date-time", "int32", "int64"}, s.Format) {
		converted.Format = s.Format
	}
	converted.Enum = s.Enum
	if len(s.Enum) > 0 && strings.Contains(s.Description, anyCase) {
		converted.Enum = nil
		converted.AnyOf = []*schema{{Enum: s.Enum}, {Pattern: inAnyCase(s.Enum)}} // editors suggest the first
	}
	var err error
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		converted.Items, err = c.convert(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		converted.AdditionalProperties, err = c.convert(s.AdditionalProperties.Schema)
	case len(s.Properties) > 0:
		err = c.fields(s, converted)
	}
	return converted, err
}

// fields converts the fields of an object. One that is not required may be null, which means that it is not set.
func (c converter) fields(s *spec.Schema, converted *schema) error {
	converted.AdditionalProperties, converted.Required = false, s.Required
	converted.Properties = map[string]*schema{}
	for name := range s.Properties {
		property := s.Properties[name]
		field, err := c.convert(&property)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !slices.Contains(s.Required, name) {
			field = orNull(field)
		}
		converted.Properties[name] = field
	}
	return nil
}

// orNull returns a schema that also accepts null.
func orNull(s *schema) *schema {
	if kind, ok := s.Type.(string); ok && s.Enum == nil && s.AnyOf == nil {
		s.Type = []string{kind, "null"}
		return s
	}
	if s.Type == nil && s.Ref == "" && s.AnyOf == nil {
		return s // any value
	}
	description := s.Description
	s.Description = ""
	return &schema{Description: description, AnyOf: []*schema{s, {Type: "null"}}}
}

// inAnyCase returns a pattern that matches values in any case. There is no flag for it in JSON Schema.
func inAnyCase(values []any) string {
	var all []string
	for _, value := range values {
		var b strings.Builder
		for _, r := range fmt.Sprint(value) {
			if upper, lower := unicode.ToUpper(r), unicode.ToLower(r); upper != lower {
				b.WriteString("[" + string(upper) + string(lower) + "]")
			} else {
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return "^(" + strings.Join(all, "|") + ")$"
}
