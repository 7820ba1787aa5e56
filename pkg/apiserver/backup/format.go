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
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
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

// parseHeader parses the first line. Its error names the kind of file if the file is another one.
func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil || h.Format != Format {
		return Header{}, fmt.Errorf("line 1: this is no file that groundskeeper-apiserver export wrote")
	}
	if h.Version != FormatVersion {
		return Header{}, fmt.Errorf("line 1: the file has version %d of the format, written by %s; this program reads version %d: use the "+
			"program that wrote it",
			h.Version, h.Program, FormatVersion)
	}
	for _, count := range h.Resources {
		if count.Objects < 0 {
			return Header{}, fmt.Errorf("line 1: %d objects of %s.%s", count.Objects, count.Resource, count.Group)
		}
	}
	return h, nil
}

// File is what was read, whole and unaltered.
type File struct {
	Header Header
	// Lines are the objects. The first is line 2 of the file.
	Lines [][]byte
	// Sum names the content.
	Sum string
}

// errTruncated means that the end is missing.
var errTruncated = errors.New("the file is truncated: its last line, with the number of objects and the checksum, is missing")

// Read reads a file to its end and checks that it is whole. The content of the objects is not checked.
//
// All of the file is kept in memory: what is checked is what will be imported.
func Read(r io.Reader) (*File, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	header, err := parseHeader(lines[0])
	if err != nil {
		return nil, err
	}
	// After the last line break comes nothing.
	if last := lines[len(lines)-1]; len(last) > 0 {
		return nil, errTruncated
	}
	lines = lines[:len(lines)-1]
	if len(lines) < 2 {
		return nil, errTruncated
	}
	last := lines[len(lines)-1]
	var t trailer
	if err := json.Unmarshal(last, &t); err != nil || t.End == nil {
		return nil, errTruncated
	}
	objects := lines[1 : len(lines)-1]
	sum := sha256.Sum256(data[:len(data)-len(last)])
	if got := hex.EncodeToString(sum[:]); got != t.End.SHA256 {
		return nil, fmt.Errorf("the file was altered: its lines have the checksum %s, the last line reports %s", got, t.End.SHA256)
	}
	if t.End.Objects != len(objects) || header.Objects() != len(objects) {
		return nil, fmt.Errorf("the file has %d objects, its first line specifies %d and its last line %d", len(objects), header.Objects(),
			t.End.Objects)
	}
	for i := range objects {
		objects[i] = bytes.TrimSuffix(objects[i], []byte("\n"))
	}
	return &File{Header: header, Lines: objects, Sum: t.End.SHA256}, nil
}

// Writer writes a file.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash
	header  Header
	objects int
}

// NewWriter writes the first line, which describes the content.
func NewWriter(out io.Writer, header Header) (*Writer, error) {
	header.Format, header.Version = Format, FormatVersion
	w := &Writer{out: bufio.NewWriter(out), sum: sha256.New(), header: header}
	line, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	return w, w.line(line)
}

// Write writes one object, a JSON document.
func (w *Writer) Write(object []byte) error {
	object = bytes.TrimSpace(object)
	if bytes.ContainsAny(object, "\r\n") {
		return fmt.Errorf("object %d has more than one line", w.objects+1)
	}
	w.objects++
	return w.line(object)
}

// Close writes the last line. It fails when there were not as many objects as the first line specifies.
func (w *Writer) Close() error {
	if want := w.header.Objects(); w.objects != want {
		return fmt.Errorf("%d objects were written instead of %d", w.objects, want)
	}
	line, err := json.Marshal(trailer{&end{Objects: w.objects, SHA256: hex.EncodeToString(w.sum.Sum(nil))}})
	if err != nil {
		return err
	}
	if err := w.line(line); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *Writer) line(data []byte) error {
	data = append(data, '\n')
	w.sum.Write(data)
	_, err := w.out.Write(data)
	return err
}
