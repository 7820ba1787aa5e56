// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// fields are the fields of a resource. Absent and null are the same to the server; here they are absent.
type fields map[string]any

// text returns a field that is a string; empty when it is absent.
func (f fields) text(name string) string {
	s, _ := f[name].(string)
	return s
}

// number returns a field that is a whole number; 0 when it is absent.
func (f fields) number(name string) int64 {
	n, _ := f[name].(json.Number)
	i, _ := n.Int64()
	return i
}

// check returns what is wrong with the value of a field; empty if nothing is.
type check func(value any) string

// decodeFields reads a body: one JSON object with fields of the kind only, each of its type. Anything else is 400.
func decodeFields(kind string, data []byte) (fields, *problem) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var f fields
	if err := d.Decode(&f); err != nil || f == nil {
		return nil, reject(http.StatusBadRequest, "the body is not a JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, reject(http.StatusBadRequest, "something follows the JSON object")
	}
	known := fieldsOfKind(kind)
	var problems []string
	for name, value := range f {
		c, ok := known[name]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("unrecognized field %q of %s", name, kind))
		case value == nil:
			delete(f, name)
		default:
			if p := c(value); p != "" {
				problems = append(problems, name+" "+p)
			}
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, reject(http.StatusBadRequest, "%s", strings.Join(problems, "; "))
	}
	return f, nil
}

// required wants the fields to be there.
func required(f fields, names ...string) *problem {
	for _, name := range names {
		if _, ok := f[name]; !ok {
			return reject(http.StatusBadRequest, "%s may not be null", name)
		}
	}
	return nil
}

func isText(value any) string {
	if _, ok := value.(string); !ok {
		return "is not a string"
	}
	return ""
}

func isBool(value any) string {
	if _, ok := value.(bool); !ok {
		return "is not true or false"
	}
	return ""
}

func isUUID(value any) string {
	s, _ := value.(string)
	if len(s) != 36 || uuid.Validate(s) != nil {
		return "is not a UUID"
	}
	return ""
}

func isIPv4(value any) string {
	s, _ := value.(string)
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return "is an invalid IP format"
	}
	return ""
}

func isMAC(value any) string {
	s, _ := value.(string)
	if a, err := net.ParseMAC(s); err != nil || len(a) != 6 {
		return "is an invalid MAC address"
	}
	return ""
}

// isSubnets wants a list of addresses with prefix lengths.
func isSubnets(value any) string {
	list, ok := value.([]any)
	if !ok {
		return "is not a list"
	}
	for _, item := range list {
		s, _ := item.(string)
		if _, err := netip.ParsePrefix(s); err != nil {
			return "has an item that is not an address with the length of its network"
		}
	}
	return ""
}

// isNumber wants a whole number within bounds.
func isNumber(least, most int64) check {
	return func(value any) string {
		n, ok := value.(json.Number)
		i, err := n.Int64()
		if !ok || err != nil {
			return "is not a whole number"
		}
		if i < least || i > most {
			return fmt.Sprintf("must be from %d to %d", least, most)
		}
		return ""
	}
}

// isOneOf wants one of some words.
func isOneOf(words ...string) check {
	return func(value any) string {
		if s, ok := value.(string); !ok || !slices.Contains(words, s) {
			return "must be one of " + strings.Join(words, ", ")
		}
		return ""
	}
}

// isObject wants an object with all of the fields and no others.
func isObject(known map[string]check) check {
	return func(value any) string {
		object, ok := value.(map[string]any)
		if !ok {
			return "is not an object"
		}
		for name, c := range known {
			if object[name] == nil {
				return fmt.Sprintf("lacks %s", name)
			}
			if p := c(object[name]); p != "" {
				return name + " " + p
			}
		}
		if len(object) != len(known) {
			return "has an unrecognized field"
		}
		return ""
	}
}

// isListOf wants a list of values that reconciliation.
func isListOf(c check) check {
	return func(value any) string {
		list, ok := value.([]any)
		if !ok {
			return "is not a list"
		}
		for _, item := range list {
			if p := c(item); p != "" {
				return "has an item that " + p
			}
		}
		return ""
	}
}
