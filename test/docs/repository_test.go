// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	action = regexp.MustCompile(`(?m)^\s*-?\s*uses:\s*(.*)$`)
	// pinned is an action with its commit and, for readers and Renovate, its version.
	pinned = regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// A tag of an action can be moved to other code, a commit cannot; and a job has no permission that it does not need.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows %v, error %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range action.FindAllSubmatch(content, -1) {
			if !pinned.Match(found[1]) {
				t.Errorf("%s: %s is not pinned: OWNER/NAME@COMMIT # vX.Y.Z", file, found[1])
			}
		}
		var workflow struct {
			Permissions map[string]string `json:"permissions"`
			Jobs        map[string]struct {
				Permissions map[string]string `json:"permissions"`
			} `json:"jobs"`
		}
		if err := yaml.Unmarshal(content, &workflow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions = %v, want contents: read", file, workflow.Permissions)
		}
		for name, job := range workflow.Jobs {
			for permission, access := range job.Permissions {
				if access != "read" && permission != "security-events" { // with which results of an analysis are shown
					t.Errorf("%s: job %s may %s %s", file, name, access, permission)
				}
			}
		}
	}
}

var (
	// base is an image from a registry that a build begins with.
	base = regexp.MustCompile(`(?m)^(?:FROM .*|ARG \w+)[ =](\w+\.[\w./-]+/[\w.-]+\S*)`)
	// digest is the end of an image that cannot be replaced.
	digest = regexp.MustCompile(`:[\w.-]+@sha256:[0-9a-f]{64}$`)
)

// A tag of an image can be moved to another image, a digest cannot.
func TestDockerfile(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	images := base.FindAllSubmatch(content, -1)
	if len(images) == 0 {
		t.Fatal("the Dockerfile names no image of a registry")
	}
	for _, image := range images {
		if !digest.Match(image[1]) {
			t.Errorf("Dockerfile: %s is not pinned: NAME:TAG@sha256:DIGEST", image[1])
		}
	}
}

// TestRenovate checks that everything that the configuration of Renovate names exists, because a rule about a moved module would
// have no effect.
func TestRenovate(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "renovate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		PackageRules []struct {
			Description   string   `json:"description"`
			MatchPackages []string `json:"matchPackageNames"`
			MatchFiles    []string `json:"matchFileNames"`
		} `json:"packageRules"`
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	modules := ""
	for _, file := range []string{"go.mod", "hack/tools/go.mod", "hack/monitoring/go.mod"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		modules += string(content)
	}
	for _, rule := range config.PackageRules {
		if rule.Description == "" {
			t.Errorf("a rule about %v %v has no description", rule.MatchPackages, rule.MatchFiles)
		}
		for _, name := range rule.MatchPackages {
			if !strings.Contains(modules, strings.TrimSuffix(name, "**")) {
				t.Errorf("%q: no module requires %s", rule.Description, name)
			}
		}
		for _, name := range rule.MatchFiles {
			if found, err := filepath.Glob(filepath.Join(root, strings.ReplaceAll(name, "**", "*"))); err != nil || len(found) == 0 {
				t.Errorf("%q: %s does not exist", rule.Description, name)
			}
		}
	}
}
