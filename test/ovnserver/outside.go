// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
)

// ErrNotInstalled is returned outside of a test where a test would be skipped.
var ErrNotInstalled = errors.New("OVN is not installed")

// Outside calls a function that runs servers outside of a test, such as a benchmark of several processes. What would fail a test is
// the error. The servers stop when the function returns, and on Linux when this process ends, however it ends.
func Outside(ctx context.Context, run func(t testing.TB) error) error {
	o := &outside{ctx: ctx}
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // the signal that ends a server is sent when the thread that started it ends
		defer close(done)
		defer o.cleanUp()
		// A server that cannot run ends this goroutine.
		if err := run(o); err != nil {
			o.err = errors.Join(o.err, err)
		}
	}()
	<-done
	return o.err
}

// outside implements what servers use of testing.TB. One goroutine uses it.
type outside struct {
	testing.TB
	ctx      context.Context
	err      error
	cleanups []func()
}

func (o *outside) cleanUp() {
	for _, cleanup := range slices.Backward(o.cleanups) {
		cleanup()
	}
}

// Helper implements testing.TB.
func (o *outside) Helper() {}

// Context implements testing.TB.
func (o *outside) Context() context.Context { return o.ctx }

// Cleanup implements testing.TB.
func (o *outside) Cleanup(cleanup func()) { o.cleanups = append(o.cleanups, cleanup) }

// Failed implements testing.TB.
func (o *outside) Failed() bool { return o.err != nil }

// Logf implements testing.TB.
func (o *outside) Logf(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}

// Fatal implements testing.TB.
func (o *outside) Fatal(arguments ...any) { o.fail(errors.New(fmt.Sprint(arguments...))) }

// Fatalf implements testing.TB.
func (o *outside) Fatalf(format string, arguments ...any) {
	o.fail(fmt.Errorf(format, arguments...))
}

// Skip implements testing.TB.
func (o *outside) Skip(arguments ...any) {
	o.fail(fmt.Errorf("%w: %s", ErrNotInstalled, fmt.Sprint(arguments...)))
}

func (o *outside) fail(err error) {
	o.err = errors.Join(o.err, err)
	runtime.Goexit()
}
