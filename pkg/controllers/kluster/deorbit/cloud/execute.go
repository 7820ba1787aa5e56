// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// changesPerProbe is how many objects a check deletes at most, so that it comes to its end before its deadline. The rest comes next.
const changesPerProbe = 100

// Verify checks the project once: it lists the objects, decides, and deletes those that can be deleted now. An object that OpenStack
// deletes asynchronously remains until a check no longer finds it. If OpenStack rejects a deletion, this is the reason why the object
// remains.
//
// An error means that a list was incomplete, in which case nothing was deleted, or that the check was aborted because the fence is closed,
// the credentials are no longer accepted or OpenStack does not respond. The report then has the objects that were deleted before, and
// those that remain.
func (p Project) Verify(ctx context.Context, w stage.Work, conflicts Conflicts) (stage.Report, error) {
	found, err := p.list(ctx, w, groupsOf(w))
	if err != nil {
		return stage.Report{}, err
	}
	report, err := p.execute(ctx, decide(p.ID, w, conflicts, found))
	report.Listed = found.unseen.listed()
	return report, err
}

// removal is the deletion of an object, or the removal of tags from it.
type removal struct {
	object kubernikusv1.DeorbitObject
	// before are changes to other objects, in order, without which OpenStack would reject the request.
	before []func(ctx context.Context, p Project) error
	do     func(ctx context.Context, p Project, id string) error
	// immediately is true if the object is deleted when OpenStack accepts the request. Other objects are deleted asynchronously.
	immediately bool
	// again is true if an earlier request failed, so that a repetition is not progress.
	again bool
	// change is true if the object itself is retained.
	change bool
}

func (p Project) execute(ctx context.Context, todo plan) (stage.Report, error) {
	report := stage.Report{Remaining: slices.Clone(todo.remaining), Stuck: todo.stuck, Retained: todo.retained, Undecided: todo.undecided}
	remain := func(r removal, reason string) {
		r.object.Reason = reason
		report.Remaining = append(report.Remaining, r.object)
	}
	var ended error
	changes := 0
	for _, r := range todo.removals {
		if ended != nil || changes >= changesPerProbe {
			remain(r, "to be deleted in the next check")
			continue
		}
		changes += len(r.before) + 1
		switch over, err := p.carryOut(ctx, r); {
		case over:
			ended = err
			remain(r, err.Error())
			continue
		case err != nil:
			remain(r, rejection(r, err))
			continue
		}
		if !r.again && !r.change {
			report.Deleted = append(report.Deleted, r.object)
		}
		if !r.immediately {
			remain(r, reasonDeleting)
		}
	}
	return report, ended
}

// carryOut makes the changes of a removal, and checks before each whether this process may still make it. over reports that the
// failure is one that ends a check.
func (p Project) carryOut(ctx context.Context, r removal) (over bool, err error) {
	remove := func(ctx context.Context, p Project) error { return r.do(ctx, p, r.object.ID) }
	for _, change := range append(slices.Clone(r.before), remove) {
		if err := p.allowed(r); err != nil {
			return true, err
		}
		if err := change(ctx, p); err != nil {
			return ends(err), err
		}
	}
	return false, nil
}

// allowed checks whether this process may still change something.
func (p Project) allowed(r removal) error {
	if err := p.Fence(); err != nil {
		return fmt.Errorf("%s %s is not deleted: %w", r.object.Kind, r.object.ID, err)
	}
	return nil
}

// rejection is why something remains that OpenStack does not delete, in its words.
func rejection(r removal, err error) string {
	if r.again {
		return "status " + statusErrorDeleting + ": " + err.Error()
	}
	return err.Error()
}

// ends reports whether a failure ends a check, because it would meet each deletion that follows. Others are about one object, a
// broken service included: it is not to keep the objects behind this one.
func ends(err error) bool {
	if err == nil {
		return false
	}
	switch openstack.ReasonOf(err) {
	case openstack.ReasonCredentialsRefused, openstack.ReasonCredentialsInvalid, openstack.ReasonRateLimited, openstack.ReasonCanceled:
		return true
	case openstack.ReasonUnreachable:
		response, responded := errors.AsType[*openstack.Error](err)
		return !responded || response.Status == 0
	default:
		return false
	}
}
