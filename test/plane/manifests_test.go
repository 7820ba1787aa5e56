// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const artifacts = "../../artifacts"

func TestManifests(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	write("kustomization.yaml", head+"resources: [b.yaml, sub]\n")
	write("b.yaml", "# a comment\n---\nkind: B\nmetadata: {name: one}\n---\nkind: B\nmetadata: {name: two}\n")
	write("sub/kustomization.yaml", head+"resources: [c.yaml]\n")
	write("sub/c.yaml", "kind: C\nmetadata: {name: three}\n")
	write("ignored.yaml", "kind: D\nmetadata: {name: four}\n")
	objects, err := manifests(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct{ file, content, want string }{
		"what Groundskeeper would not do": {"kustomization.yaml", head + "namePrefix: x-\n", "namePrefix"},
		"a file that has been deleted":    {"kustomization.yaml", head + "resources: [gone.yaml]\n", "gone.yaml"},
		"a doubled field":                 {"sub/c.yaml", "kind: C\nkind: D\n", "c.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			old, err := os.ReadFile(filepath.Join(dir, test.file))
			if err != nil {
				t.Fatal(err)
			}
			defer write(test.file, string(old))
			write(test.file, test.content)
			if _, err := manifests(dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not name %s", err, test.want)
			}
		})
	}
}

// TestManifestsAreThoseOfKustomize checks that a plane applies the same objects as "kubectl apply -k".
func TestManifestsAreThoseOfKustomize(t *testing.T) {
	kubectl := binary(t, "kubectl")
	rendered, err := exec.Command(kubectl, "kustomize", artifacts).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rendered.yaml")
	if err := os.WriteFile(file, rendered, 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := manifests(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := manifests(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	byName := cmpopts.SortSlices(func(a, b *unstructured.Unstructured) bool {
		return a.GetKind()+name(a) < b.GetKind()+name(b)
	})
	if diff := cmp.Diff(want, got, byName); diff != "" {
		t.Errorf("objects (-kustomize +plane):\n%s", diff)
	}
}

// TestAllManifestsAreListed checks that every file in the directories is in a kustomization, because it has no effect otherwise.
func TestAllManifestsAreListed(t *testing.T) {
	for _, dir := range []string{"rbac", "apiservice"} {
		objects, err := manifests(filepath.Join(artifacts, dir))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(artifacts, dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var all []*unstructured.Unstructured
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			more, err := manifests(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, more...)
		}
		if len(all) != len(objects) {
			t.Errorf("%s: %d objects lie in its files, %d in its kustomization", dir, len(all), len(objects))
		}
	}
}

// binary returns the path of a binary that make has built.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../_output/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make build kubernetes builds it", err)
	}
	return path
}
