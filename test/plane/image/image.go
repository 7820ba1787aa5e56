// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package image reads archives of images, as hack/images/build.sh makes them: a tar of an OCI layout with one image.
package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// annotationName is where an index has the name of an image.
const annotationName = "org.opencontainers.image.ref.name"

// descriptor leads to a blob of the archive.
type descriptor struct {
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

func (d descriptor) path() string { return path.Join("blobs", strings.Replace(d.Digest, ":", "/", 1)) }

// Config is what is read of an image's configuration.
type Config struct {
	Created string `json:"created"`
	Config  struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		Cmd        []string          `json:"Cmd"`
		Env        []string          `json:"Env"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
}

// Reference returns the name of the archive's image, with its tag.
func Reference(archive string) (string, error) {
	image, err := index(archive)
	return image.Annotations[annotationName], err
}

// Read returns the configuration of the archive's image and where its layers are in the archive.
func Read(archive string) (Config, []string, error) {
	image, err := index(archive)
	if err != nil {
		return Config{}, nil, err
	}
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	if err := decode(archive, image.path(), &manifest); err != nil {
		return Config{}, nil, err
	}
	var layers []string
	for _, layer := range manifest.Layers {
		layers = append(layers, layer.path())
	}
	var config Config
	return config, layers, decode(archive, manifest.Config.path(), &config)
}

func index(archive string) (descriptor, error) {
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := decode(archive, "index.json", &index); err != nil {
		return descriptor{}, err
	}
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations[annotationName] == "" {
		return descriptor{}, fmt.Errorf("%s has not one image with a name", archive)
	}
	return index.Manifests[0], nil
}

func decode(archive, name string, into any) error {
	return Open(archive, name, func(content io.Reader) error { return json.NewDecoder(content).Decode(into) })
}

// Open calls read with the content of one file of the archive.
func Open(archive, name string, read func(content io.Reader) error) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("%w: \"make images\" builds the images", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	entries := tar.NewReader(file)
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s has no file %s", archive, name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if path.Clean(entry.Name) != name {
			continue
		}
		if err := read(entries); err != nil {
			return fmt.Errorf("%s: %s: %w", archive, name, err)
		}
		return nil
	}
}
