// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// job is the work on one desired resource, with the state that its calls report. The node is busy meanwhile.
type job struct {
	b     Backend
	locks *locks
	want  backend.Resource
	// digest is that of the desired body; in is the collection that contains the resource if listed is true.
	digest digest
	in     backend.Collection
	listed bool
	// know, hash and at are the state of the resource, initially that of the node.
	know knowledge
	hash digest
	at   backend.Ref
	// copied and misplaced are initially those of the node.
	copied, misplaced bool
	// later and earlier are the ordered siblings that the Claim lists after and before it; later ones precede it in the backend.
	// crowded: some of later may exist.
	later, earlier []backend.Key
	crowded        bool
	// seq is that of the node when the job began.
	seq uint32
	// done: the resource is in sync. wrote: the job wrote to the backend. lost: the resource was deleted, and the backend may have
	// deleted dependents. copyRead: the job has read whether the copy exists.
	done, wrote, lost, copyRead bool
	conflicts                   int
}

// errElsewhere means that the resource has another parent, and has to be deleted there first.
var errElsewhere = errors.New("it lies under another parent")

// jobFor returns the job for an item, and marks its node busy until settle. The caller holds the lock of the index.
func (p *push) jobFor(x *index, i int) *job {
	it := &p.items[i]
	n := it.node
	n.busy = true
	j := &job{
		b: p.e.b, locks: &p.e.locks, digest: it.want, know: n.know, hash: n.hash, copied: n.copied, misplaced: n.misplaced,
		at: backend.Ref{Key: n.key, Parent: n.parent}, seq: n.seq,
	}
	if it.in != (unique.Handle[backend.Collection]{}) {
		j.in, j.listed = it.in.Value(), true
	}
	x.reserve(n, it.slots())
	if !it.ordered {
		return j
	}
	for k := range p.items {
		sibling := &p.items[k]
		switch {
		case sibling.node == nil || !sibling.ordered || sibling.in != it.in || k == i || sibling.node.winner != p.c:
		case k < i:
			j.earlier = append(j.earlier, sibling.node.key)
		default:
			j.later = append(j.later, sibling.node.key)
			j.crowded = j.crowded || sibling.node.know == landed || sibling.node.know == unknown
		}
	}
	return j
}

// work runs a job and records its result.
func (p *push) work(ctx context.Context, i int, j *job) (verdict, error) {
	want, err := p.e.b.Resolve(p.wanted[i])
	if err == nil {
		j.want = want
		j.want.Claim = p.c.name
		j.copied = j.copied && j.replaceable()
		err = j.run(ctx)
	}
	v := p.settle(ctx, i, j, err)
	if ends(ctx, err) {
		return v, err
	}
	return v, nil
}

// run makes the backend match the desired state. Writes under one parent are serial, and two parents are never locked at the same
// time.
func (j *job) run(ctx context.Context) error {
	for range 3 {
		err := j.locks.do(ctx, lockOf(j.want.Ref), func() error { return j.make(ctx) })
		if !errors.Is(err, errElsewhere) {
			return err
		}
		if err := j.locks.do(ctx, lockOf(j.at), func() error { return j.remove(ctx, j.at) }); err != nil {
			return err
		}
	}
	return errLostRace
}

// make changes the known state to the desired one step by step.
func (j *job) make(ctx context.Context) error {
	for range 8 {
		var err error
		switch {
		case j.done:
			return nil
		case j.copied && !j.copyRead:
			err = j.findCopy(ctx)
		case j.copied:
			err = j.replace(ctx)
		case j.know == unknown:
			err = j.read(ctx)
		case j.know != landed:
			err = j.create(ctx)
		case j.at.Parent != j.want.Parent:
			return errElsewhere
		case j.misplaced:
			err = j.remove(ctx, j.at)
		case j.want.Updatable:
			err = j.update(ctx)
		case j.replaceable():
			err = j.replace(ctx)
		default:
			err = j.remove(ctx, j.at)
		}
		if err != nil {
			return err
		}
	}
	return errLostRace
}

// replaceable reports whether the new resource can be created before the old one is deleted.
func (j *job) replaceable() bool { return j.want.Doubles && j.listed && !j.want.Updatable }

// errLostRace is the error of a job that other clients interfered with on every try.
var errLostRace error = &backend.Error{Reason: backend.Conflict, Message: "another client changes it at the same time"}

// read reads the resource from the backend.
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

// found records the resource that was read.
func (j *job) found(have backend.Observed) {
	j.know, j.at, j.hash = landed, have.Ref, digest{}
	if have.Parent == j.want.Parent && len(j.b.Differences(j.want, have)) == 0 {
		j.hash = j.digest
		j.done = !j.misplaced
	}
}

// vanished records that the resource does not exist, although it may have existed.
func (j *job) vanished() {
	j.lost = j.lost || j.know == unknown || j.know == landed
	j.know, j.hash, j.misplaced = deleted, digest{}, false
}

// create creates the resource. A conflict may mean that it exists already.
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
		// Nothing was lost: the resource did not exist before either.
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

// landed records that the resource is in sync.
func (j *job) landed() {
	j.know, j.hash, j.done, j.misplaced = landed, j.digest, true, false
	j.at = j.want.Ref
}

// remove deletes the existing resource so that the desired one can be created.
func (j *job) remove(ctx context.Context, ref backend.Ref) error {
	j.wrote = true
	ref.Claim = j.want.Claim
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
