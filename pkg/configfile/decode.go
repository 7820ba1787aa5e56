// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package configfile reads and prints versioned configuration files. It is strict: whatever the type does not know, knows twice or
// cannot hold is an error that names the field and its line, and all of them are reported together.
package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Decode reads the one YAML or JSON document in data, which must have the given apiVersion and kind, into a
// new T. It neither defaults nor validates; the returned Lines place the errors of a later validation.
// The error is of type Errors.
func Decode[T any](data []byte, kind schema.GroupVersionKind) (*T, Lines, error) {
	document, err := parse(data)
	if err != nil {
		return nil, nil, err
	}
	if errs := checkKind(document, kind); len(errs) > 0 {
		return nil, nil, errs
	}
	object, errs := decodeAt[T](document.value, document.lines, "")
	if errs = append(document.duplicates, errs...); len(errs) > 0 {
		return nil, nil, errs
	}
	return object, document.lines, nil
}

// DecodeField reads a field that Decode left raw, at the given path of the file with these lines, into a new T. It is
// as strict as Decode. The error is of type Errors.
func DecodeField[T any](raw json.RawMessage, lines Lines, path string) (*T, error) {
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	var value any
	if err := numbers.Decode(&value); err != nil {
		return nil, Errors{fmt.Errorf("%s: %w", path, err)}
	}
	object, errs := decodeAt[T](value, lines, path)
	if len(errs) > 0 {
		return nil, errs
	}
	return object, nil
}

func decodeAt[T any](value any, lines Lines, path string) (*T, Errors) {
	object, err := decodeValue[T](value)
	if err == nil {
		return object, nil
	}
	var errs Errors
	probe := func(value any) error { _, err := decodeValue[T](value); return err }
	for _, culprit := range culprits(value, lines, path, probe) {
		errs = append(errs, lines.At(culprit.path, describe(culprit)))
	}
	return nil, errs
}

// APIVersion returns the apiVersion of the document in data, empty when it has none or cannot be parsed: Decode reports why.
func APIVersion(data []byte) string {
	var meta struct {
		APIVersion string `yaml:"apiVersion"`
	}
	_ = yaml.NewDecoder(bytes.NewReader(data)).Decode(&meta)
	return meta.APIVersion
}

// checkKind compares the type of the document with the expected one.
func checkKind(document *document, kind schema.GroupVersionKind) Errors {
	fields, ok := document.value.(map[string]any)
	if !ok && document.value != nil {
		return Errors{errors.New("the document is not a map of fields")}
	}
	var errs Errors
	for _, field := range []struct{ name, want string }{{"apiVersion", kind.GroupVersion().String()}, {"kind", kind.Kind}} {
		switch got, ok := fields[field.name]; {
		case !ok || got == nil || got == "":
			errs = append(errs, fmt.Errorf("%s is missing, it must be %q", field.name, field.want))
		case got != field.want:
			errs = append(errs, document.lines.At(field.name,
				fmt.Errorf("%s %q is unknown, it must be %q", field.name, fmt.Sprint(got), field.want)))
		}
	}
	return errs
}

// decodeValue puts a parsed value into a new T; names of fields count letter by letter.
func decodeValue[T any](value any) (*T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object := new(T)
	strict, err := kjson.UnmarshalStrict(data, object)
	if err != nil {
		return nil, err
	}
	if len(strict) > 0 {
		return nil, strict[0]
	}
	return object, nil
}

// describe explains in a user's words what is wrong with a field.
func describe(culprit culprit) error {
	var unknown kjson.FieldError
	if errors.As(culprit.err, &unknown) {
		return fmt.Errorf("unknown field %q", culprit.path)
	}
	if culprit.duration {
		value, err := json.Marshal(culprit.value)
		if err != nil {
			return fmt.Errorf("%s: %w", culprit.path, err)
		}
		return fmt.Errorf("%s: %s is no duration, write one such as 12h or 1h30m", culprit.path, value)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(culprit.err, &mismatch) {
		return fmt.Errorf("%s: expected %s, not %s", culprit.path, expected(mismatch.Type), mismatch.Value)
	}
	return fmt.Errorf("%s: %s", culprit.path, strings.TrimPrefix(culprit.err.Error(), "json: "))
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number of " + strconv.Itoa(t.Bits()) + " bits"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return "a map of fields"
	}
}
