// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "errors"

// ErrUnknownKind means that the backend has no resources of a kind.
var ErrUnknownKind = errors.New("unknown kind")

// ErrInvalid means that a resource exists but the driver cannot parse it.
var ErrInvalid = errors.New("the backend's response is not understood")

// Reason classifies an error for the engine.
type Reason int

const (
	// Refused means that the backend rejects the resource, and will reject it again.
	Refused Reason = iota
	// NotFound means that the resource, or one it refers to, does not exist.
	NotFound
	// Conflict means that another resource occupies the key or a slot, or that a race was lost.
	Conflict
	// Transient means that there was no response, or that the backend was busy or failed. The write may have succeeded.
	Transient
	// Fenced means that nothing was sent, because this process is no longer allowed to write.
	Fenced
)

// Error is the error of a call. It never contains a credential.
type Error struct {
	Reason Reason
	// Code is the status code of the response, 0 if there was none.
	Code int
	// Message is written for users, with the backend's own text if there is one.
	Message string
	// Err is the cause, or nil.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of an error; Transient if it is not an *Error.
func ReasonOf(err error) Reason {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return Transient
}
