// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// played plays one step, and returns what was printed.
func played(t *testing.T, s step) (string, error) {
	t.Helper()
	var out bytes.Buffer
	p := &player{out: &out, execute: shell(os.Environ())}
	err := p.play(t.Context(), []act{{title: "one", steps: []step{s}}})
	return out.String(), err
}

func TestSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grows")
	for name, test := range map[string]struct {
		step          step
		prints, fails string
	}{
		"as wanted":           {step: run("printf hel%s lo", "^hel+o"), prints: "\n    $ printf hel%s lo\n    hello\n"},
		"another output":      {step: run("echo hello", "goodbye"), prints: "hello", fails: `act 1 (one): the output of echo hello does not`},
		"unwanted output":     {step: run("echo hello", "!hello"), fails: `"!hello"`},
		"error":               {step: run("echo no; exit 3"), prints: "no\n", fails: "exit status 3"},
		"error in a pipe":     {step: run("false | cat"), fails: "exit status 1"},
		"standard error":      {step: run("echo hello >&2", "hello"), prints: "hello\n"},
		"rejected":            {step: rejected("echo forbidden; exit 1", "forbidden"), prints: "forbidden\n"},
		"rejected otherwise":  {step: rejected("echo broken; exit 1", "forbidden"), fails: "forbidden"},
		"not rejected":        {step: rejected("true"), fails: "want a rejection"},
		"awaited":             {step: await("it is there", "echo x >> "+file+"; cat "+file, `(x\n){3}`), prints: "until it is there:\n\n    $ "},
		"look":                {step: look("it is green"), prints: "→ it is green\n"},
		"behind":              {step: behind("it rains", func(context.Context) error { return nil }), prints: "(it rains)"},
		"behind with a fault": {step: behind("it rains", func(context.Context) error { return errors.New("a fault") }), fails: "a fault"},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := played(t, test.step)
			if !strings.Contains(printed, test.prints) {
				t.Errorf("output = %q, want %q in it", printed, test.prints)
			}
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error = %v, want %q in it", err, test.fails)
			}
		})
	}
}

// TestInterrupt checks that the end of the context ends a command and its children.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := shell(os.Environ())(ctx, "sleep 1000 > "+fifo+"; true")
		ended <- err
	}()
	reader, err := os.Open(fifo) // returns when the child writes to it
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // it is only read
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	if _, err := io.ReadAll(reader); err != nil { // returns when the child has ended
		t.Error(err)
	}
}

func TestEnter(t *testing.T) {
	pause := lines(strings.NewReader("\nyes\n"), &bytes.Buffer{})
	for range 2 {
		if err := pause(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := pause(t.Context()); err == nil || !strings.Contains(err.Error(), "AUTO=1") {
		t.Errorf("error at the end of the input = %v, want one that names AUTO=1", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	reader, writer := newPipe(t)
	defer writer.Close() //nolint:errcheck // nothing was written
	if err := lines(reader, &bytes.Buffer{})(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

func newPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return reader, writer
}
