// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"errors"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// failure converts an error of the client to a backend.Error; nil stays nil, and a backend.Error is not changed.
func failure(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*backend.Error](err); ok {
		return e
	}
	return &backend.Error{Reason: reasonOf(err), Message: err.Error(), Err: err}
}

func reasonOf(err error) backend.Reason {
	e, ok := errors.AsType[*ovsdb.Error](err)
	if !ok {
		return backend.Transient
	}
	switch e.Code {
	case ovsdb.CodeDuplicate:
		return backend.Conflict
	case ovsdb.CodeReference:
		return backend.NotFound // a row that it refers to
	case ovsdb.CodeConstraint:
		if isNameTaken(err) {
			return backend.Conflict
		}
		return backend.Refused
	case "syntax error", "unknown column", "unknown table", "domain error", "range error":
		return backend.Refused
	default:
		// The server is busy or shuts down, its disk is full, or it does not have the database any more.
		return backend.Transient
	}
}

// isNameTaken reports whether another row has the name of a row.
func isNameTaken(err error) bool {
	e, ok := errors.AsType[*ovsdb.Error](err)
	return ok && e.Code == ovsdb.CodeConstraint && strings.Contains(e.Details, "identical values")
}

// failedAt returns the index of the operation that required something that is not so; -1 if none did.
func failedAt(err error) int {
	if e, ok := errors.AsType[*ovsdb.Error](err); ok && e.Code == ovsdb.CodeTimedOut {
		return e.Operation
	}
	return -1
}
