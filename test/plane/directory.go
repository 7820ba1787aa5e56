// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func logDir(dir string) string { return filepath.Join(dir, "logs") }

func logFile(dir, name string) string { return filepath.Join(logDir(dir), name+".log") }

func pkiDir(dir string) string { return filepath.Join(dir, "pki") }

// Status is what can be seen of one process of a plane.
type Status struct {
	Name    string
	PID     int    // 0: it does not run
	Address string // host:port
	// Page is the URL of a page to read, empty for a process without one.
	Page    string
	LogFile string
	// Err is why it is not ready; nil: it is.
	Err error
}

// Inspect returns the status of the processes of the plane in the directory, in the order of their start, and changes nothing. It
// returns none for a directory in which no plane was started yet.
func Inspect(ctx context.Context, dir string) ([]Status, error) {
	s, err := loadState(dir)
	if err != nil {
		return nil, err
	}
	prober, err := newProber(pkiDir(dir), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, r := range s.records() {
		status := Status{Name: r.Name, Address: r.Address, LogFile: logFile(dir, r.Name)}
		switch r.Name {
		case midonetName:
			status.Page = midonetPages(r.Address)
		case ovnName:
			status.Page = ovnPage(r.Address)
		}
		if r.alive() {
			status.PID, status.Err = r.PID, probe(ctx, prober, r.Health)
		} else {
			status.Err = errors.New("it does not run")
		}
		all = append(all, status)
	}
	return all, nil
}

// Stop ends all processes of the plane in the directory, regardless of who started them, and reports progress of each. The data
// stays.
func Stop(ctx context.Context, dir string, progress func(line string)) error {
	s, err := loadState(dir)
	if err != nil {
		return err
	}
	return s.stop(ctx, dir, progress, func(record) bool { return true })
}

// Remove stops the plane in the directory and deletes the directory with all its data. It rejects one that no plane made.
func Remove(ctx context.Context, dir string, progress func(line string)) error {
	if err := Stop(ctx, dir, progress); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// stop ends the chosen ones of the processes that run, the last started first.
func (s *state) stop(ctx context.Context, dir string, progress func(line string), choose func(record) bool) error {
	var failures []error
	for _, r := range slices.Backward(s.records()) {
		if !choose(r) || !r.alive() {
			continue
		}
		process := &Process{command: command{name: r.Name}, logFile: logFile(dir, r.Name), state: s}
		process.adopt(r)
		if err := process.Stop(ctx); err != nil {
			failures = append(failures, err)
			continue
		}
		progress(fmt.Sprintf("%-32s stopped (pid %d)", r.Name, r.PID))
	}
	return errors.Join(failures...)
}
