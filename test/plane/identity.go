// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"os"
	"syscall"
)

// identity names one process indefinitely. A pid alone does not: the system gives it to another process when the first has been
// deleted, and that one must never be signalled.
type identity struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // when the process started, in the words of the system
}

// alive reports whether this very process still runs. A process that ended and is not reaped yet does not.
func (i identity) alive() bool {
	if i.PID <= 0 || i.Started == "" {
		return false
	}
	started, running, err := startOf(i.PID)
	return err == nil && running && started == i.Started
}

// signal sends sig to the process if it still is the one named; one that has been deleted is no error.
func (i identity) signal(sig syscall.Signal) error {
	// The handle is taken before the check (on Linux it is a pidfd): should the process end in between,
	// the signal is lost and does not reach the next owner of the pid.
	process, err := os.FindProcess(i.PID)
	if err != nil || !i.alive() {
		return nil
	}
	defer process.Release() //nolint:errcheck // it closes a handle
	if err := process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
