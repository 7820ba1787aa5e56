// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// blob returns the content of a descriptor.
func (a archive) blob(from descriptor) ([]byte, error) {
	content, ok := a.blobs[from.Digest]
	if !ok {
		return nil, fmt.Errorf("blob %s does not exist", from.Digest)
	}
	if int64(len(content)) != from.Size {
		return nil, fmt.Errorf("blob %s has %d bytes, not %d", from.Digest, len(content), from.Size)
	}
	a.seen[from.Digest] = true
	return content, nil
}

func (a archive) decode(from descriptor, into any) error {
	content, err := a.blob(from)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("blob %s: %w", from.Digest, err)
	}
	return nil
}

// eachFile calls visit for each regular file of a tar.
func eachFile(content io.Reader, visit func(file) error) error {
	entries := tar.NewReader(content)
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Typeflag == tar.TypeDir {
			continue
		}
		if entry.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s is not a regular file", entry.Name)
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
		if err := visit(file{*entry, content}); err != nil {
			return err
		}
	}
}

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}
