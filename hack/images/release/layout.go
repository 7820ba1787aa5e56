// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// annotationName is where an index has the name of an image.
const annotationName = "org.opencontainers.image.ref.name"

const mediaTypeIndex = "application/vnd.oci.image.index.v1+json"

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
	Platform    *platform         `json:"platform"`
}

type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

func (p platform) String() string { return p.OS + "/" + p.Architecture }

// config is what is read of an image's configuration.
type config struct {
	platform
	Config struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// file is one of an image.
type file struct {
	header  tar.Header
	content []byte
}

// image is one of an archive: for one platform.
type image struct {
	config config
	files  map[string]file
}

// archive is an OCI layout in a tar. Its blobs are looked up by their digest; seen are those that something leads to.
type archive struct {
	blobs map[string][]byte
	seen  map[string]bool
}

// readArchive returns the name of the one image of an archive, and the image for each platform. It fails where the archive
// is no valid layout: each blob must have its digest, and each one be of use.
func readArchive(name string) (string, []image, error) {
	a := archive{blobs: map[string][]byte{}, seen: map[string]bool{}}
	top := map[string][]byte{}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", nil, err
	}
	err = eachFile(bytes.NewReader(content), func(f file) error {
		if digest, ok := strings.CutPrefix(f.header.Name, "blobs/sha256/"); ok {
			if sum := sum(f.content); sum != digest {
				return fmt.Errorf("blob %s has the digest %s", digest, sum)
			}
			a.blobs["sha256:"+digest] = f.content
			return nil
		}
		top[f.header.Name] = f.content
		return nil
	})
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	reference, images, err := a.read(top)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return reference, images, nil
}

func (a archive) read(top map[string][]byte) (string, []image, error) {
	var layout struct {
		Version string `json:"imageLayoutVersion"`
	}
	if err := json.Unmarshal(top["oci-layout"], &layout); err != nil {
		return "", nil, fmt.Errorf("oci-layout: %w", err)
	}
	if layout.Version != "1.0.0" {
		return "", nil, fmt.Errorf("oci-layout has version %q, want 1.0.0", layout.Version)
	}
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(top["index.json"], &index); err != nil {
		return "", nil, fmt.Errorf("index.json: %w", err)
	}
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations[annotationName] == "" {
		return "", nil, errors.New("index.json has not one image with a name")
	}
	reference, manifests := index.Manifests[0].Annotations[annotationName], index.Manifests
	if manifests[0].MediaType == mediaTypeIndex {
		if err := a.decode(index.Manifests[0], &index); err != nil {
			return "", nil, err
		}
		manifests = index.Manifests
	}
	var images []image
	for _, manifest := range manifests {
		image, err := a.image(manifest)
		if err != nil {
			return "", nil, fmt.Errorf("manifest %s: %w", manifest.Digest, err)
		}
		images = append(images, image)
	}
	for digest := range a.blobs {
		if !a.seen[digest] {
			return "", nil, fmt.Errorf("blob %s is not referenced", digest)
		}
	}
	return reference, images, nil
}

// image reads what a manifest leads to.
func (a archive) image(from descriptor) (image, error) {
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	result := image{files: map[string]file{}}
	if err := a.decode(from, &manifest); err != nil {
		return image{}, err
	}
	if err := a.decode(manifest.Config, &result.config); err != nil {
		return image{}, err
	}
	if from.Platform != nil && *from.Platform != result.config.platform {
		return image{}, fmt.Errorf("the index has platform %s, its configuration %s", from.Platform, result.config.platform)
	}
	var diffs []string
	for _, layer := range manifest.Layers {
		content, err := a.blob(layer)
		if err != nil {
			return image{}, err
		}
		zipped, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return image{}, fmt.Errorf("layer %s: %w", layer.Digest, err)
		}
		hash := sha256.New()
		unzipped := io.TeeReader(zipped, hash)
		err = eachFile(unzipped, func(f file) error {
			result.files[path.Clean("/"+f.header.Name)] = f
			return nil
		})
		if _, rest := io.Copy(io.Discard, unzipped); err != nil || rest != nil {
			return image{}, fmt.Errorf("layer %s: %w", layer.Digest, errors.Join(err, rest))
		}
		diffs = append(diffs, "sha256:"+hex.EncodeToString(hash.Sum(nil)))
	}
	if !slices.Equal(diffs, result.config.RootFS.DiffIDs) {
		return image{}, fmt.Errorf("layers have the digests %s, the configuration has %s", diffs, result.config.RootFS.DiffIDs)
	}
	return result, nil
}
