// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"strings"
	"testing"
)

// TestOracles checks that each oracle accepts a good run, and reports each bad one.
func TestOracles(t *testing.T) {
	before := Inventory{"Node a": "1", "Node b": "2", "Volume c": "3"}
	all := func(*Request) bool { return true }
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"nothing happened":            {Living(before, before, nil), ""},
		"the doomed one was deleted":  {Living(before, Inventory{"Node a": "1", "Node b": "2"}, func(name string) bool { return name == "Volume c" }), ""},
		"a living one was deleted":    {Living(before, Inventory{"Node a": "1", "Volume c": "3"}, nil), "Node b was deleted"},
		"a living one was replaced":   {Living(before, Inventory{"Node a": "1", "Node b": "9", "Volume c": "3"}, nil), "Node b is 9, it was 2"},
		"restored":                    {Restored(before, before), ""},
		"not restored":                {Restored(before, Inventory{"Node a": "1", "Node b": "2", "Volume c": "3 "}), "Volume c is 3 , it was 3"},
		"something is left":           {Restored(before, Inventory{"Node a": "1", "Node b": "2", "Volume c": "3", "Copy d": "4"}), "Copy d is new"},
		"balanced":                    {Balanced([]string{"a", "b", "c"}, []string{"b", "c"}, []string{"a"}, []string{"b"}, []string{"c"}), ""},
		"one is omitted":              {Balanced([]string{"a", "b"}, []string{"b"}, []string{"a"}, nil, nil), "b is reported 0 times"},
		"one is reported twice":       {Balanced([]string{"a"}, []string{"a"}, []string{"a"}, []string{"a"}, nil), "a is reported 2 times"},
		"a retained one was deleted":  {Balanced([]string{"a"}, nil, nil, nil, []string{"a"}), "a is retained, and does not exist"},
		"one has appeared":            {Balanced(nil, []string{"a"}, nil, nil, nil), "a is new"},
		"deleted as read":             {AsRead([]Request{{Verb: "delete", Intended: "1", Hit: "1"}, {Verb: "delete", Intended: "1"}}), ""},
		"deleted by name":             {AsRead([]Request{{Verb: "delete", Object: "Node a", Hit: "1"}}), `it deleted uid "1", and was for uid ""`},
		"the next one was deleted":    {AsRead([]Request{{Verb: "delete", Intended: "1", Hit: "2"}}), `it deleted uid "2", and was for uid "1"`},
		"a former leader reads":       {OnlyLeaders([]Request{{Deposed: true, Reached: true}}, all), ""},
		"a former leader writes":      {OnlyLeaders([]Request{{Verb: "delete", Object: "Node a", Write: true, Deposed: true, Reached: true}}, all), "delete Node a: the process had lost its Lease"},
		"a write that is not fenced":  {OnlyLeaders([]Request{{Write: true, Deposed: true, Reached: true}}, func(*Request) bool { return false }), ""},
		"a write that did not arrive": {OnlyLeaders([]Request{{Write: true, Deposed: true}}, all), ""},
	} {
		if got := test.err; test.want == "" && got != nil || test.want != "" && (got == nil || !strings.Contains(got.Error(), test.want)) {
			t.Errorf("%s: error = %v, want %q", name, got, test.want)
		}
	}
}
