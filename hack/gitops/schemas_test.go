// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// groups are those of Groundskeeper's kinds.
var groups = regexp.MustCompile(`^(core\.gardener\.cloud|gimbal\.heptio\.com|kubernikus\.sap\.cc|midonet\.org)/`)

// minExamples is how many manifests there are at least, so that a change of the documentation does not hide all of them.
const minExamples = 9

// block is what in a page of the documentation may be a manifest: a block of YAML, or the input of a command (<<, not <<<).
var block = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```|[^<]<<\\w+[^\n]*\n(.*?)^ *[A-Z]+$")

// examples returns all manifests of Groundskeeper's kinds in artifacts and in the documentation.
func examples(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, root := range []string{"../../artifacts", "../../docs"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			switch filepath.Ext(path) {
			case ".yaml":
				all = append(all, manifests(string(data))...)
			case ".md":
				for _, found := range block.FindAllStringSubmatch(string(data), -1) {
					all = append(all, manifests(found[1]+found[2])...)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < minExamples {
		t.Fatalf("%d examples were found, want %d", len(all), minExamples)
	}
	return all
}

var separator = regexp.MustCompile(`(?m)^ *---$`)

// manifests returns the objects of Groundskeeper in a file, those in lists, too. Other content, such as patches, is skipped.
func manifests(file string) []map[string]any {
	var all []map[string]any
	for _, document := range separator.Split(file, -1) {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			continue
		}
		objects := []any{object}
		if items, ok := object["items"].([]any); ok {
			objects = items
		}
		for _, o := range objects {
			o, _ := o.(map[string]any)
			version, _ := o["apiVersion"].(string)
			if groups.MatchString(version) && o["metadata"] != nil {
				all = append(all, o)
			}
		}
	}
	return all
}

// validate checks an object as kubeconform does, which finds the schema by group, kind and version.
func validate(t *testing.T, object map[string]any) error {
	t.Helper()
	version, _ := object["apiVersion"].(string)
	group, version, _ := strings.Cut(version, "/")
	kind, _ := object["kind"].(string)
	data, err := os.ReadFile(filepath.Join(artifacts, "schemas", group, strings.ToLower(kind)+"_"+version+".json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(object)
}

// TestSchemasAcceptExamplesAndStoredObjects checks that the objects in the documentation and the artifacts, and those that the API
// server returns, are valid.
func TestSchemasAcceptExamplesAndStoredObjects(t *testing.T) {
	for _, object := range examples(t) {
		if err := validate(t, object); err != nil {
			t.Errorf("%v of %v: %v", object["kind"], object["metadata"], err)
		}
	}
	for _, s := range states(t) {
		if err := validate(t, s.object); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

func TestSchemasRejectMistakes(t *testing.T) {
	for name, manifest := range map[string]string{
		"unknown field":          `{apiVersion: core.gardener.cloud/v1beta1, kind: Project, metadata: {name: a}, spec: {descripton: x}}`,
		"unknown nested field":   `{apiVersion: kubernikus.sap.cc/v1, kind: Kluster, metadata: {name: a}, spec: {openstack: {projectId: x}}}`,
		"wrong type":             `{apiVersion: core.gardener.cloud/v1beta1, kind: Project, metadata: {name: a}, spec: {members: anna}}`,
		"unknown value":          `{apiVersion: gimbal.heptio.com/v1, kind: DiscoveryBackend, metadata: {name: a}, cluster: {type: vmware, secret: s}}`,
		"required field":         `{apiVersion: gimbal.heptio.com/v1, kind: DiscoveryBackend, metadata: {name: a}, cluster: {secret: s}}`,
		"metadata is missing":    `{apiVersion: midonet.org/v1, kind: Translation, resources: []}`,
		"time that is no time":   `{apiVersion: core.gardener.cloud/v1beta1, kind: Project, metadata: {name: a, creationTimestamp: yesterday}, spec: {}}`,
		"boolean that is quoted": `{apiVersion: gimbal.heptio.com/v1, kind: DiscoveryBackend, metadata: {name: a}, cluster: {type: openstack, debug: "true"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{}
			if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
				t.Fatal(err)
			}
			if err := validate(t, object); err == nil {
				t.Errorf("%s is accepted", manifest)
			}
		})
	}
}

// The values of DiscoveryBackends may be spelled in any case.
func TestSchemasAcceptAnySpelling(t *testing.T) {
	for _, status := range []string{"enabled", "Maintenance", "MAINTENANCE"} {
		object := map[string]any{
			"apiVersion": "gimbal.heptio.com/v1", "kind": "DiscoveryBackend", "metadata": map[string]any{"name": "a"},
			"cluster": map[string]any{"type": "Kubernetes", "secret": "s", "clusterStatus": status},
		}
		if err := validate(t, object); err != nil {
			t.Errorf("clusterStatus %s: %v", status, err)
		}
	}
}
