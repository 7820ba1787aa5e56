// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// partial ends the name of a file that is being written.
const partial = ".partial"

// fileMode lets no other user of the machine read a backup, which has the members of projects and the logins of routers.
const fileMode = 0o600

// WriteFile writes a file atomically: it writes a temporary file in the same directory, syncs it and renames it.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.OpenFile(path+partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	if err := file.Chmod(fileMode); err != nil { // one of an earlier attempt
		return err
	}
	if err := write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	if closeErr := file.Close(); closeErr != nil {
		return fmt.Errorf("%s: %w", path, closeErr)
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes a rename survive a crash of the machine.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	return directory.Sync()
}

// layout is the name of a file by the time at which it was written, by which names sort.
const layout = "groundskeeper-20060102T150405Z.jsonl"

// abandoned is the age after which a temporary file is considered abandoned.
const abandoned = time.Hour

// NameAt returns the name of a file in a directory of backups.
func NameAt(now time.Time) string {
	return now.UTC().Format(layout)
}

// Expire removes all backups of a directory but the newest ones, and returns their names. Other files stay.
func Expire(directory string, keep int) ([]string, error) {
	files, err := filesIn(directory, layout)
	if err != nil {
		return nil, err
	}
	var expired []string
	for _, file := range files[:max(0, len(files)-keep)] {
		if err := os.Remove(filepath.Join(directory, file.Name())); err != nil {
			return nil, err
		}
		expired = append(expired, file.Name())
	}
	return expired, nil
}

// Tidy removes temporary files of killed exports from a directory of backups, and returns their names. Expire does not remove them, and
// they would fill the volume. Files that another export may be writing are retained.
func Tidy(directory string, now time.Time) ([]string, error) {
	files, err := filesIn(directory, layout+partial)
	var removed []string
	errs := []error{err}
	for _, file := range files {
		info, err := file.Info()
		if err == nil && now.Sub(info.ModTime()) < abandoned {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(directory, file.Name()))
		}
		switch {
		case err == nil:
			removed = append(removed, file.Name())
		case !errors.Is(err, fs.ErrNotExist): // another export tidies, too
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}

// filesIn returns the files of a directory whose names have a layout, the oldest first, and no others.
func filesIn(directory, layout string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(directory)
	return slices.DeleteFunc(entries, func(entry os.DirEntry) bool {
		at, err := time.Parse(layout, entry.Name())
		return !entry.Type().IsRegular() || err != nil || at.Format(layout) != entry.Name()
	}), err
}
