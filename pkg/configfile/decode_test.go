// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package configfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/configfile"
)

var kitchen = schema.GroupVersionKind{Group: "home.example.org", Version: "v1", Kind: "Kitchen"}

// config has one field of every shape that a configuration has.
type config struct {
	metav1.TypeMeta `json:",inline"`
	Name            string                `json:"name"`
	Lit             *bool                 `json:"lit"`
	Seats           int32                 `json:"seats"`
	Heat            float32               `json:"heat"`
	Tools           []string              `json:"tools"`
	Oven            oven                  `json:"oven"`
	Shelves         []shelf               `json:"shelves"`
	Selector        *metav1.LabelSelector `json:"selector"`
}

type oven struct {
	Timer metav1.Duration `json:"timer"`
	Door  struct {
		Color string `json:"color"`
	} `json:"door"`
}

type shelf struct {
	Width int32 `json:"width"`
}

const head = "apiVersion: home.example.org/v1\nkind: Kitchen\n"

func TestDecodeRejects(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"nothing":              {"", `apiVersion is missing, it must be "home.example.org/v1"; kind is missing, it must be "Kitchen"`},
		"comments":             {"# nothing\n", `apiVersion is missing, it must be "home.example.org/v1"; kind is missing, it must be "Kitchen"`},
		"null":                 {"---\nnull\n", `apiVersion is missing, it must be "home.example.org/v1"; kind is missing, it must be "Kitchen"`},
		"text":                 {"hello", `the document is not a map of fields`},
		"a list":               {"- a\n", `the document is not a map of fields`},
		"no kind":              {"apiVersion: home.example.org/v1\n", `kind is missing, it must be "Kitchen"`},
		"empty kind":           {"apiVersion: home.example.org/v1\nkind:\n", `kind is missing, it must be "Kitchen"`},
		"other version":        {"kind: Kitchen\napiVersion: home.example.org/v2\n", `line 2: apiVersion "home.example.org/v2" is unknown, it must be "home.example.org/v1"`},
		"other kind":           {"apiVersion: home.example.org/v1\nkind: Bath\n", `line 2: kind "Bath" is unknown, it must be "Kitchen"`},
		"kind of another type": {"apiVersion: home.example.org/v1\nkind: [Kitchen]\n", `line 2: kind "[Kitchen]" is unknown, it must be "Kitchen"`},
		"two documents":        {head + "---\n" + head, `line 3: a second document begins here, a configuration file has only one`},
		"broken YAML":          {head + "name: a\n\tlit: true\n", `line 4: found a tab character that violates indentation: indent with spaces`},
		"unclosed":             {head + "tools: [a\n", `line 3: did not find expected ',' or ']'`},
		"broken second":        {head + "---\na: [\n", `line 4: did not find expected node content`},
		"indented too deep":    {head + "oven:\n  timer: 15s\n    lit: true\n", `line 5: mapping values are not allowed in this context: it is indented deeper than the field above it, which has a value already; or quote the value`},
		"indented too little":  {head + "oven:\n    timer: 15s\n  lit: true\nname: a\n", `line 5: did not find expected key: its indentation fits no line above it, or a quote or bracket above it is not closed`},
		"broken after a list":  {head + "tools: [a,\n  b]\nselector:\n  a: 1\n b: 2\n", `line 7: did not find expected key: its indentation fits no line above it, or a quote or bracket above it is not closed`},
		"unknown anchor":       {head + "name: *a\n", `line 3: unknown anchor 'a' referenced`},
		"explicit wrong type":  {head + "seats: !!int abc\n", "cannot decode !!str `abc` as a !!int"},

		"unknown field":             {head + "naem: a\n", `line 3: unknown field "naem"`},
		"unknown section":           {head + "\nfridge:\n  door: {color: red}\n", `line 4: unknown field "fridge"`},
		"unknown field below":       {head + "oven:\n  door:\n    colour: red\n", `line 5: unknown field "oven.door.colour"`},
		"unknown field in a list":   {head + "shelves:\n- width: 3\n- width: 4\n  depth: 1\n", `line 6: unknown field "shelves[1].depth"`},
		"letters count":             {head + "Name: a\n", `line 3: unknown field "Name"`},
		"a number as field":         {head + "1: a\n", `line 3: unknown field "1"`},
		"a boolean as field":        {head + "true: a\n", `line 3: unknown field "true"`},
		"set twice":                 {head + "name: a\nlit: true\nname: b\n", `line 5: field "name" is set twice, first on line 3`},
		"set twice below":           {head + "oven:\n  door:\n    color: red\n  door: {}\n", `line 6: field "oven.door" is set twice, first on line 4`},
		"set twice in a list":       {head + "shelves: [{width: 1,\n width: 2}]\n", `line 4: field "shelves[0].width" is set twice, first on line 3`},
		"set twice in labels":       {head + "selector:\n  matchLabels:\n    a: b\n    a: c\n", `line 6: field "selector.matchLabels.a" is set twice, first on line 5`},
		"set three times":           {head + "lit: true\nlit: true\nlit: true\n", `line 4: field "lit" is set twice, first on line 3; line 5: field "lit" is set twice, first on line 3`},
		"a number for a string":     {head + "name: 5\n", `line 3: name: expected a string, not number`},
		"a boolean for a string":    {head + "selector: {matchLabels: {a: true}}\n", `line 3: selector.matchLabels.a: expected a string, not bool`},
		"a string for a number":     {head + "seats: many\n", `line 3: seats: expected a whole number of 32 bits, not string`},
		"an octal number":           {head + "seats: 010\n", `line 3: seats: 010 would be read as an octal number: write 10, or 0o10 for the octal number`},
		"octal numbers below":       {head + "shelves:\n- width: -007\noven: {timer: 00}\n", `line 4: shelves[0].width: -007 would be read as an octal number: write -7, or 0o7 for the octal number; line 5: oven.timer: 00 would be read as an octal number: write 0, or 0o0 for the octal number`},
		"a fraction":                {head + "seats: 1.5\n", `line 3: seats: expected a whole number of 32 bits, not number 1.5`},
		"too large":                 {head + "seats: 2147483648\n", `line 3: seats: expected a whole number of 32 bits, not number 2147483648`},
		"not a number":              {head + "heat: .nan\n", `line 3: heat: unsupported value: NaN`},
		"a string for a boolean":    {head + "lit: \"true\"\n", `line 3: lit: expected true or false, not string`},
		"a string for a list":       {head + "tools: knife\n", `line 3: tools: expected a list, not string`},
		"a map for a list":          {head + "tools: {a: b}\n", `line 3: tools: expected a list, not object`},
		"a list for a map":          {head + "oven: []\n", `line 3: oven: expected a map of fields, not array`},
		"a string for a map":        {head + "oven: hot\n", `line 3: oven: expected a map of fields, not string`},
		"a bad element":             {head + "tools:\n- a\n- 5\n", `line 5: tools[1]: expected a string, not number`},
		"a duration without a unit": {head + "oven:\n  timer: \"15\"\n", `line 4: oven.timer: "15" is no duration, write one such as 12h or 1h30m`},
		"a duration as a number":    {head + "oven:\n  timer: 15\n", `line 4: oven.timer: 15 is no duration, write one such as 12h or 1h30m`},
		"a duration as a map":       {head + "oven:\n  timer: {a: b}\n", `line 4: oven.timer: {"a":"b"} is no duration, write one such as 12h or 1h30m`},

		"everything at the same time": {
			head + "zoo: 1\nname: a\nname: b\noven: {timer: x}\nseats: a\nfridge: 1\n",
			`line 5: field "name" is set twice, first on line 4; line 3: unknown field "zoo"; ` +
				`line 6: oven.timer: "x" is no duration, write one such as 12h or 1h30m; line 7: seats: expected a whole number of 32 bits, not string; ` +
				`line 8: unknown field "fridge"`,
		},
		"JSON": {`{"apiVersion": "home.example.org/v1", "kind": "Kitchen",` + "\n" + `"naem": 1}`, `line 2: unknown field "naem"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := configfile.Decode[config]([]byte(tc.file), kitchen)
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != tc.want {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			if _, ok := errors.AsType[configfile.Errors](err); !ok {
				t.Errorf("%T is not Errors", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Error("the message has more than one line")
			}
		})
	}
}

func TestDecode(t *testing.T) {
	const file = head + `
name: "5"
lit:
seats: 4
heat: 1.5
tools: &tools [knife, 2024-05-06]
oven:
  timer: 1m30s
  door: &door
    color: yes
shelves:
- width: 3
selector:
  matchLabels: {12: a}
`
	got, lines, err := configfile.Decode[config]([]byte(file), kitchen)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != "Kitchen" || got.Name != "5" || got.Lit != nil || got.Seats != 4 || got.Heat != 1.5 ||
		strings.Join(got.Tools, " ") != "knife 2024-05-06" || got.Oven.Timer.Duration != 90*time.Second ||
		got.Oven.Door.Color != "yes" || got.Shelves[0].Width != 3 || got.Selector.MatchLabels["12"] != "a" {
		t.Errorf("got %#v", *got)
	}
	for path, want := range map[string]int{
		"name":                     4,
		"oven":                     9,
		"oven.timer":               10,
		"oven.door.color":          12,
		"shelves[0].width":         14,
		"shelves[0].depth":         14,
		"shelves[7].depth":         13,
		"selector.matchLabels[12]": 16,
		"fridge":                   0,
		"":                         0,
	} {
		if line := lines.Of(path); line != want {
			t.Errorf("%q is on line %d, want %d", path, line, want)
		}
	}
}

func TestDecodeAnchors(t *testing.T) {
	const file = head + `
oven: {door: &door {color: red}}
shelves: [&shelf {width: 3}, *shelf, {<<: *shelf}]
`
	got, _, err := configfile.Decode[config]([]byte(file), kitchen)
	if err != nil {
		t.Fatal(err)
	}
	for i, shelf := range got.Shelves {
		if shelf.Width != 3 {
			t.Errorf("shelf %d is %d wide, want 3", i, shelf.Width)
		}
	}
	_, _, err = configfile.Decode[config]([]byte(file+"tools: [*door]\n"), kitchen)
	if want := "line 6: tools[0]: expected a string, not object"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
