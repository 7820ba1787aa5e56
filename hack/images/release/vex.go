// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// vexFile is the OpenVEX document of a release: which known vulnerabilities of its dependencies affect it.
const vexFile = "groundskeeper.openvex.json"

// vexSource is where its statements are maintained, in the clone.
const vexSource = "hack/images/vex.json"

// vexStatement is a statement about one vulnerability, as hack/images/vex.json has it.
type vexStatement struct {
	Vulnerability string `json:"vulnerability"`
	// Component is the module that has it, as a package URL without a version.
	Component       string `json:"component"`
	Status          string `json:"status"`
	Justification   string `json:"justification,omitempty"`
	ImpactStatement string `json:"impactStatement,omitempty"`
	ActionStatement string `json:"actionStatement,omitempty"`
	// Products are the images and programs that it is about. Empty: all.
	Products []string `json:"products,omitempty"`
}

// Values of OpenVEX.
func vexStatuses() []string {
	return []string{"not_affected", "affected", "fixed", "under_investigation"}
}

func vexJustifications() []string {
	return []string{
		"component_not_present", "vulnerable_code_not_present", "vulnerable_code_not_in_execute_path",
		"vulnerable_code_cannot_be_controlled_by_adversary", "inline_mitigations_already_exist",
	}
}

// validate fails unless a statement has what OpenVEX requires of its status.
func (s vexStatement) validate() error {
	switch {
	case s.Vulnerability == "" || s.Component == "":
		return errors.New("a statement requires vulnerability and component")
	case !slices.Contains(vexStatuses(), s.Status):
		return fmt.Errorf("%s: status %q is none of %v", s.Vulnerability, s.Status, vexStatuses())
	case s.Justification != "" && !slices.Contains(vexJustifications(), s.Justification):
		return fmt.Errorf("%s: justification %q is none of %v", s.Vulnerability, s.Justification, vexJustifications())
	case s.Status == "not_affected" && (s.Justification == "" || s.ImpactStatement == ""):
		return fmt.Errorf("%s: not_affected requires justification and impactStatement", s.Vulnerability)
	case s.Status == "affected" && s.ActionStatement == "":
		return fmt.Errorf("%s: affected requires actionStatement", s.Vulnerability)
	}
	return nil
}

// vex returns the OpenVEX document about the products of a release. Its identifier is derived from its content.
func (r release) vex(products []product) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(r.clone, vexSource))
	if err != nil {
		return nil, err
	}
	var statements []vexStatement
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&statements); err != nil {
		return nil, fmt.Errorf("%s: %w", vexSource, err)
	}
	all := []any{}
	for _, s := range statements {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", vexSource, err)
		}
		var about []any
		for _, p := range products {
			if len(s.Products) == 0 || slices.Contains(s.Products, p.name) {
				about = append(about, map[string]any{
					"@id": "pkg:oci/" + p.name + "?tag=" + r.version, "subcomponents": []any{map[string]any{"@id": s.Component}},
				})
			}
		}
		if about == nil {
			return nil, fmt.Errorf("%s: %s is about none of the products", vexSource, s.Vulnerability)
		}
		entry := map[string]any{"vulnerability": map[string]any{"name": s.Vulnerability}, "products": about, "status": s.Status}
		for name, value := range map[string]string{
			"justification": s.Justification, "impact_statement": s.ImpactStatement, "action_statement": s.ActionStatement,
		} {
			if value != "" {
				entry[name] = value
			}
		}
		all = append(all, entry)
	}
	document := map[string]any{
		"@context": "https://openvex.dev/ns/v0.2.0", "author": "The Groundskeeper authors", "version": 1,
		"timestamp": r.time.UTC().Format(time.RFC3339), "statements": all,
	}
	content, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	document["@id"] = sourceURI + "/vex/" + sum(content)
	content, err = json.MarshalIndent(document, "", "  ")
	return append(content, '\n'), err
}

// writeVEX writes the OpenVEX document.
func (r release) writeVEX(products []product) error {
	content, err := r.vex(products)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.directory, vexFile), content, 0o644)
}

// checkVEX fails unless the OpenVEX document is that of the products.
func (r release) checkVEX(products []product) error {
	want, err := r.vex(products)
	if err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(r.directory, vexFile))
	if err != nil {
		return err
	}
	if !bytes.Equal(is, want) {
		return fmt.Errorf("%s is not the document of %s", vexFile, vexSource)
	}
	return nil
}
