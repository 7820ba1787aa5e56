// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
)

// Writer writes a file.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash
	header  Header
	objects int
}

// NewWriter writes the first line, which reports what will come.
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
