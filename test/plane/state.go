// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// record is what a plane remembers of a process that it started.
type record struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // of its arguments, the files it reads and its binary
	Address     string `json:"address"`
	Health      string `json:"health"`
	identity
}

// state is what a plane must know to be taken over by a later one. It is written at every change.
type state struct {
	mu        sync.Mutex
	path      string
	Ports     map[string]int `json:"ports"`
	Network   network        `json:"network,omitempty"` // of the node, 0: none was chosen yet
	Processes []record       `json:"processes"`         // in the order of their first start
}

// loadState reads the state in the directory. A directory that is absent or empty has an empty state; one that has files, and
// no state of a plane, belongs to something else and is an error.
func loadState(dir string) (*state, error) {
	s := &state{path: filepath.Join(dir, "state.json")}
	content, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, checkEmpty(dir)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("%s cannot be read (stop the processes manually and remove the directory): %w", s.path, err)
	}
	if s.Ports == nil {
		return nil, fmt.Errorf("%s is not the state of a local control plane: choose another directory than %s", s.path, dir)
	}
	return s, nil
}

// checkEmpty fails when a directory has anything in it.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".state.json-") }) // a first write that was cut off
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s was not made for a local control plane (it has no state.json, but %s): choose another directory", dir, entries[0].Name())
	}
	return err
}

// process returns what is remembered of the process.
func (s *state) process(name string) (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(name); i >= 0 {
		return s.Processes[i], true
	}
	return record{}, false
}

// running reports whether the process that is remembered under the name runs.
func (s *state) running(name string) bool {
	r, found := s.process(name)
	return found && r.alive()
}

// records returns what is remembered of all processes.
func (s *state) records() []record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Processes)
}

func (s *state) setPorts(ports map[string]int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Ports = ports
	return s.save()
}

func (s *state) setNetwork(n network) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Network = n
	return s.save()
}

func (s *state) set(r record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(r.Name); i >= 0 {
		s.Processes[i] = r
	} else {
		s.Processes = append(s.Processes, r)
	}
	return s.save()
}

// Drops what is remembered of the chosen processes. They do not run.
func (s *state) remove(choose func(record) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Processes = slices.DeleteFunc(s.Processes, choose)
	return s.save()
}

func (s *state) index(name string) int {
	return slices.IndexFunc(s.Processes, func(r record) bool { return r.Name == name })
}

func (s *state) save() error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(s.path, append(content, '\n'))
}

// writeFile makes the content of the file this one, immediately, readable for Groundskeeper only. A file that has it already is not
// touched.
func writeFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // already renamed when the rename succeeded
	if _, err := temporary.Write(content); err != nil {
		temporary.Close() //nolint:errcheck // the write error is the one to report
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
