// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"sync"
)

// deflater compresses. One is enough: it takes more than a megabyte, and some 30 µs for a Translation.
type deflater struct {
	mu     sync.Mutex
	writer *flate.Writer
	out    bytes.Buffer
}

var theDeflater = sync.OnceValue(func() *deflater {
	d := &deflater{}
	var err error
	if d.writer, err = flate.NewWriterDict(&d.out, flate.DefaultCompression, dictionary()); err != nil {
		panic(err) // there is such a level
	}
	return d
})

func deflate(text []byte) string {
	d := theDeflater()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.Reset()
	d.writer.Reset(&d.out)
	_, err := d.writer.Write(text)
	if err == nil {
		err = d.writer.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return d.out.String()
}

// inflater decompresses into a dedicated buffer.
type inflater struct {
	in     strings.Reader
	reader io.ReadCloser
	out    bytes.Buffer
}

var inflaters = sync.Pool{New: func() any {
	i := &inflater{}
	i.reader = flate.NewReaderDict(&i.in, dictionary())
	return i
}}

// inflate has a function read a decompressed text, which that must not keep.
func inflate(packed string, read func([]byte) error) error {
	i := inflaters.Get().(*inflater)
	defer inflaters.Put(i)
	i.in.Reset(packed)
	i.out.Reset()
	if err := i.reader.(flate.Resetter).Reset(&i.in, dictionary()); err != nil {
		return err
	}
	if _, err := i.out.ReadFrom(i.reader); err != nil {
		return err
	}
	return read(i.out.Bytes())
}
