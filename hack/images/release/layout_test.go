// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const demo = "groundskeeper-demo"

// compile builds a program for a platform, as hack/images/build.sh does.
func compile(t *testing.T, architecture string, flags ...string) []byte {
	t.Helper()
	directory := t.TempDir()
	write(t, filepath.Join(directory, "go.mod"), []byte("module groundskeeper.io/demo\n\ngo 1.26.0\n"))
	write(t, filepath.Join(directory, "main.go"), []byte("package main\n\nfunc main() {}\n"))
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-buildvcs=false", "-o", "demo"}, flags...), ".")...)
	build.Dir = directory
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture, "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(directory, "demo"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pack returns a tar archive in which all files have the same mode.
func pack(t *testing.T, files map[string][]byte, mode int64) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writer.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(files[name])), ModTime: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// layout is an OCI layout under construction.
type layout struct {
	t     *testing.T
	files map[string][]byte
}

func (l layout) add(content []byte) map[string]any {
	digest := sum(content)
	l.files["blobs/sha256/"+digest] = content
	return map[string]any{"digest": "sha256:" + digest, "size": len(content)}
}

func (l layout) addJSON(value any) map[string]any {
	content, err := json.Marshal(value)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.add(content)
}

// labels returns the labels of all images.
func labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": demo, "org.opencontainers.image.version": "v1", "org.opencontainers.image.revision": "abc",
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://groundskeeper.io/groundskeeper",
	}
}

// part describes the image for one platform.
type part struct {
	architecture string
	files        map[string][]byte
	mode         int64
	user         string
	labels       map[string]string
}

func newPart(architecture string, program []byte) part {
	files := map[string][]byte{demo: program, strings.TrimPrefix(certificates, "/"): []byte("certificates")}
	return part{architecture, files, 0o555, "65532:65532", labels()}
}

func (l layout) image(p part) map[string]any {
	layer := pack(l.t, p.files, p.mode)
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	if _, err := writer.Write(layer); err != nil {
		l.t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		l.t.Fatal(err)
	}
	manifest := l.addJSON(map[string]any{
		"layers": []any{l.add(zipped.Bytes())},
		"config": l.addJSON(map[string]any{
			"os": "linux", "architecture": p.architecture, "rootfs": map[string]any{"diff_ids": []string{"sha256:" + sum(layer)}},
			"config": map[string]any{"User": p.user, "Entrypoint": []string{"/" + demo}, "Labels": p.labels},
		}),
	})
	manifest["platform"] = platform{"linux", p.architecture}
	return manifest
}

// write writes an archive of the parts into a directory.
func (l layout) write(directory string, parts ...part) string {
	l.t.Helper()
	var manifests []any
	for _, p := range parts {
		manifests = append(manifests, l.image(p))
	}
	index := l.addJSON(map[string]any{"manifests": manifests})
	index["mediaType"] = mediaTypeIndex
	index["annotations"] = map[string]string{annotationName: "localhost/" + demo + ":v1"}
	content, err := json.Marshal(map[string]any{"manifests": []any{index}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.files["index.json"], l.files["oci-layout"] = content, []byte(`{"imageLayoutVersion":"1.0.0"}`)
	name := filepath.Join(directory, demo+".tar")
	write(l.t, name, pack(l.t, l.files, 0o644))
	return name
}

func TestReadArchiveDetectsTampering(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(files map[string][]byte)
		want   string
	}{
		"unchanged":     {func(map[string][]byte) {}, ""},
		"no version":    {func(f map[string][]byte) { delete(f, "oci-layout") }, "oci-layout"},
		"no index":      {func(f map[string][]byte) { f["index.json"] = []byte("{}") }, "not one image"},
		"extra blob":    {func(f map[string][]byte) { layout{t, f}.add([]byte("more")) }, "is not referenced"},
		"missing blob":  {func(f map[string][]byte) { delete(f, largest(f)) }, "does not exist"},
		"modified blob": {func(f map[string][]byte) { f[largest(f)] = []byte("other") }, "has the digest"},
	} {
		t.Run(name, func(t *testing.T) {
			l := layout{t, map[string][]byte{}}
			archive := l.write(t.TempDir(), newPart("amd64", []byte("program")), newPart("arm64", []byte("another program")))
			c.tamper(l.files)
			write(t, archive, pack(t, l.files, 0o644))
			_, images, err := readArchive(archive)
			if c.want == "" {
				if err != nil || len(images) != 2 || string(images[1].files["/"+demo].content) != "another program" {
					t.Fatalf("images = %v, error = %v", images, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error = %v, want one that contains %q", err, c.want)
			}
		})
	}
}

// largest returns the file with the most bytes.
func largest(files map[string][]byte) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(files)), func(a, b string) int { return len(files[a]) - len(files[b]) })
}
