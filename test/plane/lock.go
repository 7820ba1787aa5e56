// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Lock makes this process the only one that changes the plane of the directory, until release is called or the process ends. The
// lock file lies beside the directory, so that the directory can be removed under it.
func Lock(dir string) (release func(), err error) {
	file, err := os.OpenFile(dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(file)
		file.Close() //nolint:errcheck // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("process %s is changing the control plane in %s; wait until it is done", strings.TrimSpace(string(holder)), dir)
		}
		return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, fmt.Sprintln(os.Getpid()))); err != nil {
		file.Close() //nolint:errcheck // the write error is the one to report
		return nil, err
	}
	if !isAt(file) {
		file.Close() //nolint:errcheck // nobody else can find this file
		return Lock(dir)
	}
	return func() {
		os.Remove(file.Name()) //nolint:errcheck // a file that stays is empty of meaning, since nobody holds it
		file.Close()           //nolint:errcheck // it ends the lock
	}, nil
}

// isAt reports whether a file is still that of its name. A process that ends its lock between our open and our lock removes the file.
func isAt(file *os.File) bool {
	opened, err := file.Stat()
	named, missing := os.Stat(file.Name())
	return err == nil && missing == nil && os.SameFile(opened, named)
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}
