// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	derived = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	random  = "5ff1a5f3-0bb9-4f8a-8d9b-5c35a7f5a1d0"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, parent, body string
		values             map[string]Value
		problem            string
	}{
		"switch":                 {"LogicalSwitch", "", `{"id":"` + random + `","name":"a","other_config":{"x":"1"},"load_balancer_group":["` + derived + `"]}`, map[string]Value{"name": "a", "other_config": map[string]string{"x": "1"}, "load_balancer_group": []any{derived}}, ""},
		"port":                   {"LogicalSwitchPort", derived, `{"id":"` + random + `","name":"p","addresses":["b","a","b"],"enabled":true,"tag_request":7,"type":null}`, map[string]Value{"name": "p", "addresses": []any{"a", "b"}, "enabled": []any{true}, "tag_request": []any{json.Number("7")}}, ""},
		"optional as a list":     {"LoadBalancer", derived, `{"id":"` + random + `","protocol":["tcp"]}`, map[string]Value{"protocol": []any{"tcp"}}, ""},
		"another's kind":         {"Bridge", "", `{}`, nil, `kind "Bridge" is not one of OVN's`},
		"parent missing":         {"LogicalSwitchPort", "", `{}`, nil, "LogicalSwitchPort needs a parent of kind LogicalSwitch"},
		"parent not wanted":      {"LogicalSwitch", derived, `{}`, nil, "LogicalSwitch stands alone"},
		"parent is no id":        {"LogicalSwitchPort", "x", `{}`, nil, `parent of LogicalSwitchPort: "x" is not a lower-case UUID`},
		"no JSON":                {"LogicalSwitch", "", `{`, nil, "body of LogicalSwitch: unexpected EOF"},
		"two objects":            {"LogicalSwitch", "", `{} {}`, nil, "must be one JSON object"},
		"null":                   {"LogicalSwitch", "", `null`, nil, "must be one JSON object"},
		"no id":                  {"LogicalSwitch", "", `{"name":"a"}`, nil, "id: must be a UUID"},
		"id in capitals":         {"LogicalSwitch", "", `{"id":"` + strings.ToUpper(random) + `"}`, nil, "is not a lower-case UUID"},
		"id that is not derived": {"LoadBalancerGroup", "", `{"id":"` + random + `","name":"g"}`, nil, "id: must be a UUID of version 5: the table Load_Balancer_Group cannot record the owner"},
		"unknown column":         {"LogicalSwitch", "", `{"id":"` + random + `","nam":"a"}`, nil, "nam: is not one of name, load_balancer_group, other_config, external_ids"},
		"name missing":           {"LogicalSwitchPort", derived, `{"id":"` + random + `"}`, nil, "name: is missing"},
		"number for a text":      {"LogicalSwitch", "", `{"id":"` + random + `","name":1}`, nil, "name: must be a string"},
		"text for a flag":        {"LogicalRouter", "", `{"id":"` + random + `","enabled":"yes"}`, nil, "enabled: must be true or false"},
		"fraction":               {"ACL", derived, `{"id":"` + random + `","priority":1.5}`, nil, "priority: must be an integer"},
		"text for a list":        {"LogicalSwitchPort", derived, `{"id":"` + random + `","name":"p","addresses":"a"}`, nil, "addresses: must be a list"},
		"two for an optional":    {"LoadBalancer", derived, `{"id":"` + random + `","protocol":["tcp","udp"]}`, nil, "protocol: must be one value"},
		"no reference":           {"LogicalSwitchPort", derived, `{"id":"` + random + `","name":"p","port_groups":["g"]}`, nil, `port_groups: "g" is not a lower-case UUID`},
		"number in pairs":        {"LogicalSwitch", "", `{"id":"` + random + `","other_config":{"x":1}}`, nil, "other_config: x: must be a string"},
		"list for pairs":         {"LogicalSwitch", "", `{"id":"` + random + `","other_config":[]}`, nil, "other_config: must be an object of strings"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(tc.kind, tc.parent, tc.body)
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("error = %v, want %q", err, tc.problem)
				}
				return
			}
			if err != nil || r.ID != random || r.Parent != tc.parent {
				t.Fatalf("resource = %+v, %v", r, err)
			}
			if diff := cmp.Diff(tc.values, r.Values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	body := func(fields string) string { return `{"id":"` + random + `","name":"p",` + fields + `}` }
	for name, tc := range map[string]struct {
		kind, want, have string
		differences      []string
	}{
		"equal":                      {"LogicalSwitchPort", `"addresses":["a","b"]`, `"addresses":["b","a"],"type":"router"`, nil},
		"set":                        {"LogicalSwitchPort", `"addresses":["a"]`, `"addresses":["a","b"]`, []string{"addresses"}},
		"optional":                   {"LogicalSwitchPort", `"enabled":true`, `"enabled":[]`, []string{"enabled"}},
		"more pairs":                 {"LogicalSwitchPort", `"options":{"x":"1"}`, `"options":{"x":"1","y":"2"}`, nil},
		"other pair":                 {"LogicalSwitchPort", `"options":{"x":"1"}`, `"options":{"x":"2"}`, []string{"options"}},
		"missing pair":               {"LogicalSwitchPort", `"options":{"x":""},"type":""`, `"options":{},"type":"vtep"`, []string{"options", "type"}},
		"more addresses of services": {"LoadBalancer", `"vips":{"10.0.0.1:80":"10.1.0.1:80"}`, `"vips":{"10.0.0.1:80":"10.1.0.1:80","10.0.0.2:80":""}`, []string{"vips"}},
		"other groups":               {"LogicalSwitchPort", `"port_groups":["` + derived + `"]`, `"port_groups":[]`, []string{"port_groups"}},
		"groups that do not matter":  {"LogicalSwitchPort", `"type":""`, `"type":"","port_groups":["` + derived + `"]`, nil},
		"order of endpoints":         {"LoadBalancer", `"vips":{"10.0.0.1:80":"10.1.0.1:80,10.1.0.2:80"}`, `"vips":{"10.0.0.1:80":"10.1.0.2:80,10.1.0.1:80"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(tc.kind, derived, body(tc.want))
			if err != nil {
				t.Fatal(err)
			}
			have, err := r.Kind.Values([]byte(`{"name":"p",` + tc.have + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.differences, r.Differences(have)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A long or unprintable value of a user does not get into a message as a whole.
func TestParseBoundsMessages(t *testing.T) {
	_, err := Parse("LogicalSwitch", "", `{"id":"`+strings.Repeat("x\\u0007", 1000)+`"}`)
	if err == nil || len(err.Error()) > 300 || strings.Contains(err.Error(), "\a") {
		t.Errorf("error = %v, want a short one", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("LogicalSwitchPort", derived, `{"id":"`+random+`","name":"p","addresses":["a"],"options":{"x":"1"}}`)
	f.Add("LoadBalancer", derived, `{"id":"`+random+`","vips":{"[fd00::1]:80":"[fd01::1]:8080"}}`)
	f.Fuzz(func(t *testing.T, kind, parent, body string) {
		r, err := Parse(kind, parent, body)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(r.Values)
		if err != nil {
			t.Fatal(err)
		}
		values, err := r.Kind.Values(encoded)
		if err != nil {
			t.Fatalf("the values %s are not understood: %v", encoded, err)
		}
		if differences := r.Differences(values); len(differences) > 0 {
			t.Errorf("%s differs from itself in %v", body, differences)
		}
	})
}
