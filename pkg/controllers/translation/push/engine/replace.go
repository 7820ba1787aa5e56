// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// replacement is the progress of replacing a resource by way of a copy.
type replacement struct {
	// there: a resource with the key exists. right: it is in sync.
	there, right bool
	// copied: the copy exists. copyRight: it is in sync.
	copied, copyRight bool
}

// step is the next step of a replacement.
type step int

const (
	stepDone step = iota
	// stepCopy creates the copy in the position of the old resource.
	stepCopy
	// stepDropCopy deletes the copy.
	stepDropCopy
	// stepDrop deletes the old resource. The copy serves instead of it.
	stepDrop
	// stepMake creates the new resource, in the position of the copy if there is one.
	stepMake
)

// next returns the next step. It depends only on which of the resources exist, so a new process continues where the previous one
// stopped.
func (r replacement) next() step {
	switch {
	case r.right && r.copied:
		return stepDropCopy
	case r.right:
		return stepDone
	case !r.there:
		return stepMake
	case !r.copied:
		return stepCopy
	case !r.copyRight:
		return stepDropCopy
	default:
		return stepDrop
	}
}

// replace replaces the resource with the desired key so that at any time the resource or its copy exists.
func (j *job) replace(ctx context.Context) error {
	list, err := j.b.List(ctx, j.in)
	if err != nil && backend.ReasonOf(err) != backend.NotFound {
		return err
	}
	copied := j.b.Copy(j.want)
	for _, have := range list {
		if have.Invalid != nil && (have.Key == j.want.Key || have.Key == copied.Key) {
			return &backend.Error{Reason: backend.Transient, Err: backend.ErrInvalid,
				Message: fmt.Sprintf("%s: %s: %s", have, backend.ErrInvalid, have.Invalid)}
		}
	}
	r := j.progress(list, copied)
	order := keysOf(list)
	for step := r.next(); step != stepDone; step = r.next() {
		switch step {
		case stepCopy:
			place := max(slices.Index(order, j.want.Key), 0)
			j.copied = true
			if err := j.put(ctx, copied, place); err != nil {
				return err
			}
			order = slices.Insert(order, place, copied.Key)
			r.copied, r.copyRight = true, true
		case stepDrop:
			if err := j.remove(ctx, j.at); err != nil {
				return err
			}
			order = slices.DeleteFunc(order, func(k backend.Key) bool { return k == j.want.Key })
			r.there = false
		case stepMake:
			if !r.copied {
				j.copied = false
				return nil // create does it
			}
			if err := j.put(ctx, j.want, slices.Index(order, copied.Key)); err != nil {
				if backend.ReasonOf(err) == backend.Transient {
					j.know = unknown
				}
				return err
			}
			j.landed()
			j.done = false
			r.there, r.right = true, true
		case stepDropCopy:
			j.wrote = true
			if err := j.b.Delete(ctx, copied.Ref); err != nil && backend.ReasonOf(err) != backend.NotFound {
				return err
			}
			order = slices.DeleteFunc(order, func(k backend.Key) bool { return k == copied.Key })
			r.copied = false
		}
	}
	j.copied = false
	j.done = !j.misplaced
	return nil
}

// findCopy reads whether a copy exists. Usually none does, and the list of the collection, which may be long, need not be read.
func (j *job) findCopy(ctx context.Context) error {
	_, there, err := j.b.Get(ctx, j.b.Copy(j.want))
	if err = ignoreDeleted(err); err != nil {
		return err
	}
	j.copyRead, j.copied = true, there
	return nil
}

// progress returns the progress of the replacement according to the list of the collection.
func (j *job) progress(list []backend.Observed, copied backend.Resource) replacement {
	var r replacement
	for _, have := range list {
		switch have.Key {
		case j.want.Key:
			j.found(have)
			r.there, r.right = true, j.hash == j.digest
		case copied.Key:
			r.copied, r.copyRight = true, len(j.b.Differences(copied, have)) == 0
			j.copied = true
		}
	}
	if !r.there {
		j.vanished()
		j.copied = r.copied
	}
	j.done = false
	return r
}

// put creates a resource at an index of the list.
func (j *job) put(ctx context.Context, r backend.Resource, place int) error {
	position := 0
	if r.Ordered {
		position = place + 1
	}
	j.wrote = true
	return j.b.Create(ctx, r, position)
}

// position returns the position for the resource among its siblings: the head, unless one that the Claim lists later exists already
// and has to precede it. Only then is the collection read.
func (j *job) position(ctx context.Context) (int, error) {
	switch {
	case !j.want.Ordered:
		return 0, nil
	case !j.crowded || !j.listed:
		return 1, nil
	}
	list, err := j.b.List(ctx, j.in)
	if err != nil && backend.ReasonOf(err) != backend.NotFound {
		return 0, err
	}
	return placeIn(keysOf(list), j.later, j.earlier), nil
}

// placeIn returns the position, from 1, for a resource in a list: behind the last of those that have to precede it; if there is
// none, before the first of those that have to follow it; otherwise the head.
func placeIn(list, before, behind []backend.Key) int {
	for i, key := range slices.Backward(list) {
		if slices.Contains(before, key) {
			return i + 2
		}
	}
	if i := slices.IndexFunc(list, func(key backend.Key) bool { return slices.Contains(behind, key) }); i >= 0 {
		return i + 1
	}
	return 1
}

// keysOf returns the keys of a list, in its order.
func keysOf(list []backend.Observed) []backend.Key {
	keys := make([]backend.Key, len(list))
	for i := range list {
		keys[i] = list[i].Key
	}
	return keys
}

// misplacedIn returns the indices of the elements that have to be moved to obtain the desired order, as few as possible. Places are
// the desired positions of the existing resources, all different, in their actual order.
func misplacedIn(places []int) []int {
	// The longest increasing run stays: tails[n] is where the best run of n+1 elements ends, before[i] is the predecessor of i.
	var tails []int
	before := make([]int, len(places))
	for i, place := range places {
		n, _ := slices.BinarySearchFunc(tails, place, func(t, want int) int { return places[t] - want })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	stays := make([]bool, len(places))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			stays[i] = true
		}
	}
	var moved []int
	for i := range places {
		if !stays[i] {
			moved = append(moved, i)
		}
	}
	return moved
}
