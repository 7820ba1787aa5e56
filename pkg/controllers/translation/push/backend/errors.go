// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "errors"

// ErrUnknownKind means that the backend has no resources of a kind.
var ErrUnknownKind = errors.New("unknown kind")

// ErrInvalid means that a resource is there and the driver does not understand it.
var ErrInvalid = errors.New("the backend's response is not understood")

// Reason reports what an error means to the engine.
type Reason int

const (
	// Refused means that the backend will not take it, whenever it is tried again.
	Refused Reason = iota
	// NotFound means that the resource, or one it refers to, does not exist.
	NotFound
	// Conflict means that something else is in that place, or that a race was lost.
	Conflict
	// Transient means that no response came, or the backend was busy or broken. The write may have succeeded.
	Transient
	// Fenced means that nothing was sent, because this process may no longer write.
	Fenced
)

// Error is a call that failed. It never holds a credential.
type Error struct {
	Reason Reason
	// Code is the status code of the response, 0 when none came.
	Code int
	// Message is for users, in the backend's words where it gave any.
	Message string
	// Err is the cause, or nil.
	Err error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf is the reason of an error; Transient when it is not of a backend.
func ReasonOf(err error) Reason {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return Transient
}
