// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestValidateResources(t *testing.T) {
	body := func(body string) func(*midonetv1.Translation) {
		return func(o *midonetv1.Translation) { o.Resources[0].Body = body }
	}
	kind := func(kind string) func(*midonetv1.Translation) {
		return func(o *midonetv1.Translation) { o.Resources[0].Kind = kind }
	}
	owner := func(parent string) func(*midonetv1.Translation) {
		return func(o *midonetv1.Translation) { o.Resources[0].Parent = parent }
	}
	add := func(kind, parent, body string) func(*midonetv1.Translation) {
		return func(o *midonetv1.Translation) {
			o.Resources = append(o.Resources, midonetv1.BackendResource{Kind: kind, Parent: parent, Body: body})
		}
	}
	for _, tc := range []change{
		{"absent", func(o *midonetv1.Translation) { o.Resources = nil }, nil},
		{"empty object", body(`{}`), nil},
		{"inner space", body("{ \"id\" :\t\"x\"\r}"), nil},
		{"escaped line break", body(`{"name":"a\nb"}`), nil},
		{"not ASCII", body(`{"name":"Zürich €"}`), nil},
		{"no body", body(""), []string{"resources[0].body: Required value"}},
		{"array", body(`[{}]`), []string{"resources[0].body: Invalid value", "must be a JSON object"}},
		{"null", body(`null`), []string{"resources[0].body: Invalid value", "must be a JSON object"}},
		{"two objects", body(`{"a":1}{"b":2}`), []string{"resources[0].body: Invalid value", "valid JSON"}},
		{"unfinished", body(`{"a":}`), []string{"resources[0].body: Invalid value", "valid JSON", "invalid character '}'"}},
		{"space in front", body(` {}`), []string{"resources[0].body: Invalid value", "nothing around it"}},
		{"space behind", body(`{} `), []string{"resources[0].body: Invalid value", "nothing around it"}},
		{"line break at the end", body("{}\n"), []string{"resources[0].body: Invalid value", "one line"}},
		{"two lines", body("{\"a\":1,\n\"b\":2}"), []string{"resources[0].body: Invalid value", "one line", "remove the line breaks"}},
		{"not UTF-8", body("{\"a\":\"\xff\"}"), []string{"resources[0].body: Invalid value", "UTF-8"}},

		{"kind with digits", kind("IPv4MACPair"), nil},
		{"kind of one letter", kind("A"), nil},
		{"no kind", kind(""), []string{"resources[0].kind: Required value"}},
		{"lower-case kind", kind("port"), []string{"resources[0].kind: Invalid value", "start with a capital"}},
		{"kind with a dash", kind("Port-Link"), []string{"resources[0].kind: Invalid value", "only letters and digits"}},
		{"kind with a line break", kind("Port\n"), []string{"resources[0].kind: Invalid value"}},

		{"no parent", owner(""), nil},
		{"upper-case parent", owner(strings.ToUpper(parent)), []string{"resources[0].parent: Invalid value", "lowercase UUID"}},
		{"parent without dashes", owner(strings.ReplaceAll(parent, "-", "")), []string{"resources[0].parent: Invalid value"}},

		{"same resource twice", add("Port", "", port),
			[]string{"resources[2]: Duplicate value", "Port 430a6186", "resources[0]", "remove one"}},
		{"same resource with another body", add("Port", parent, `{"id":"430a6186-91cf-5c7a-8443-44319822637a"}`),
			[]string{"resources[2]: Duplicate value"}},
		{"same id, another kind", add("Bridge", "", port), nil},
		{"same kind, another id", add("Port", parent, `{"id":"bf45ae40-fad3-5f5e-805f-4f6871735f1d"}`), nil},
		{"same kind without id", add("PortLink", parent, link), nil},
		{"id that is no string", func(o *midonetv1.Translation) {
			add("Port", "", `{"id":1}`)(o)
			add("Port", "", `{"id":1}`)(o)
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			translation := goodTranslation()
			tc.mutate(translation)
			expect(t, whole(t, ValidateTranslation(translation), translation, nil), tc.want)
		})
	}
}

func TestRejectedBodyIsShortened(t *testing.T) {
	translation := goodTranslation()
	translation.Resources[0].Body = "{" + strings.Repeat("ü", 1<<20)
	errs := ValidateTranslation(translation)
	expect(t, errs, []string{"resources[0].body", "…"})
	if size := len(errs[0].Error()); size > 500 {
		t.Errorf("the message has %d bytes", size)
	}
}

func TestThousandsOfResources(t *testing.T) {
	translation := goodTranslation()
	translation.Resources = nil
	for i := range 5000 {
		translation.Resources = append(translation.Resources, midonetv1.BackendResource{
			Kind: "Rule", Parent: parent, Body: fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","type":"jump"}`, i),
		})
	}
	expect(t, whole(t, ValidateTranslation(translation), translation, nil), nil)
	translation.Resources[4999] = translation.Resources[17]
	expect(t, whole(t, ValidateTranslation(translation), translation, nil), []string{"resources[4999]: Duplicate value", "resources[17]"})
}

// FuzzParseBody compares parseBody with the documented rule: ^{.*}$, JSON, UTF-8.
func FuzzParseBody(f *testing.F) {
	for _, seed := range []string{
		port, link, ``, `{`, `{}`, `{}{}`, `{"id":"a","id":"b"}`, ` {}`, "{}\n", "{\n}", "{\r}", `[{}]`, `{"a":{"b":[1,null,"}"]}}`,
		"{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":1e999}`, "{\u2028}", "\ufeff{}", strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20),
	} {
		f.Add(seed)
	}
	rule := regexp.MustCompile(`^{.*}$`)
	f.Fuzz(func(t *testing.T, body string) {
		fields, err := parseBody(body)
		allowed := rule.MatchString(body) && json.Valid([]byte(body)) && utf8.ValidString(body)
		if (err == nil) != allowed {
			t.Errorf("%q: allowed is %t, got %v", body, allowed, err)
		}
		if err == nil && fields == nil {
			t.Errorf("%q is no object", body)
		}
	})
}
