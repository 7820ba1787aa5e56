// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// The files of a release that SHA256SUMS cannot have.
const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sig"
)

// checkBills fails unless each product has its bill of materials, and it names the modules that go.mod leads to. It uses Go
// which packages a program is built of, and not the program: that is where the bill has it from.
func (r release) checkBills(ctx context.Context, products []product) error {
	if len(products) == 0 {
		return fmt.Errorf("%s has no archive of an image", r.directory)
	}
	for _, p := range products {
		bill, err := os.ReadFile(r.bill(p))
		if err != nil {
			return err
		}
		want, err := p.bom()
		if err != nil {
			return err
		}
		if !bytes.Equal(bill, want) {
			return fmt.Errorf("%s is not the bill of materials of what is beside it", r.bill(p))
		}
		named, err := modulesOf(bill)
		if err != nil {
			return fmt.Errorf("%s: %w", r.bill(p), err)
		}
		for _, b := range p.binaries {
			required, err := r.required(ctx, b)
			if err != nil {
				return err
			}
			if is := named["file:"+p.name+"?platform="+b.String()]; !slices.Equal(is, required) {
				return fmt.Errorf("%s: modules of the program for %s are %s, and go.mod leads to %s", r.bill(p), b.platform, is, required)
			}
		}
	}
	return nil
}

// modulesOf returns which modules each file of a bill depends on.
func modulesOf(bill []byte) (map[string][]string, error) {
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(bill), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, c := range *bom.Components {
		if c.Type == cyclonedx.ComponentTypeLibrary && c.Name != "stdlib" {
			names[c.BOMRef] = c.Name + "@" + c.Version
		}
	}
	all := map[string][]string{}
	for _, d := range *bom.Dependencies {
		if d.Dependencies == nil {
			continue
		}
		for _, to := range *d.Dependencies {
			if name, ok := names[to]; ok {
				all[d.Ref] = append(all[d.Ref], name)
			}
		}
		slices.Sort(all[d.Ref])
	}
	return all, nil
}

// required returns the modules whose packages Go would build a program of.
func (r release) required(ctx context.Context, b binary) ([]string, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}"
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, b.info.Path)
	list.Dir = r.clone
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.OS, "GOARCH="+b.Architecture)
	out, err := output(list)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(out) {
		found[strings.TrimSpace(line)] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found)), nil
}

// checkSums fails unless SHA256SUMS has each file of the directory, and no other.
func (r release) checkSums() error {
	sums, err := os.ReadFile(filepath.Join(r.directory, sumsFile))
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(r.directory)
	if err != nil {
		return err
	}
	var want []string
	for _, entry := range entries {
		if entry.Name() == sumsFile || entry.Name() == signatureFile {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.directory, entry.Name()))
		if err != nil {
			return err
		}
		want = append(want, sum(content)+"  "+entry.Name())
	}
	var is []string
	for lines := bufio.NewScanner(bytes.NewReader(sums)); lines.Scan(); {
		is = append(is, lines.Text())
	}
	if !slices.Equal(is, want) {
		return fmt.Errorf("%s has %q, and the files are %q", sumsFile, is, want)
	}
	return nil
}
