// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// errLostRace is what comes of a job that another client always was ahead of.
var errLostRace error = &backend.Error{Reason: backend.Conflict, Message: "another client changes it at the same time"}

// read finds out what the backend has.
func (j *job) read(ctx context.Context) error {
	have, there, err := j.b.Get(ctx, j.want)
	if err = ignoreDeleted(err); err != nil {
		return err
	}
	if there {
		j.found(have)
	} else {
		j.vanished()
	}
	return nil
}

// found takes over what the backend has.
func (j *job) found(have backend.Observed) {
	j.know, j.at, j.hash = landed, have.Ref, digest{}
	if have.Parent == j.want.Parent && len(j.b.Differences(j.want, have)) == 0 {
		j.hash = j.digest
		j.done = !j.misplaced
	}
}

// vanished notes that the resource does not exist, though it may have been.
func (j *job) vanished() {
	j.lost = j.lost || j.know == unknown || j.know == landed
	j.know, j.hash, j.misplaced = deleted, digest{}, false
}

// create makes the resource. A conflict can mean that it is there already.
func (j *job) create(ctx context.Context) error {
	position, err := j.position(ctx)
	if err != nil {
		return err
	}
	j.wrote = true
	err = j.b.Create(ctx, j.want, position)
	switch {
	case err == nil:
		j.landed()
		return nil
	case backend.ReasonOf(err) == backend.Transient:
		j.know = unknown
		return err
	case backend.ReasonOf(err) != backend.Conflict:
		return err
	}
	if j.conflicts++; j.conflicts > 2 {
		return err
	}
	j.know = unknown
	if readErr := j.read(ctx); readErr != nil {
		return readErr
	}
	if j.know == deleted {
		// Nothing was lost: it did not exist before either.
		j.lost = false
		return err
	}
	return nil
}

// update replaces the body.
func (j *job) update(ctx context.Context) error {
	j.wrote = true
	err := j.b.Update(ctx, j.want)
	if err == nil {
		j.landed()
		return nil
	}
	switch backend.ReasonOf(err) {
	case backend.NotFound:
		j.vanished()
		return nil
	case backend.Transient:
		j.know = unknown
	case backend.Conflict:
		j.know = unknown
		if j.conflicts++; j.conflicts < 2 {
			return nil
		}
	}
	return err
}

// landed notes that the backend has it as wanted.
func (j *job) landed() {
	j.know, j.hash, j.done, j.misplaced = landed, j.digest, true, false
	j.at = j.want.Ref
}

// remove deletes what blocks the resource: itself, unchanged.
func (j *job) remove(ctx context.Context, ref backend.Ref) error {
	j.wrote = true
	err := j.b.Delete(ctx, ref)
	switch {
	case err == nil || backend.ReasonOf(err) == backend.NotFound:
		j.vanished()
		return nil
	case backend.ReasonOf(err) == backend.Transient:
		j.know, j.lost = unknown, true
	}
	return err
}
