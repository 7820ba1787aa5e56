// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// step has what one step of a Deorbit works on.
type step struct {
	progress
	settings
	now    time.Time
	action action
}

// decide returns a step: from how far a Deorbit is and what a check observed, nil for none, to how far it is then and what follows.
// The progress has to be written down before anything is done in the stage that it names.
func decide(before progress, seen *observed, s settings, now time.Time) (progress, action) {
	p := step{progress: before.copy(), settings: s, now: now}
	switch {
	case p.Stage == "" || p.StartedAt == nil:
		p.StartedAt = p.stamp()
		p.report(false, eventStarted, fmt.Sprintf("what the cluster made is removed, for at most %s", s.timeout))
		p.enter(kubernikusv1.DeorbitDrain)
	case seen != nil && seen.stage == p.Stage:
		p.absorb(*seen)
	case p.isSelf, p.held != nil:
	case p.over() && p.Stage != kubernikusv1.DeorbitRelease:
		p.cutShort()
	case isInCluster(p.Stage) && s.machinesDeleted():
		p.skipCluster()
	case !s.has(p.Stage):
		p.next()
	}
	return p.progress, p.action
}

func (p *step) next() {
	if next := p.after(p.Stage); isInCluster(next) && p.machinesDeleted() {
		p.skipCluster()
	} else {
		p.enter(next)
	}
}

// skipCluster skips the stages inside a cluster whose machines have been deleted, or that never had a control plane.
func (p *step) skipCluster() {
	p.ClusterLost, p.ClusterRefused, p.UnreachableSince = "Cluster API has deleted the Machines of the cluster", "", nil
	if p.isUnborn() {
		p.ClusterLost = "" // nothing is in doubt
		p.report(false, eventNeverCameUp,
			"the stages inside the cluster are skipped: Cluster API initialized no control plane, and no Machine became a node")
	} else {
		lose(&p.DeorbitStatus)
		p.report(true, eventUnreachable, "the stages inside the cluster are skipped, and OpenStack is cleaned up without it: "+p.ClusterLost)
	}
	p.enter(p.after(lastInCluster))
}

// isUnborn reports whether nothing ever ran in the cluster that could have created anything: Cluster API reports so, and no check has seen
// anything of it.
func (p *step) isUnborn() bool {
	seen := len(p.SeenVolumes) + len(p.SeenSnapshots) + len(p.SeenServices)
	return p.neverCameUp && (p.Stage == kubernikusv1.DeorbitDrain || p.Stage == kubernikusv1.DeorbitFreeze) && seen == 0 &&
		p.ClusterName == "" && p.CSIClusterID == "" && p.ClusterID == ""
}

func (p *step) absorb(o observed) {
	failed := o.failure()
	if o.held != nil {
		p.hold(o)
		return
	}
	if p.held != nil && (failed == nil || !failed.internal) {
		p.progress = p.resumed(p.now.Sub(p.held.since))
		p.held = nil
	}
	if o.isSelf || p.isSelf && failed != nil {
		// Neither a timeout nor an annotation leads on from here: nothing may be done to this cluster.
		p.isSelf, p.failure = true, nil
		return
	}
	p.isSelf, p.failure = false, failed
	if failed != nil && failed.internal {
		if p.over() && p.Stage != kubernikusv1.DeorbitRelease {
			p.cutShort()
		}
		return
	}
	left := o.remains()
	if p.settleRoutes(o); o.stage == kubernikusv1.DeorbitRelease {
		left = o.remains() // stage Routes does not wait for the final check of Release
	}
	recorded := p.record(o)
	if isInCluster(o.stage) {
		p.reach(failed)
	}
	p.action.deleted = p.tally.requests(o)
	deleted := slices.ContainsFunc(p.action.deleted, func(object kubernikusv1.DeorbitObject) bool { return object.Kind != plan.KindPod })
	if failed == nil && (p.tally.shrinks(o) || deleted) {
		p.LastProgressAt = p.stamp()
	}
	switch {
	case p.over() && p.Stage == kubernikusv1.DeorbitRelease:
		p.end(failed)
	case p.over():
		p.cutShort()
	case failed != nil && p.isUnborn() && (failed.silent || p.lost()):
		p.skipCluster()
	case failed != nil && p.lost():
		p.ClusterLost, p.ClusterRefused = failed.message, ""
		lose(&p.DeorbitStatus)
		p.report(true, eventUnreachable, fmt.Sprintf("%s has lasted for %s: the stages inside the cluster are left out, "+
			"and OpenStack is cleaned up without it: %s", failed.reason, p.apiUnavailableTimeout, failed.message))
		p.enter(p.after(lastInCluster))
	case failed != nil && failed.waits:
	case failed != nil:
		p.leaveIfStuck(o)
	case recorded:
		p.action.soon = true // nothing is deleted before it is recorded
	case left:
		p.reportIfStuck()
		p.leaveIfStuck(o)
	case p.Stage == kubernikusv1.DeorbitRelease:
		p.end(nil)
	default:
		p.next()
	}
}

// hold waits for other objects that lead to the cluster. A cluster that was thawed may get new objects, so that Deorbit begins with Freeze
// when it continues.
func (p *step) hold(o observed) {
	held := *o.held
	held.since = p.now
	if p.held != nil {
		held.since = p.held.since
	}
	p.isSelf, p.failure, p.held = false, nil, &held
	if o.lifted {
		p.report(false, eventThawed, thawedMessage)
	}
	if o.thawed && p.Stage != kubernikusv1.DeorbitFreeze {
		p.Stage, p.StageStartedAt, p.LastProgressAt, p.tally = kubernikusv1.DeorbitFreeze, p.stamp(), p.stamp(), tally{}
		p.ClusterLost, p.ClusterRefused, p.UnreachableSince = "", "", nil
	}
}

// record records the objects that the successful parts of a check observed. A part that was aborted while it deleted has observed the
// remaining objects as well. It returns whether there are new objects to find in OpenStack.
func (p *step) record(o observed) (recorded bool) {
	for _, part := range o.parts {
		if part.failure == nil || !isInCluster(part.stage) && len(part.report.Remaining) > 0 {
			recorded = recordSeen(&p.DeorbitStatus, part.report.Seen) || recorded
			recordRemaining(&p.DeorbitStatus, part, p.machinesDeleted())
			recordRetained(&p.DeorbitStatus, part.report)
			recordUndecided(&p.DeorbitStatus, part)
		}
	}
	return recorded
}

// reach counts the failures of the workload cluster in an unbroken row. A failure that reports nothing of it does not count, and a
// cluster that rejects Groundskeeper is alive.
func (p *step) reach(failed *failure) {
	switch {
	case failed == nil:
		if p.ClusterRefused != "" {
			p.LastProgressAt = p.stamp() // the stage has all its time again
		}
		p.UnreachableSince, p.ClusterRefused = nil, ""
	case failed.waits:
		p.UnreachableSince, p.ClusterRefused = nil, failed.message
	case failed.cluster && p.UnreachableSince == nil:
		p.UnreachableSince = p.stamp()
	}
}

// lost reports whether the workload cluster failed for so long, without a break, that it is given up.
func (p *step) lost() bool {
	return isInCluster(p.Stage) && p.UnreachableSince != nil && p.since(p.UnreachableSince) >= p.apiUnavailableTimeout
}

// over reports whether Deorbit ends, whatever is left.
func (p *step) over() bool {
	return p.selfDestruct || p.since(p.StartedAt) >= p.timeout || p.machinesDeleted() && p.since(p.VerifyStartedAt) >= p.verifyTimeout
}

// endedUnread is why the state of a cluster is unknown whose Deorbit ended before stage Freeze was complete, or without OpenStack before
// stage Wait was.
const endedUnread = "Deorbit ended before what exists in the cluster was read"

// cutShort enters Release, whatever is left. A cluster of which not everything was read may run, and use all that is in OpenStack. Where
// there is none, each stage in the cluster is needed to know what is left.
func (p *step) cutShort() {
	isUnread := p.Stage == kubernikusv1.DeorbitDrain || p.Stage == kubernikusv1.DeorbitFreeze || !p.cloud && isInCluster(p.Stage)
	if isUnread && p.workload && p.ClusterRefused == "" && !p.machinesDeleted() && !p.isUnborn() {
		p.ClusterRefused = endedUnread
	}
	p.enter(kubernikusv1.DeorbitRelease)
}

// stuckAfter is how long a stage may make no progress before an event reports it.
const stuckAfter = 10 * time.Minute

// reportIfStuck reports early, and once in a stage, that nothing moves: a volume that a server has, or a security group that a
// port is in, may need an operator, who does not watch a status for a day.
func (p *step) reportIfStuck() {
	quiet := p.since(p.LastProgressAt)
	if p.tally.stuck || quiet < stuckAfter || quiet >= p.stageTimeout && p.Stage != kubernikusv1.DeorbitRelease {
		return
	}
	p.tally.stuck = true
	p.report(true, eventStuck, fmt.Sprintf("%s: no progress for %s: %s", p.Stage, quiet.Round(time.Minute), p.waitsFor()))
}

// leaveIfStuck continues to the next stage when this one has made no progress for too long. Drain keeps traffic safe, and Release
// is the last one: these wait for the timeout of all, unless only a user changes what is left. Routes that come back are made by a
// cluster that lives: its builder may wait for the release before the nodes are deleted.
func (p *step) leaveIfStuck(o observed) {
	quiet := p.since(p.LastProgressAt) >= p.stageTimeout
	switch {
	case p.Stage == kubernikusv1.DeorbitVerify && p.onlyUsersChange(o):
		p.next() // Release checks it again, and waits for users
	case p.Stage == kubernikusv1.DeorbitRelease && quiet && p.onlyUsersChange(o):
		p.end(nil)
	case p.Stage == kubernikusv1.DeorbitDrain, p.Stage == kubernikusv1.DeorbitRelease, !quiet:
	default:
		p.report(true, eventStageLeft,
			fmt.Sprintf("%s: no progress for %s, continuing without it: %s", p.Stage, p.stageTimeout, p.waitsFor()))
		p.next()
	}
}

// enter starts a stage. The remaining objects of the previous stage are retained until a check replaces them.
func (p *step) enter(which kubernikusv1.DeorbitStage) {
	p.Stage, p.StageStartedAt, p.LastProgressAt = which, p.stamp(), p.stamp()
	p.tally, p.failure = tally{}, nil
	p.action.soon = true
	if p.machinesDeleted() && !isInCluster(which) {
		lose(&p.DeorbitStatus) // whether or not a stage of the cluster was left: the cluster does not exist any more
		if which != kubernikusv1.DeorbitDrain && p.VerifyStartedAt == nil {
			p.VerifyStartedAt = p.stamp()
		}
	}
	p.report(false, eventStage, string(which)+" begins")
}

func (p *step) report(warning bool, reason, message string) {
	p.action.notes = append(p.action.notes, note{warning: warning, reason: reason, message: message})
}

func (p *step) stamp() *metav1.Time { return new(metav1.NewTime(p.now).Rfc3339Copy()) }

func (p *step) since(t *metav1.Time) time.Duration {
	if t == nil {
		return 0
	}
	return p.now.Sub(t.Time)
}

// releasable reports whether a Kluster as the API server has it may be released as decided.
func releasable(current *kubernikusv1.Kluster, s *state) bool {
	return current.UID == s.uid && isGoing(current) && !kit.IsPaused(current) && !current.TerminationProtected() &&
		current.Detached() == (s.ends == endsDetached) && current.HasDeorbiter()
}
