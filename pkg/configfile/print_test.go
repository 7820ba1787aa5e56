// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package configfile_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"groundskeeper.io/groundskeeper/pkg/configfile"
)

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	if err := configfile.Print(&out, &struct {
		Zebra string         `json:"zebra"`
		Apple []string       `json:"apple"`
		Empty map[string]int `json:"empty"`
		None  []string       `json:"none"`
		Deep  map[string]any `json:"deep"`
	}{"yes", []string{"*", "a: b", "5", "<&>", "é\n"}, map[string]int{}, []string{}, map[string]any{"a": 1, "b": nil}}); err != nil {
		t.Fatal(err)
	}
	const want = `zebra: "yes"
apple:
  - '*'
  - 'a: b'
  - "5"
  - <&>
  - |
    é
empty: {}
none: []
deep:
  a: 1
  b: null
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPrintRejects(t *testing.T) {
	if err := configfile.Print(&bytes.Buffer{}, make(chan int)); err == nil {
		t.Error("a channel was printed")
	}
}

// FuzzDecode: no input makes Decode panic, and what it reads it reads again from what Print makes of it.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", head, head + "name: a\n", head + "tools: [a, 'b', \"c\\n\", 5]\n", head + "oven: {timer: 3h, door: {color: ~}}\n",
		head + "selector: {matchLabels: {a: \"on\", 'b/c': \"1e3\", d: 2001-01-01}}\n", head + "heat: 1e30\nseats: -0x10\n",
		head + "shelves: [&a {width: 1}, *a, {<<: *a}]\n", head + "name: &a [*a]\n", head + "selector: {matchLabels: {}}\n", head + "? [a]\n: b\n", head + "a: 1\na: 2\n---\nx",
		head + "name: \"\\u0085\\u2028\\ufeff\\x00\"\n", "{\"apiVersion\":\"home.example.org/v1\",\"kind\":\"Kitchen\",\"lit\":true}", "\xff\xfe",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, _, err := configfile.Decode[config](data, kitchen)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := configfile.Print(&out, first); err != nil {
			t.Fatal(err)
		}
		second, _, err := configfile.Decode[config](out.Bytes(), kitchen)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if !equality.Semantic.DeepEqual(first, second) {
			t.Errorf("%s\n%s", cmp.Diff(first, second), out.Bytes())
		}
	})
}
