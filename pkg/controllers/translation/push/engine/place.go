// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// position is where to make the resource among its siblings. Each is made at the head, unless one that the Claim lists
// later is there already: that has to stand before it. Only then is the collection read.
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

// placeIn is the position, from 1, for a resource in a list: behind the last of those that have to stand before it;
// when none is there, before the first of those that have to stand behind it; else at the head.
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

// keysOf are the keys of a list, in its order.
func keysOf(list []backend.Observed) []backend.Key {
	keys := make([]backend.Key, len(list))
	for i := range list {
		keys[i] = list[i].Key
	}
	return keys
}

// misplacedIn are those of a list that have to be moved so that the rest stands in the wanted order: as few as can be.
// Places are the wanted places of the present ones, all different, in the order that they stand in. The result are
// indices into it.
func misplacedIn(places []int) []int {
	// The longest increasing run stays: tails[n] is where the best run of n+1 elements ends, before[i] what precedes i.
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
