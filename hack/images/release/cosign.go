// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// signatureSuffix ends the name of an archive with the signature of an image.
const signatureSuffix = ".sig.tar"

// Names of cosign's specification of signatures.
const (
	annotationSignature = "dev.cosignproject.cosign/signature"
	mediaTypePayload    = "application/vnd.dev.cosign.simplesigning.v1+json"
	payloadType         = "cosign container image signature"
)

const (
	mediaTypeManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaTypeConfig   = "application/vnd.oci.image.config.v1+json"
)

// payload is what the signature of an image is of.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

// imageDigest returns the name and the digest of the one image of an archive: the digest that a registry has of it.
func imageDigest(archive string) (name, digest string, err error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return "", "", err
	}
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	err = eachFile(bytes.NewReader(content), func(f file) error {
		if f.header.Name != "index.json" {
			return nil
		}
		return json.Unmarshal(f.content, &index)
	})
	if err == nil && len(index.Manifests) != 1 {
		err = errors.New("index.json has not one image")
	}
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", archive, err)
	}
	return index.Manifests[0].Annotations[annotationName], index.Manifests[0].Digest, nil
}

// signImages writes the signature of each image as an archive: an image that belongs in the repository of the signed one, under the
// tag that it is named by, where cosign and admission controllers expect it.
func (r release) signImages(k key) error {
	images, err := r.images()
	if err != nil {
		return err
	}
	for _, image := range images {
		name, digest, err := imageDigest(image)
		if err != nil {
			return err
		}
		content, err := k.signature(name, digest, r.time)
		if err != nil {
			return fmt.Errorf("sign %s: %w", image, err)
		}
		if err := os.WriteFile(strings.TrimSuffix(image, ".tar")+signatureSuffix, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkSignatures fails unless each image has its signature.
func (r release) checkSignatures(k key) error {
	images, err := r.images()
	if err != nil {
		return err
	}
	for _, image := range images {
		name, digest, err := imageDigest(image)
		if err != nil {
			return err
		}
		want, err := k.signature(name, digest, r.time)
		if err != nil {
			return err
		}
		is, err := os.ReadFile(strings.TrimSuffix(image, ".tar") + signatureSuffix)
		if err != nil {
			return err
		}
		if !bytes.Equal(is, want) {
			return fmt.Errorf("%s%s is not the signature of the image with the key", strings.TrimSuffix(image, ".tar"), signatureSuffix)
		}
	}
	return nil
}

// images returns the archives of images in the directory.
func (r release) images() ([]string, error) {
	all, err := filepath.Glob(filepath.Join(r.directory, "*.tar"))
	if err != nil {
		return nil, err
	}
	var images []string
	for _, name := range all {
		if !strings.HasSuffix(name, signatureSuffix) {
			images = append(images, name)
		}
	}
	return images, nil
}

// signature returns the archive with the signature of an image.
func (k key) signature(name, digest string, at time.Time) ([]byte, error) {
	var p payload
	p.Critical.Identity.Reference, p.Critical.Image.Digest, p.Critical.Type = name, digest, payloadType
	signed, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sig, err := k.sign(signed)
	if err != nil {
		return nil, err
	}
	if err := k.verify(signed, sig); err != nil {
		return nil, err
	}
	return signatureArchive(digest, signed, base64.StdEncoding.EncodeToString(sig), at)
}

// signatureArchive returns an OCI layout in a tar, with an image of one layer: the payload.
func signatureArchive(digest string, signed []byte, sig string, at time.Time) ([]byte, error) {
	type layer struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	var files []tarFile
	var failed error
	add := func(mediaType string, content any) layer {
		data, ok := content.([]byte)
		if !ok {
			var err error
			if data, err = json.Marshal(content); err != nil {
				failed = err
			}
		}
		files = append(files, tarFile{"blobs/sha256/" + sum(data), data})
		return layer{MediaType: mediaType, Digest: "sha256:" + sum(data), Size: len(data)}
	}
	content := add(mediaTypePayload, signed)
	content.Annotations = map[string]string{annotationSignature: sig}
	config := add(mediaTypeConfig, map[string]any{
		"architecture": "", "os": "", "created": at.UTC().Format(time.RFC3339),
		"config": map[string]any{}, "rootfs": map[string]any{"type": "layers", "diff_ids": []string{content.Digest}},
	})
	manifest := add(mediaTypeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": mediaTypeManifest, "config": config, "layers": []layer{content},
	})
	manifest.Annotations = map[string]string{annotationName: strings.ReplaceAll(digest, ":", "-") + ".sig"}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []layer{manifest}})
	if err != nil {
		return nil, err
	}
	files = append(files, tarFile{"index.json", index}, tarFile{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	packed, err := tarOf(files, at)
	return packed, errors.Join(failed, err)
}

// tarFile is a file of a tar.
type tarFile struct {
	name    string
	content []byte
}

func tarOf(files []tarFile, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
