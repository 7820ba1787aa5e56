// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// fileMode lets nobody else read what users wrote: members of projects, logins of routers, and what may come.
const fileMode = 0o600

// WriteFile makes a file that is whole or not there: it is written beside, flushed to the disk and renamed.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.OpenFile(path+".partial", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
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
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename survive a crash of the machine.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return folder.Sync()
}

// timestamp is the time in the name of a file. Names sort by it.
const timestamp = "20060102T150405Z"

// ownName matches the names that NameAt makes, and no other.
var ownName = regexp.MustCompile(`^groundskeeper-\d{8}T\d{6}Z\.jsonl$`)

// NameAt is the name of a file in a folder of backups.
func NameAt(now time.Time) string {
	return "groundskeeper-" + now.UTC().Format(timestamp) + ".jsonl"
}

// Expire removes the oldest backups of a folder but the newest ones, and returns their names. Other files stay.
func Expire(folder string, keep int) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && ownName.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	expired := names[:max(0, len(names)-keep)]
	for _, name := range expired {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	return expired, nil
}
