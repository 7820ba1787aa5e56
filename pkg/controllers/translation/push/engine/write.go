// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"unique"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// job is the work on one wanted resource, and what comes to be known of it on the way. Its node is busy meanwhile.
type job struct {
	b     backend.Backend
	locks *locks
	want  backend.Resource
	// digest is that of the wanted body, in the collection that has it if listed.
	digest digest
	in     backend.Collection
	listed bool
	// know, hash and at are what is known of the resource, as the node has it.
	know knowledge
	hash digest
	at   backend.Ref
	// copied, misplaced as the node has it.
	copied, misplaced bool
	// later and earlier are the ordered siblings that the Claim lists behind and before it. later have to stand before
	// it. crowded: some of later may be there.
	later, earlier []backend.Key
	crowded        bool
	// seq is that of the node when the job began.
	seq uint32
	// done: the backend has it as wanted. wrote: something was written. lost: it went, and with it maybe what needs it.
	// looked: whether the copy is there was read.
	done, wrote, lost, looked bool
	conflicts                 int
}

// errElsewhere means that the resource lies under another parent, and has to go there first.
var errElsewhere = errors.New("it lies under another parent")

// jobFor takes an item in hand: its node is busy until settle. The index is locked.
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
		case sibling.node == nil || !sibling.ordered || sibling.in != it.in || k == i || sibling.node.own != p.c:
		case k < i:
			j.earlier = append(j.earlier, sibling.node.key)
		default:
			j.later = append(j.later, sibling.node.key)
			j.crowded = j.crowded || sibling.node.know == landed || sibling.node.know == unknown
		}
	}
	return j
}

// work does a job and enters what came of it.
func (p *push) work(ctx context.Context, i int, j *job) (verdict, error) {
	want, err := p.e.b.Resolve(p.wanted[i])
	if err == nil {
		j.want = want
		j.copied = j.copied && j.replaceable()
		err = j.run(ctx)
	}
	v := p.settle(ctx, i, j, err)
	if ends(ctx, err) {
		return v, err
	}
	return v, nil
}

// run brings about what is wanted. Writes under one parent are serial, and two parents are never locked at the same time.
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
		case j.copied && !j.looked:
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

// replaceable reports whether the new one can be made before the old one is deleted.
func (j *job) replaceable() bool { return j.want.Doubles && j.listed && !j.want.Updatable }

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
