// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package guard holds back deletions that look more like a wrong list than like a backend that shrank.
package guard

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

const (
	// minimum is the number of copies from which on deletions can be suspicious.
	minimum = 10
	// Pause is how long after a suspicious listing the second one is made, or tried again when it failed.
	Pause = 10 * time.Second
)

// Suspicious reports whether it takes a second listing to delete so many of so many copies: more than half of ten or more.
func Suspicious(existing, missing int) bool {
	return existing >= minimum && 2*missing > existing
}

// Kind distinguishes copies of one kind from those of another with the same name.
type Kind string

// Kinds of copies.
const (
	Service Kind = "Service"
	Slice   Kind = "EndpointSlice"
)

// Ref names a copy.
type Ref struct {
	Kind Kind
	types.NamespacedName
}

// String names a copy for a message.
func (r Ref) String() string { return fmt.Sprintf("%s %s", r.Kind, r.NamespacedName) }

// Confirm returns which of the missing copies may be deleted. When there are suspiciously many, list is called after a pause, once
// it succeeds, for the copies that a second listing requests; what is among these stays. list returns only complete listings, or an
// error. The error of Confirm is that of ctx.
func Confirm(ctx context.Context, timer clock.Clock, existing int, missing sets.Set[Ref], list func(context.Context) (sets.Set[Ref], error), failed func(error)) (sets.Set[Ref], error) {
	if !Suspicious(existing, len(missing)) {
		return missing, nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.After(Pause):
		}
		present, err := list(ctx)
		if err == nil {
			return missing.Difference(present), nil
		}
		failed(err)
	}
}
