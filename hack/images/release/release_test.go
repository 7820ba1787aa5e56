// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func newRelease(directory string) release {
	return release{
		directory: directory, clone: "../../..", version: "v1", commit: "abc", platforms: []string{"linux/amd64", "linux/arm64"}, time: time.Unix(1, 0),
		roots: module{path: "golang.org/x/crypto/x509roots/fallback", version: "v1"},
	}
}

func TestImagesMustMeetRequirements(t *testing.T) {
	amd64, arm64 := compile(t, "amd64", "-trimpath"), compile(t, "arm64", "-trimpath")
	for name, c := range map[string]struct {
		change func(amd64, arm64 *part)
		want   string
	}{
		"unchanged":                       {func(_, _ *part) {}, ""},
		"the other machine's program":     {func(_, b *part) { b.files[demo] = amd64 }, "the program is for linux/amd64"},
		"no program":                      {func(a, _ *part) { delete(a.files, demo) }, "/" + demo},
		"with directories of the builder": {func(a, _ *part) { a.files[demo] = compile(t, "amd64", "-trimpath=false") }, "-trimpath"},
		"one platform twice":              {func(_, b *part) { *b = newPart("amd64", amd64) }, "not for [linux/amd64 linux/arm64]"},
		"a file more":                     {func(a, _ *part) { a.files["bin/sh"] = nil }, "its files are"},
		"writable":                        {func(a, _ *part) { a.mode = 0o755 }, "has the mode 755"},
		"root":                            {func(a, _ *part) { a.user = "" }, "runs"},
		"of another commit":               {func(_, b *part) { b.labels["org.opencontainers.image.revision"] = "def" }, "label revision"},
		"without a license":               {func(_, b *part) { delete(b.labels, "org.opencontainers.image.licenses") }, "label licenses"},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := newPart("amd64", amd64), newPart("arm64", arm64)
			c.change(&one, &two)
			r := newRelease(t.TempDir())
			layout{t, map[string][]byte{}}.write(r.directory, one, two)
			products, err := r.products()
			if c.want == "" && (err != nil || len(products) != 1 || len(products[0].binaries) != 2) {
				t.Fatalf("products %v, error %v", products, err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("error %v does not contain %q", err, c.want)
			}
		})
	}
}

// TestBill makes the bill of a program that has modules: the one of this test.
func TestBill(t *testing.T) {
	program := filepath.Join(t.TempDir(), "release")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	b, err := readBinary(content)
	if err != nil {
		t.Fatal(err)
	}
	p := product{
		name: demo, version: "v1", kind: cyclonedx.ComponentTypeContainer, binaries: []binary{b}, roots: []byte("certificates"),
		rootsModule: module{"example.com/roots", "v1+incompatible", ""}, time: time.Unix(1, 0),
	}
	bill, err := p.bom()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.bom(); err != nil || !bytes.Equal(bill, again) {
		t.Errorf("the second bill differs: %v", err)
	}
	p.time = time.Unix(2, 0)
	if other, err := p.bom(); err != nil || serial(t, bill) == serial(t, other) {
		t.Errorf("two bills have the serial number %s: %v", serial(t, bill), err)
	}
	for _, want := range []string{"github.com/CycloneDX/cyclonedx-go@v0.12.0", "example.com/roots@v1%2Bincompatible", "stdlib@1."} {
		if !bytes.Contains(bill, []byte(`"pkg:golang/`+want)) {
			t.Errorf("%s is not in the bill", want)
		}
	}
	validate(t, bill)
	named, err := modulesOf(bill)
	if err != nil {
		t.Fatal(err)
	}
	r := newRelease("")
	r.clone = "."
	required, err := r.required(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if is := named["file:"+demo+"?platform="+b.String()]; strings.Join(is, " ") != strings.Join(required, " ") || len(is) == 0 {
		t.Errorf("the bill names %s, and Go needs %s", is, required)
	}
}

func serial(t *testing.T, bill []byte) string {
	t.Helper()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(bill), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	return bom.SerialNumber
}

// validate holds a bill against the schema of CycloneDX, which is beside its library.
func validate(t *testing.T, bill []byte) {
	t.Helper()
	library, err := output(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for file, name := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schemax.json": "jsf-0.82.schema.json"} {
		content, err := os.Open(filepath.Join(library, "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close() //nolint:errcheck // it is only read
		schema, err := jsonschema.UnmarshalJSON(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("http://cyclonedx.org/schema/"+name, schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(bill))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}

func TestABillOfSomethingElse(t *testing.T) {
	r := newRelease(t.TempDir())
	layout{t, map[string][]byte{}}.write(r.directory, newPart("amd64", compile(t, "amd64", "-trimpath")), newPart("arm64", compile(t, "arm64", "-trimpath")))
	products, err := r.products()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeBills(products); err != nil {
		t.Fatal(err)
	}
	products[0].time = time.Unix(2, 0)
	if err := r.checkBills(context.Background(), products); err == nil || !strings.Contains(err.Error(), "not the bill of materials") {
		t.Errorf("error %v", err)
	}
}
