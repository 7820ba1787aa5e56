// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pack writes an archive of the files.
func pack(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(file)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

const entry = `{"digest":"sha256:m","annotations":{"org.opencontainers.image.ref.name":"localhost/a:v1"}}`

func TestRead(t *testing.T) {
	archive := pack(t, map[string]string{
		"index.json":     `{"manifests":[` + entry + `]}`,
		"blobs/sha256/m": `{"config":{"digest":"sha256:c"},"layers":[{"digest":"sha256:l1"},{"digest":"sha256:l2"}]}`,
		"blobs/sha256/c": `{"created":"2026-01-02T03:04:05Z","config":{"User":"1:1","Entrypoint":["/a"]}}`,
	})
	if name, err := Reference(archive); err != nil || name != "localhost/a:v1" {
		t.Errorf("its name is %q, %v", name, err)
	}
	config, layers, err := Read(archive)
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "1:1" || config.Created == "" || !slices.Equal(layers, []string{"blobs/sha256/l1", "blobs/sha256/l2"}) {
		t.Errorf("got %+v, %q", config, layers)
	}
}

func TestReferenceFails(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no index":       {map[string]string{"other": ""}, "no file index.json"},
		"not JSON":       {map[string]string{"index.json": "x"}, "index.json"},
		"two images":     {map[string]string{"index.json": `{"manifests":[` + entry + "," + entry + `]}`}, "not one image"},
		"without a name": {map[string]string{"index.json": `{"manifests":[{"digest":"sha256:m"}]}`}, "with a name"},
	} {
		if _, err := Reference(pack(t, test.files)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v does not contain %q", name, err, test.want)
		}
	}
	if _, err := Reference(filepath.Join(t.TempDir(), "none.tar")); err == nil || !strings.Contains(err.Error(), "make images") {
		t.Errorf("no archive: error %v does not name make images", err)
	}
}
