// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/test/plane/image"
)

// An image has its binary and, except for pause, root certificates, and nothing else.
func TestImages(t *testing.T) {
	t.Parallel()
	commands, err := os.ReadDir("../../cmd")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		if !strings.HasPrefix(command.Name(), "groundskeeper-") {
			continue // it runs where users are
		}
		t.Run(command.Name(), func(t *testing.T) {
			testImage(t, command.Name(), "/etc", "/etc/ssl", "/etc/ssl/certs", "/etc/ssl/certs/ca-certificates.crt")
		})
	}
	t.Run("pause", func(t *testing.T) { testImage(t, "pause") })
}

func testImage(t *testing.T, name string, besides ...string) {
	config, layers, err := image.Read(archive(name))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/" + name}) || len(c.Cmd) > 0 {
		t.Errorf("it runs %q %q as %q", c.Entrypoint, c.Cmd, c.User)
	}
	for _, label := range []string{"source", "version", "revision", "licenses"} {
		if c.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("it has no label %s: %v", label, c.Labels)
		}
	}
	created, err := time.Parse(time.RFC3339, config.Created)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, layer := range layers {
		if err := image.Open(archive(name), layer, func(content io.Reader) error { return unpack(content, created, files) }); err != nil {
			t.Fatal(err)
		}
	}
	want := append([]string{"/" + name}, besides...)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	binary, err := elf.NewFile(bytes.NewReader(files["/"+name]))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range binary.Progs {
		if program.Type == elf.PT_INTERP || program.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has a %s", program.Type)
		}
	}
}

// unpack reads a layer into files. All of it is root's, it is not writable, and it is as old as the image.
func unpack(content io.Reader, created time.Time, files map[string][]byte) error {
	unzipped, err := gzip.NewReader(content) // as registries store layers, so that a push does not change the digest
	if err != nil {
		return err
	}
	layer := tar.NewReader(unzipped)
	for {
		entry, err := layer.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Uid != 0 || entry.Gid != 0 || entry.Mode&0o022 != 0 || !entry.ModTime.Equal(created) {
			return fmt.Errorf("%s is of user %d, group %d, mode %o, time %s", entry.Name, entry.Uid, entry.Gid, entry.Mode, entry.ModTime)
		}
		name := path.Join("/", entry.Name)
		if name == "/" {
			continue
		}
		if files[name], err = io.ReadAll(layer); err != nil {
			return err
		}
	}
}
