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
	"regexp"
	"slices"
	"time"
)

// partial ends the name of a file that is being written.
const partial = ".partial"

// fileMode lets no other client read what users wrote: members of projects, logins of routers, and what may come.
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

// timestamp is the time in the name of a file. Names sort by it.
const timestamp = "20060102T150405Z"

var (
	// ownName matches the names that NameAt makes, and no other.
	ownName = regexp.MustCompile(`^groundskeeper-\d{8}T\d{6}Z\.jsonl$`)
	// ownPartial matches what a file of that name is called while it is written.
	ownPartial = regexp.MustCompile(`^groundskeeper-\d{8}T\d{6}Z\.jsonl\.partial$`)
)

// abandoned is the age after which a temporary file is considered abandoned.
const abandoned = time.Hour

// NameAt returns the name of a file in a directory of backups.
func NameAt(now time.Time) string {
	return "groundskeeper-" + now.UTC().Format(timestamp) + ".jsonl"
}

// Expire removes the oldest backups of a directory but the newest ones, and returns their names. Other files stay.
func Expire(directory string, keep int) ([]string, error) {
	files, err := filesIn(directory, ownName)
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
	files, err := filesIn(directory, ownPartial)
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

// filesIn returns the files of a directory with names of exports, the oldest first.
func filesIn(directory string, names *regexp.Regexp) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(directory)
	return slices.DeleteFunc(entries, func(entry os.DirEntry) bool {
		return !entry.Type().IsRegular() || !names.MatchString(entry.Name())
	}), err
}
