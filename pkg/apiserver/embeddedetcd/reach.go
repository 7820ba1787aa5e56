// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrInUse means that another process runs an etcd in the directory.
var ErrInUse = errors.New("another process uses this directory (--embedded-etcd-dir)")

// Exists reports whether there is the data of an etcd in a directory.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "etcd", "member"))
	return err == nil
}

// Reach returns the address of the etcd in a directory: that of the process which runs there, or else one that this
// process starts. The caller must be the same user as that process. It is an error when there is no data.
func Reach(ctx context.Context, config Config) (endpoint string, release func(), err error) {
	if !Exists(config.Dir) {
		return "", nil, fmt.Errorf("there is no embedded etcd in %s (--embedded-etcd-dir)", config.Dir)
	}
	server, err := Start(ctx, config)
	if err == nil {
		return server.Endpoint(), server.Stop, nil
	}
	if !errors.Is(err, ErrInUse) {
		return "", nil, err
	}
	path, err := filepath.Abs(filepath.Join(config.Dir, "etcd"))
	if err != nil {
		return "", nil, fmt.Errorf("embedded etcd in %s: %w", config.Dir, err)
	}
	d := &directory{path: path}
	if !fitsSocket(filepath.Join(path, socketName)) {
		if err := d.openSelf(); err != nil {
			return "", nil, err
		}
	}
	return d.endpoint(), d.close, nil
}
