// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	// maxSocketPath is the length of a unix socket's path that every system takes: sun_path holds
	// 108 bytes on Linux and 104 on others, the last one is zero.
	maxSocketPath = 103

	socketName = "client.sock"
)

// directory is the private directory of the data, locked by this process.
type directory struct {
	path string
	// lock is nil when another process runs the etcd.
	lock *fileutil.LockedFile
	// self is the open directory through which the socket is reached when its path does not fit.
	self *os.File
}

func newDirectory(dir string) (*directory, error) {
	path, err := filepath.Abs(filepath.Join(dir, "etcd"))
	if err != nil {
		return nil, fmt.Errorf("embedded etcd in %s: %w", dir, err)
	}
	return &directory{path: path}, nil
}

// openDirectory creates the private directory below dir and locks it. The lock comes before all else,
// as etcd would remove the socket of the process that runs there.
func openDirectory(dir string) (*directory, error) {
	d, err := newDirectory(dir)
	if err != nil {
		return nil, err
	}
	if err := makePrivate(d.path); err != nil {
		return nil, fmt.Errorf("embedded etcd cannot write to %s (--embedded-etcd-dir): %w", dir, err)
	}
	d.lock, err = fileutil.TryLockFile(filepath.Join(d.path, "lock"), os.O_CREATE|os.O_RDWR, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("embedded etcd in %s: %w", dir, ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded etcd cannot write to %s (--embedded-etcd-dir): %w", dir, err)
	}
	if err := d.shortenSocket(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// makePrivate creates a directory that only its owner can enter. One that exists is made so.
func makePrivate(path string) error {
	if err := os.MkdirAll(path, fileutil.PrivateDirMode); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(path, fileutil.PrivateDirMode)
}

// fitsSocket reports whether a path can be that of a unix socket and stands unchanged in a URL.
func fitsSocket(path string) bool {
	u := url.URL{Path: path}
	return len(path) <= maxSocketPath && u.EscapedPath() == path
}

// shortenSocket gives a socket whose path does not fit a short one: this process reaches its open directory below /proc.
func (d *directory) shortenSocket() error {
	if fitsSocket(filepath.Join(d.path, socketName)) {
		return nil
	}
	self, err := os.Open(d.path)
	if err != nil {
		return fmt.Errorf("embedded etcd in %s: %w", d.path, err)
	}
	d.self = self
	if _, err := os.Stat(d.socketDirectory()); err != nil {
		return fmt.Errorf("embedded etcd: the socket %s needs a path of at most %d plain characters: choose another --embedded-etcd-dir",
			filepath.Join(d.path, socketName), maxSocketPath)
	}
	return nil
}

func (d *directory) socketDirectory() string {
	if d.self == nil {
		return d.path
	}
	return fmt.Sprintf("/proc/self/fd/%d", d.self.Fd())
}

// socket returns the path of the socket, and endpoint the address for clients.
func (d *directory) socket() string   { return filepath.Join(d.socketDirectory(), socketName) }
func (d *directory) endpoint() string { return "unix://" + d.socket() }

// close gives the directory free.
func (d *directory) close() {
	if d.self != nil {
		_ = d.self.Close()
	}
	if d.lock != nil {
		_ = d.lock.Close()
	}
}
