// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// module is one of Go, with the sum that go.sum has of it.
type module struct{ path, version, sum string }

// purl returns the name of a module in the language of bills of materials.
func (m module) purl() string {
	return "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B")
}

func (m module) component() cyclonedx.Component {
	component := cyclonedx.Component{
		BOMRef: m.purl(), Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: m.purl(),
	}
	if digest, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); err == nil && len(digest) == sha256.Size {
		component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest)}}
	}
	return component
}

// product is what a bill of materials is of: an image, or a program that comes without one.
type product struct {
	name, version string
	kind          cyclonedx.ComponentType
	binaries      []binary
	// roots are the certificates in the image, and the module that they are from.
	roots       []byte
	rootsModule module
	time        time.Time
}

// bom lists the programs and modules in a product, for each platform. It depends on nothing else: a product always has the same
// bill, byte for byte.
func (p product) bom() ([]byte, error) {
	root := string(p.kind) + ":" + p.name + "@" + p.version
	libraries, edges := map[string]module{}, map[string][]string{root: nil}
	var components []cyclonedx.Component
	for _, b := range p.binaries {
		ref := "file:" + p.name + "?platform=" + b.String()
		components = append(components, cyclonedx.Component{
			BOMRef: ref, Type: cyclonedx.ComponentTypeApplication, Name: p.name, Version: p.version,
			Description: "the program for " + b.String(),
			Hashes:      &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum(b.content)}},
			Licenses:    &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
			PackageURL:  module{path: b.info.Main.Path, version: p.version}.purl() + "#" + strings.TrimPrefix(b.info.Path, b.info.Main.Path+"/"),
		})
		edges[root] = append(edges[root], ref)
		for _, m := range b.modules() {
			libraries[m.purl()] = m
			edges[ref] = append(edges[ref], m.purl())
		}
	}
	if p.roots != nil {
		ref := "file:" + certificates
		components = append(components, cyclonedx.Component{
			BOMRef: ref, Type: cyclonedx.ComponentTypeFile, Name: certificates,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum(p.roots)}},
		})
		libraries[p.rootsModule.purl()] = p.rootsModule
		edges[root] = append(edges[root], ref)
		edges[ref] = []string{p.rootsModule.purl()}
	}
	for _, purl := range slices.Sorted(maps.Keys(libraries)) {
		components = append(components, libraries[purl].component())
		edges[purl] = nil
	}
	var dependencies []cyclonedx.Dependency
	for _, ref := range slices.Sorted(maps.Keys(edges)) {
		to := edges[ref]
		slices.Sort(to)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: ref, Dependencies: &to})
	}

	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: p.time.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: root, Type: p.kind, Name: p.name, Version: p.version,
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		},
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	unnumbered, err := encode(bom)
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = serialNumber(unnumbered)
	return encode(bom)
}

func encode(bom *cyclonedx.BOM) ([]byte, error) {
	var written bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&written, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return written.Bytes(), err
}

// serialNumber returns a UUID of version 8, whose bits are for its maker to choose: those of a hash, not of chance.
func serialNumber(content []byte) string {
	b := sha256.Sum256(content)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
