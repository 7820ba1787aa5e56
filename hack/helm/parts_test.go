// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// file is one that a page shows.
var file = regexp.MustCompile("(?m)^```yaml\n# groundskeeper/(\\S+)\n((?:.*\n)*?)```$")

// TestParts builds the kustomizations by which docs install a part alone, and checks that the chart contains the same objects with the
// values of docs/install.md.
func TestParts(t *testing.T) {
	for page, values := range map[string]string{
		"deorbit":             "features: {kluster: {enabled: true}}",
		"backend-maintenance": "features: {discovery: {enabled: true}}",
		"projects":            "features: {}",
		"local-volumes":       "", // not by the chart, like the next one
		"ovn":                 "",
	} {
		t.Run(page, func(t *testing.T) {
			dir := t.TempDir()
			config := part(t, dir, page)
			built, err := build(dir, "groundskeeper")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range built {
				if containers, ok := o.at("spec", "template", "spec", "containers").([]any); ok {
					if image := object(containers[0].(map[string]any)).text("image"); !strings.HasPrefix(image, "registry.example.com/groundskeeper/") {
						t.Errorf("%s has the image %s", o.id(), image)
					}
				}
				if page == "ovn" && o.text("kind") == "Secret" {
					mounted := ""
					for _, deployment := range built {
						if deployment.id() == manager {
							mounted = at(t, deployment, "spec.template.spec.volumes.last.secret.secretName")
						}
					}
					if mounted != o.text("metadata", "name") {
						t.Errorf("the Secret is %s, and the Deployment has %s", o.text("metadata", "name"), mounted)
					}
				}
			}
			if values == "" {
				return
			}
			written, err := yaml.Marshal(map[string]any{"controllerManager": map[string]any{"config": config}})
			if err != nil {
				t.Fatal(err)
			}
			values += "\nimage: {registry: registry.example.com/groundskeeper, tag: v1}\n" + string(written)
			root, err := filepath.Abs(artifacts)
			if err != nil {
				t.Fatal(err)
			}
			directory, err := filepath.Rel(root, filepath.Join(dir, "groundskeeper"))
			if err != nil {
				t.Fatal(err)
			}
			same(t, mustTemplate(t, values), directory)
		})
	}
}

// part writes the files of a page as the page says, and returns the configuration.
func part(t *testing.T, dir, page string) (config string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page+".md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Install this part alone\n")
	section, _, _ = strings.Cut(section, "\n## ")
	files := map[string]string{"ca.crt": "", "tls.crt": "", "tls.key": ""}
	for _, f := range file.FindAllStringSubmatch(section, -1) {
		files[f[1]] = "# groundskeeper/" + f[1] + "\n" + f[2]
	}
	root, err := filepath.Abs(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "groundskeeper"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, "groundskeeper", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files["config.yaml"]
}
