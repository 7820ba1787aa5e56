// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

const (
	// minSuspicious is the number of copies from which on deletions can be suspicious.
	minSuspicious = 10
	// ConfirmationPause is how long after a suspicious listing the second one is made, or tried again when it failed.
	ConfirmationPause = 10 * time.Second
)

// suspicious reports whether it takes a second listing to delete so many of so many copies: more than half of ten or more.
func suspicious(existing, missing int) bool {
	return existing >= minSuspicious && 2*missing > existing
}

// confirm returns which of the missing copies may be deleted. When there are suspiciously many, list is called after a pause, once
// it succeeds, for the copies that a second listing requests; what is among these stays. list returns only complete listings, or an
// error. The error of confirm is that of ctx.
func confirm(ctx context.Context, timer clock.Clock, existing int, missing sets.Set[desired.Ref], list func(context.Context) (sets.Set[desired.Ref], error), failed func(error)) (sets.Set[desired.Ref], error) {
	if !suspicious(existing, len(missing)) {
		return missing, nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.After(ConfirmationPause):
		}
		present, err := list(ctx)
		if err == nil {
			return missing.Difference(present), nil
		}
		failed(err)
	}
}
