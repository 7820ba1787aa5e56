// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The provenance names every file with its digest, the images by the digests that registries have, and the commit.
func TestProvenance(t *testing.T) {
	r := imageRelease(t)
	write(t, filepath.Join(r.directory, "chart.tgz"), []byte("chart"))
	if err := r.writeProvenance(nil); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(r.directory, provenanceFile))
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(content, &s); err != nil {
		t.Fatal(err)
	}
	image := onlyImage(t, r)
	_, digest, err := imageDigest(image)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	want := []subject{
		{"chart.tgz", map[string]string{"sha256": sum([]byte("chart"))}},
		{filepath.Base(image), map[string]string{"sha256": sum(archive)}},
		{strings.TrimSuffix(filepath.Base(image), ".tar"), map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}},
	}
	if !slices.EqualFunc(s.Subject, want, func(a, b subject) bool { return a.Name == b.Name && a.Digest["sha256"] == b.Digest["sha256"] }) {
		t.Errorf("subjects = %v, want %v", s.Subject, want)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("type %s with the predicate %s", s.Type, s.PredicateType)
	}
	d := s.Predicate.BuildDefinition
	if len(d.ResolvedDependencies) != 1 || d.ResolvedDependencies[0].Digest["gitCommit"] != r.commit || d.ExternalParameters["version"] != r.version {
		t.Errorf("build definition %+v, want commit %s and version %s", d, r.commit, r.version)
	}
	if err := r.checkProvenance(nil); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	write(t, filepath.Join(r.directory, "chart.tgz"), []byte("another"))
	if err := r.checkProvenance(nil); err == nil {
		t.Error("the provenance of another file is accepted")
	}
}

// The envelope has the signature that others verify: of the type and the statement (DSSE).
func TestSignedProvenance(t *testing.T) {
	private, public := newKeys(t, "ed25519")
	k, err := readKey(private)
	if err != nil {
		t.Fatal(err)
	}
	r := imageRelease(t)
	if err := r.writeProvenance(&k); err != nil {
		t.Fatal(err)
	}
	if err := r.checkProvenance(&k); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(r.directory, envelopeFile))
	if err != nil {
		t.Fatal(err)
	}
	var e envelope
	if err := json.Unmarshal(content, &e); err != nil {
		t.Fatal(err)
	}
	statement, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "signed"), []byte("DSSEv1 28 application/vnd.in-toto+json "+strconv.Itoa(len(statement))+" "+string(statement)))
	write(t, filepath.Join(dir, "signature"), signature)
	verify := func() error {
		return exec.CommandContext(t.Context(), "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin",
			"-in", filepath.Join(dir, "signed"), "-sigfile", filepath.Join(dir, "signature")).Run()
	}
	if err := verify(); err != nil {
		t.Errorf("openssl does not accept the signature: %v", err)
	}
	write(t, filepath.Join(dir, "signed"), []byte("DSSEv1 28 application/vnd.in-toto+json 2 {}"))
	if err := verify(); err == nil {
		t.Error("openssl accepts another statement")
	}
}

// A VEX document has statements about the products, and one that lacks what OpenVEX requires is an error.
func TestVEX(t *testing.T) {
	for name, c := range map[string]struct{ statements, want string }{
		"none":                  {`[]`, ""},
		"not affected":          {`[{"vulnerability":"CVE-1","component":"pkg:golang/a","status":"not_affected","justification":"vulnerable_code_not_in_execute_path","impactStatement":"no caller"}]`, ""},
		"without justification": {`[{"vulnerability":"CVE-1","component":"pkg:golang/a","status":"not_affected"}]`, "requires justification"},
		"without action":        {`[{"vulnerability":"CVE-1","component":"pkg:golang/a","status":"affected"}]`, "requires actionStatement"},
		"unknown status":        {`[{"vulnerability":"CVE-1","component":"pkg:golang/a","status":"fine"}]`, "is none of"},
		"unknown field":         {`[{"cve":"CVE-1"}]`, "unknown field"},
		"unknown product":       {`[{"vulnerability":"CVE-1","component":"pkg:golang/a","status":"fixed","products":["other"]}]`, "none of the products"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t.TempDir())
			r.clone = t.TempDir()
			if err := os.MkdirAll(filepath.Join(r.clone, filepath.Dir(vexSource)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(r.clone, vexSource), []byte(c.statements))
			content, err := r.vex([]product{{name: "demo"}})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error = %v, want %q", err, c.want)
			}
			if err == nil && (!json.Valid(content) || !strings.Contains(string(content), `"@id": "https://groundskeeper.io/`)) {
				t.Errorf("document %s", content)
			}
		})
	}
	maintained := newRelease(t.TempDir())
	if _, err := maintained.vex([]product{{name: "groundskeeper-apiserver"}}); err != nil {
		t.Errorf("the maintained statements: %v", err)
	}
}
