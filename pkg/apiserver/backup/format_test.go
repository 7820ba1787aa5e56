// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fileOf writes a file of lines.
func fileOf(t testing.TB, header Header, lines ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// projects returns the header of a file with some Projects.
func projects(n int) Header {
	return Header{
		Program: "v1", Time: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Store: "5f", Revision: 7,
		Resources: []Count{{Group: "core.gardener.cloud", Version: "v1beta1", Resource: "projects", Kind: "Project", Objects: n}},
	}
}

// sealed ends lines with a checksum that is correct, as a user would who edits a file and knows the format.
func sealed(lines ...string) []byte {
	data := []byte(strings.Join(lines, "\n") + "\n")
	sum := sha256.Sum256(data)
	return fmt.Appendf(data, `{"end":{"objects":%d,"sha256":%q}}`+"\n", len(lines)-1, hex.EncodeToString(sum[:]))
}

// TestRoundTripOfFiles checks that a written file can be read, and that one with a missing or changed byte cannot.
func TestRoundTripOfFiles(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 0, 8).Draw(r, "objects")
		var lines []string
		for _, text := range texts {
			line, err := json.Marshal(map[string]string{"text": text})
			if err != nil {
				r.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		header := projects(len(lines))
		header.Store, header.Program = rapid.String().Draw(r, "store"), rapid.String().Draw(r, "program")
		data := fileOf(t, header, lines...)
		read, err := Read(bytes.NewReader(data))
		if err != nil {
			r.Fatal(err)
		}
		var got []string
		for _, line := range read.Lines {
			got = append(got, string(line))
		}
		if diff := cmp.Diff(lines, got); diff != "" {
			r.Fatalf("lines (-written +read):\n%s", diff)
		}
		if read.Header.Revision != header.Revision || !read.Header.Time.Equal(header.Time) || read.Header.Objects() != len(lines) {
			r.Fatalf("the header is %+v", read.Header)
		}

		cut := rapid.IntRange(0, len(data)-1).Draw(r, "cut")
		if _, err := Read(bytes.NewReader(data[:cut])); err == nil {
			r.Fatalf("the first %d of %d bytes are taken for the whole file", cut, len(data))
		}
		// The last line is JSON that may be spelled otherwise; what it reports about the others may not.
		body := bytes.LastIndexByte(data[:len(data)-1], '\n')
		at, bit := rapid.IntRange(0, body).Draw(r, "at"), rapid.IntRange(0, 7).Draw(r, "bit")
		altered := bytes.Clone(data)
		altered[at] ^= 1 << bit
		if _, err := Read(bytes.NewReader(altered)); err == nil {
			r.Fatalf("byte %d was changed without being detected", at)
		}
	})
}

func TestRejectedFiles(t *testing.T) {
	const object = `{"kind":"Project"}`
	good := fileOf(t, projects(2), object, object)
	lines := strings.SplitAfter(string(good), "\n")
	head := strings.TrimSuffix(lines[0], "\n")
	for name, test := range map[string]struct{ data, want string }{
		"empty":                     {"", "is empty"},
		"something else":            {`{"kind":"List"}` + "\n", "line 1: this is no file"},
		"not JSON":                  {"PK\x03\x04", "line 1: this is no file"},
		"a later version":           {strings.Replace(string(good), `"version":1`, `"version":2`, 1), "version 2 of the format, written by v1; this program reads version 1"},
		"a header alone":            {lines[0], "truncated"},
		"no last line":              {strings.Join(lines[:3], ""), "truncated"},
		"half of the last line":     {string(good[:len(good)-9]), "truncated"},
		"no line break at the end":  {string(good[:len(good)-1]), "truncated"},
		"a line less":               {lines[0] + lines[1] + lines[3], "was altered"},
		"a line more":               {string(good) + object + "\n", "truncated"},
		"two files":                 {string(good) + string(good), "was altered"},
		"Windows line ends":         {strings.ReplaceAll(string(good), "\n", "\r\n"), "was altered"},
		"an object less, sealed":    {string(sealed(head, object)), "the file has 1 objects, its first line specifies 2"},
		"a negative count":          {string(sealed(strings.Replace(head, `"objects":2`, `"objects":-1`, 1))), "-1 objects of projects"},
		"a checksum of another one": {strings.Join(lines[:3], "") + string(sealed(head, object, object+" "))[len(head)+2*len(object)+4:], "was altered"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(test.data))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it reports %v, not %q", err, test.want)
			}
		})
	}
	if _, err := Read(bytes.NewReader(sealed(head, object, object))); err != nil {
		t.Errorf("the test's own seal is not accepted: %v", err)
	}
}

func TestWriterRejects(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, projects(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]byte("{\n}")); err == nil {
		t.Error("an object of two lines was written")
	}
	if err := w.Write([]byte("{}\n")); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err == nil {
		t.Error("a file with one of two objects was finished")
	}
}

// FuzzRead reads arbitrary input. It must not panic, and what it accepts must be a file that can be written again.
func FuzzRead(f *testing.F) {
	good := fileOf(f, projects(2), `{"kind":"Project","metadata":{"name":"a"}}`, `{"kind":"Project"}`)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(fileOf(f, Header{}))
	f.Add(fileOf(f, projects(1), `{"metadata":{"name":"\u2028"}}`))
	f.Add(sealed(`{"format":"groundskeeper-backup","version":1,"resources":[{"objects":1},{"objects":-1}]}`))
	f.Add(sealed(`{"format":"groundskeeper-backup","version":1,"resources":null,"more":{}}`))
	f.Add([]byte("\n\n\n"))
	f.Add([]byte(`{"format":"groundskeeper-backup","version":1}` + "\n" + `{"end":null}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, file.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range file.Lines {
			if bytes.Contains(line, []byte("\r")) || !bytes.Equal(bytes.TrimSpace(line), line) {
				return // JSON that no writer would spell so
			}
			if err := w.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(file.Lines, again.Lines); diff != "" {
			t.Fatalf("lines (-read +written and read again):\n%s", diff)
		}
	})
}
