// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// reportNodes logs each node that is lost or back, on one line.
func (r *reconciler) reportNodes(ctx context.Context, subjects []localvolume.Subject) {
	missing := r.site.Inventory.Missing()
	r.site.Metrics.Missing.WithLabelValues(r.site.Name).Set(float64(r.site.Inventory.MissingNodes()))
	var volumes, claims map[string]int
	var delays map[string]time.Duration
	for node, since := range missing {
		if before, known := r.missing[node]; known && before.Equal(since) {
			continue
		}
		if volumes == nil { // only when there is something to report
			volumes, claims, delays = r.count(subjects)
		}
		log.FromContext(ctx).Info("A node with local volumes is missing", "node", node, "since", since.UTC().Format(time.RFC3339),
			"staleVolumes", volumes[node], "claimsToDelete", claims[node], "deletionDelay", delays[node].String())
	}
	for node := range r.missing {
		if _, still := missing[node]; !still && r.site.Inventory.Matches(node) {
			log.FromContext(ctx).Info("A node with local volumes is back", "node", node)
		}
	}
	r.missing = missing
}

// count returns how many stale volumes a node has, how many claims of them are to go, and after which delay.
func (r *reconciler) count(subjects []localvolume.Subject) (volumes, claims map[string]int, delays map[string]time.Duration) {
	volumes, claims, delays = map[string]int{}, map[string]int{}, map[string]time.Duration{}
	for i := range subjects {
		for _, node := range subjects[i].Nodes {
			volumes[node]++
			delays[node] = r.site.ClaimDelay(&subjects[i].Stale)
			if subjects[i].ClaimDecision.Action != localvolume.Keep {
				claims[node]++
			}
		}
	}
	return volumes, claims, delays
}

// reportClaims reports to claims that they will be deleted, that they will not after all, and why one stays.
func (r *reconciler) reportClaims(subjects []localvolume.Subject) {
	stale := make(map[types.UID]bool, len(subjects))
	pending := make(map[types.UID]bool, len(subjects))
	for i := range subjects {
		claim, decision := subjects[i].Claim, subjects[i].ClaimDecision
		if claim == nil {
			continue
		}
		stale[claim.UID] = true
		switch {
		case r.deletions.Has(claim.UID):
			pending[claim.UID] = true
		case decision.Action != localvolume.Keep:
			pending[claim.UID] = true
			r.schedule(&subjects[i])
		case decision.Skipped != "":
			r.deletions.Skip(&subjects[i], decision.Skipped)
		}
	}
	for uid, appointment := range r.scheduled {
		if pending[uid] {
			continue
		}
		delete(r.scheduled, uid)
		// One that was deleted, by Groundskeeper or by another client, need not be notified. If its node is back, it is kept.
		if !r.deletions.Has(uid) && !r.site.Inventory.AllMissing(appointment.nodes) {
			r.site.Recorder.Event(appointment.claim, corev1.EventTypeNormal, localvolume.EventCancelled,
				fmt.Sprintf("%s is back, the claim is retained.", localvolume.Nodes(appointment.nodes)))
		}
	}
	r.deletions.Keep(stale)
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
	until := subject.Since.Add(r.site.ClaimDelay(&subject.Stale))
	will := "will"
	if r.site.DryRun() {
		will = "would, without the dry run,"
	}
	message := "%s, and local volume %s is lost with it. The claim %s be deleted at %s unless the node comes back."
	if subject.Unknown {
		message = "%s and was never seen, and local volume %s is on it. The claim %s be deleted at %s unless the node joins."
	}
	r.site.Recorder.Event(claim, corev1.EventTypeWarning, localvolume.EventScheduled,
		fmt.Sprintf(message, localvolume.AbsentSentence(subject.Nodes), subject.Volume.Name, will, until.UTC().Format(time.RFC3339)))
	r.scheduled[claim.UID] = appointment{claim: claim, since: subject.Since, nodes: subject.Nodes}
}

// reportUntouched reports to volumes that they are not cleaned up, and why.
func (r *reconciler) reportUntouched() {
	unsupported, unbound, uncertain := r.site.Inventory.Unsupported(), r.site.Inventory.NotNodeBound(), r.site.Inventory.Uncertain()
	r.site.Metrics.NotNodeBound.WithLabelValues(r.site.Name).Set(float64(len(unbound)))
	r.site.Metrics.Unsupported.WithLabelValues(r.site.Name).Set(float64(len(unsupported)))
	known := make(map[types.UID]bool, len(unsupported)+len(unbound)+len(uncertain))
	report := func(volume *corev1.PersistentVolume, reason, message string) {
		known[volume.UID] = true
		if r.untouched.New(volume.UID, message) {
			r.site.Recorder.Event(volume, corev1.EventTypeWarning, reason, message)
		}
	}
	for _, found := range unsupported {
		report(found.Volume, localvolume.EventUnsupported, fmt.Sprintf("The volume is never cleaned up: %s.", found.Why))
	}
	for _, found := range unbound {
		report(found.Volume, localvolume.EventNotNodeBound, fmt.Sprintf("The volume is never cleaned up: %s.", found.Why))
	}
	for _, found := range uncertain {
		report(found.Volume, localvolume.EventNodeUncertain,
			fmt.Sprintf("The volume and its claim are retained: %s. Set the label, or delete the node if it is lost.", found.Why))
	}
	r.untouched.Keep(known)
}
