// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backup.jsonl")
	write := func(content string, then error) error {
		return WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, content)
			return errors.Join(err, then)
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := write("second", errors.New("no more")); err == nil {
		t.Error("the error of the writer is lost")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "first" {
		t.Errorf("after a failure the file is %q, %v", content, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	// The permissions of a leftover file do not apply to the next export.
	if err := os.WriteFile(path+".partial", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write("third", nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestExpire(t *testing.T) {
	directory := t.TempDir()
	var own []string
	for day := range 4 {
		own = append(own, NameAt(time.Date(2026, 12, 30+day, 1, 2, 3, 0, time.UTC)))
	}
	others := []string{"groundskeeper-20200101T000000Z.jsonl.partial", "groundskeeper-mine.jsonl", "a.jsonl"}
	for _, name := range append(others, own...) {
		if err := os.WriteFile(filepath.Join(directory, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		keep int
		want []string
	}{{9, nil}, {3, own[:1]}, {1, own[1:3]}} {
		got, err := Expire(directory, test.keep)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("keep %d (-want +removed):\n%s", test.keep, diff)
		}
	}
	entries, err := os.ReadDir(directory)
	if err != nil || len(entries) != len(others)+1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestTidy checks that the files of killed exports are deleted, and no others, because another export may be in progress.
func TestTidy(t *testing.T) {
	directory, now := t.TempDir(), time.Now()
	old, stopped, fresh := NameAt(now.Add(-9*time.Hour))+partial, NameAt(now.Add(-61*time.Minute))+partial, NameAt(now)+partial
	for name, written := range map[string]time.Time{
		old: now.Add(-8 * time.Hour), stopped: now.Add(-time.Hour), fresh: now,
		// It began long ago, and continues.
		NameAt(now.Add(-5*time.Hour)) + partial: now.Add(-59 * time.Minute),
		NameAt(now.Add(-7 * time.Hour)):         now.Add(-7 * time.Hour),
		"groundskeeper-mine.jsonl" + partial:    now.Add(-8 * time.Hour),
		"a.jsonl" + partial:                     now.Add(-8 * time.Hour),
	} {
		path := filepath.Join(directory, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	notOurs, longAgo := filepath.Join(directory, NameAt(time.Time{})+partial), now.Add(-8*time.Hour)
	if err := errors.Join(os.Mkdir(notOurs, 0o700), os.Chtimes(notOurs, longAgo, longAgo)); err != nil {
		t.Fatal(err)
	}
	removed, err := Tidy(directory, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{old, stopped}, removed); diff != "" {
		t.Errorf("-want +removed:\n%s", diff)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 6 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if _, err := Tidy(filepath.Join(directory, "none"), now); err == nil {
		t.Error("a directory that does not exist is tidy")
	}
}
