// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package backup writes all objects of a store into a file, reads such a file back into an empty store, and writes the objects of a
// store again with today's encoding and encryption.
//
// All three work on storage, below admission and below everything that the API does to what users write: uids, owner
// references, finalizers, times, statuses and generations stay. With another uid of a Project, Kubernetes' garbage
// collector would delete its namespace.
//
// # The file
//
// A file has one JSON document a line. The first is the Header. Then comes one line for each object, as the API shows
// it. The last line, {"end":{"objects":2,"sha256":"..."}}, has the number of objects and the SHA-256 of all bytes before
// it. A file without it is truncated, and one whose sum differs was altered; neither is imported.
package backup

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Format is what the first line of every file reports it is.
	Format = "groundskeeper-backup"
	// FormatVersion is the version of the format that this program writes, and the one that it reads.
	FormatVersion = 1
)

// Header is the first line of a file.
type Header struct {
	// Format and Version report how to read the rest.
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Program is the version of the program that wrote the file.
	Program string `json:"program"`
	// Time is when the file was written.
	Time time.Time `json:"time"`
	// Store is the id of the store, empty when it has none.
	Store string `json:"store,omitempty"`
	// Revision is the one revision of etcd that all objects are from.
	Revision int64 `json:"revision"`
	// Resources are what the file holds, and how many objects of each.
	Resources []Count `json:"resources"`
}

// Count is how many objects of a resource a file holds.
type Count struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
	Objects  int    `json:"objects"`
}

// GroupVersionKind returns the type that the objects declare.
func (c Count) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: c.Group, Version: c.Version, Kind: c.Kind}
}

// Objects returns how many objects the file holds.
func (h Header) Objects() int {
	n := 0
	for _, count := range h.Resources {
		n += count.Objects
	}
	return n
}

// trailer is the last line of a file.
type trailer struct {
	End *end `json:"end"`
}

type end struct {
	Objects int    `json:"objects"`
	SHA256  string `json:"sha256"`
}

// parseHeader reads the first line. It reports what else the file may be.
func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil || h.Format != Format {
		return Header{}, fmt.Errorf("line 1: this is no file that groundskeeper-apiserver export wrote")
	}
	if h.Version != FormatVersion {
		return Header{}, fmt.Errorf("line 1: the file has version %d of the format, written by %s; this program reads version %d: use the program that wrote it",
			h.Version, h.Program, FormatVersion)
	}
	for _, count := range h.Resources {
		if count.Objects < 0 {
			return Header{}, fmt.Errorf("line 1: %d objects of %s.%s", count.Objects, count.Resource, count.Group)
		}
	}
	return h, nil
}
