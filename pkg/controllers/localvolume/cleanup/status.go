// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// reportNodes logs each node that is lost or back, on one line.
func (r *reconciler) reportNodes(ctx context.Context, subjects []localvolume.Subject) {
	missing := r.site.Inventory.Missing()
	r.site.Metrics.Missing.WithLabelValues(r.site.Name).Set(float64(r.site.Inventory.MissingNodes()))
	var lost map[string]loss
	for node, since := range missing {
		if before, known := r.missing[node]; known && before.Equal(since) {
			continue
		}
		if lost == nil { // only when there is something to report
			lost = r.count(subjects)
		}
		log.FromContext(ctx).Info("A node with local volumes is missing", "node", node, "since", since.UTC().Format(time.RFC3339),
			"staleVolumes", lost[node].volumes, "claimsToDelete", lost[node].claims, "deletionDelay", lost[node].delay.String())
	}
	for node := range r.missing {
		if _, still := missing[node]; !still && r.site.Inventory.Matches(node) {
			log.FromContext(ctx).Info("A node with local volumes is back", "node", node)
		}
	}
	r.missing = missing
}

// loss is how many stale volumes a node has, how many claims of them are to go, and after which delay.
type loss struct {
	volumes, claims int
	delay           time.Duration
}

func (r *reconciler) count(subjects []localvolume.Subject) map[string]loss {
	lost := map[string]loss{}
	for i := range subjects {
		for _, node := range subjects[i].Nodes {
			l := lost[node]
			l.volumes++
			l.delay, _ = subjects[i].ClaimDelay(&r.site.Config)
			if subjects[i].ClaimDecision.Action != localvolume.Keep {
				l.claims++
			}
			lost[node] = l
		}
	}
	return lost
}

// reportClaims reports to claims that they will be deleted, that they will not after all, and why one stays.
func (r *reconciler) reportClaims(subjects []localvolume.Subject) {
	stale, pending := make(sets.Set[types.UID], len(subjects)), make(sets.Set[types.UID], len(subjects))
	for i := range subjects {
		claim, decision := subjects[i].Claim, subjects[i].ClaimDecision
		if claim == nil {
			continue
		}
		stale.Insert(claim.UID)
		switch {
		case r.deletions.done.Has(claim.UID):
			pending.Insert(claim.UID)
		case decision.Action != localvolume.Keep:
			pending.Insert(claim.UID)
			r.schedule(&subjects[i])
		case decision.Skipped != "":
			r.deletions.skip(&subjects[i], decision.Skipped)
		}
	}
	for uid, appointment := range r.scheduled {
		if pending.Has(uid) {
			continue
		}
		delete(r.scheduled, uid)
		// One that was deleted, by Groundskeeper or by another client, need not be notified. If its node is back, it is kept.
		if !r.deletions.done.Has(uid) && !r.site.Inventory.AllMissing(appointment.nodes) {
			r.site.Recorder.Event(appointment.claim, corev1.EventTypeNormal, localvolume.EventCancelled,
				fmt.Sprintf("%s is back, the claim is retained.", localvolume.Nodes(appointment.nodes)))
		}
	}
	r.deletions.keep(stale)
}

// schedule reports to a claim when it will be deleted, once for each time its node becomes missing.
func (r *reconciler) schedule(subject *localvolume.Subject) {
	claim := subject.Claim
	before, known := r.scheduled[claim.UID]
	if known && before.since.Equal(subject.Since) {
		return
	}
	if known {
		r.site.Recorder.Event(claim, corev1.EventTypeNormal, localvolume.EventCancelled,
			fmt.Sprintf("%s was back temporarily, or could not be observed for some time: the delay starts over.", localvolume.Nodes(subject.Nodes)))
	}
	delay, _ := subject.ClaimDelay(&r.site.Config)
	until := subject.Since.Add(delay)
	will := "will"
	if r.site.DryRun() {
		will = "would, without the dry run,"
	}
	message := "%s, and local volume %s is lost with it. The claim %s be deleted at %s unless the node comes back."
	if subject.Unknown {
		message = "%s and was never seen, and local volume %s is on it. The claim %s be deleted at %s unless the node joins."
	}
	r.site.Recorder.Event(claim, corev1.EventTypeWarning, localvolume.EventScheduled,
		fmt.Sprintf(message, subject.Sentence(), subject.Volume.Name, will, until.UTC().Format(time.RFC3339)))
	r.scheduled[claim.UID] = appointment{claim: claim, since: subject.Since, nodes: subject.Nodes}
}

func (r *reconciler) reportUntouched() {
	untouched := r.site.Inventory.Untouched()
	known, count := make(sets.Set[types.UID], len(untouched)), map[string]int{}
	for _, found := range untouched {
		count[found.Reason]++
		known.Insert(found.Volume.UID)
		message := fmt.Sprintf("The volume is never cleaned up: %s.", found.Why)
		if found.Reason == localvolume.EventNodeUncertain {
			message = fmt.Sprintf("The volume and its claim are retained: %s. Set the label, or delete the node if it is lost.", found.Why)
		}
		if r.untouched.isNew(found.Volume.UID, message) {
			r.site.Recorder.Event(found.Volume, corev1.EventTypeWarning, found.Reason, message)
		}
	}
	r.site.Metrics.NotNodeBound.WithLabelValues(r.site.Name).Set(float64(count[localvolume.EventNotNodeBound]))
	r.site.Metrics.Unsupported.WithLabelValues(r.site.Name).Set(float64(count[localvolume.EventUnsupported]))
	keepOnly(r.untouched, known)
}

func (r *volumeDeleter) reportVolumes(subjects []localvolume.Subject) {
	stale := make(sets.Set[types.UID], len(subjects))
	held := 0
	for i := range subjects {
		volume, decision := subjects[i].Volume, subjects[i].VolumeDecision
		stale.Insert(volume.UID)
		if decision.Held {
			held++
		}
		if decision.Skipped != "" && (decision.Held || !r.deletions.done.Has(volume.UID)) {
			r.deletions.skip(&subjects[i], decision.Skipped)
		}
	}
	r.site.Metrics.Held.WithLabelValues(r.site.Name).Set(float64(held))
	r.deletions.keep(stale)
}
