// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The files of the provenance: the statement, and the statement with a signature.
const (
	provenanceFile = "provenance.json"
	envelopeFile   = "provenance.intoto.jsonl"
)

// Names in the provenance, which those who verify it compare. buildType is described in docs/images.md.
const (
	sourceURI = "https://groundskeeper.io/groundskeeper"
	buildType = sourceURI + "/docs/images.md#provenance"
	builderID = sourceURI + "/hack/images/release.sh"
)

// statement is an in-toto statement about the files of a release, with SLSA's predicate of their provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]any    `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []dependency      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

// provenance returns the statement about all files of the directory and all images in them. It has no time, and no name of a
// machine: two builds of a commit have the same.
func (r release) provenance() ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	entries, err := os.ReadDir(r.directory)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if slices.Contains([]string{provenanceFile, envelopeFile, sumsFile, signatureFile}, entry.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.directory, entry.Name()))
		if err != nil {
			return nil, err
		}
		s.Subject = append(s.Subject, subject{entry.Name(), map[string]string{"sha256": sum(content)}})
	}
	images, err := r.images()
	if err != nil {
		return nil, err
	}
	for _, image := range images {
		_, digest, err := imageDigest(image)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(image), ".tar")
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}})
	}
	definition := &s.Predicate.BuildDefinition
	definition.BuildType = buildType
	definition.ExternalParameters = map[string]any{
		"source": "git+" + sourceURI, "version": r.version, "platforms": r.platforms, "programPlatforms": r.programPlatforms,
	}
	definition.InternalParameters = map[string]string{"go": runtime.Version()}
	definition.ResolvedDependencies = []dependency{{"git+" + sourceURI + "@" + r.commit, map[string]string{"gitCommit": r.commit}}}
	s.Predicate.RunDetails.Builder.ID = builderID
	content, err := json.MarshalIndent(s, "", "  ")
	return append(content, '\n'), err
}

// writeProvenance writes the statement, and with a key also the signed one.
func (r release) writeProvenance(k *key) error {
	content, err := r.provenance()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.directory, provenanceFile), content, 0o644); err != nil || k == nil {
		return err
	}
	sealed, err := k.sealed(content)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.directory, envelopeFile), sealed, 0o644)
}

// checkProvenance fails unless the provenance is about the files that are there.
func (r release) checkProvenance(k *key) error {
	want, err := r.provenance()
	if err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(r.directory, provenanceFile))
	if err != nil {
		return err
	}
	if !bytes.Equal(is, want) {
		return fmt.Errorf("%s is not the provenance of the files beside it", provenanceFile)
	}
	if k == nil {
		return nil
	}
	if want, err = k.sealed(want); err != nil {
		return err
	}
	if is, err = os.ReadFile(filepath.Join(r.directory, envelopeFile)); err != nil {
		return err
	}
	if !bytes.Equal(is, want) {
		return fmt.Errorf("%s is not the signed provenance", envelopeFile)
	}
	return nil
}
