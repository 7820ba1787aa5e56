// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

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
		return nil, fmt.Errorf("the file has %d objects, its first line specifies %d and its last line %d", len(objects), header.Objects(), t.End.Objects)
	}
	for i := range objects {
		objects[i] = bytes.TrimSuffix(objects[i], []byte("\n"))
	}
	return &File{Header: header, Lines: objects, Sum: t.End.SHA256}, nil
}
