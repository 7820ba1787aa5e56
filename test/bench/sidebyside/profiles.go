// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"groundskeeper.io/groundskeeper/test/plane"
)

// profiler writes CPU profiles of both API servers while they are under load. Without a directory it does nothing.
type profiler struct {
	plane *plane.Plane
	dir   string
}

// start profiles a second from now on. The function that it returns waits for the end and returns what went wrong.
func (p profiler) start(ctx context.Context, load string) (wait func() error) {
	if p.dir == "" {
		return func() error { return nil }
	}
	var ends sync.WaitGroup
	var failures [2]error
	ends.Go(func() {
		failures[0] = p.write(ctx, load, p.plane.KubeAPIServer.Name(), func() (*client, error) { return newClient(p.plane.Config(), "*/*") })
	})
	ends.Go(func() {
		failures[1] = p.write(ctx, load, p.plane.APIServers[0].Name(), func() (*client, error) { return newClient(p.plane.DirectConfig(0), "*/*") })
	})
	return func() error {
		ends.Wait()
		return errors.Join(failures[:]...)
	}
}

// write keeps the profile of one server, beside those of the rounds before: go tool pprof adds several up.
func (p profiler) write(ctx context.Context, load, process string, connect func() (*client, error)) error {
	client, err := connect()
	if err != nil {
		return err
	}
	defer client.close()
	profile, err := client.do(ctx, request{method: "GET", path: "/debug/pprof/profile?seconds=1"})
	if err != nil {
		return err
	}
	dir := filepath.Join(p.dir, strings.NewReplacer(", ", "-", " ", "-", "'", "").Replace(load), process)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "*.pb.gz")
	if err != nil {
		return err
	}
	_, err = file.Write(profile)
	return errors.Join(err, file.Close())
}
