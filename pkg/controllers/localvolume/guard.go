// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// liveNodes lists the metadata of all nodes from the API server in one request, because a volume may refer to a node by a label. The
// list is not older than the request.
func (s *Site) liveNodes(ctx context.Context) (*nodeSet, error) {
	list := nodeMetadataList()
	if err := lists.Complete(s.Client).List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the nodes before a deletion: %w", err)
	}
	live := newNodeSet(s.Inventory.sources.all)
	for i := range list.Items {
		live.set(&list.Items[i])
	}
	return live, nil
}

// Permit is the leave to delete one batch.
type Permit struct {
	site *Site
	live *nodeSet
	// latest finds the nodes of each object once more.
	latest prober
}

// Clear returns those of the subjects that are due and may be deleted now, MaxBatch at most, and the leave to do so. There are none
// while the brake is engaged, according to the events or a live list of the nodes, nor of a class that another process cleans up. An error
// means that the nodes, or who cleans up, cannot be read: then nothing may be deleted either. Subjects that come first are due first.
func (s *Site) Clear(ctx context.Context, subjects []Subject, isDue func(*Subject) bool) (*Permit, []Subject, error) {
	if braked, err := s.braked(ctx, nil, subjects); braked || err != nil {
		return nil, nil, err
	}
	if !s.certain() {
		return nil, nil, nil // the next beat begins all absences again
	}
	var due []Subject
	for i := range subjects {
		if isDue(&subjects[i]) && s.Holds(subjects[i].Volume.Spec.StorageClassName) && len(due) < MaxBatch {
			due = append(due, subjects[i])
		}
	}
	if len(due) == 0 {
		return nil, nil, nil
	}
	if _, err := s.tenures.request(ctx, s.moment(), false); err != nil {
		return nil, nil, err
	}
	live, err := s.liveNodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	if braked, err := s.braked(ctx, live, subjects); braked || err != nil {
		return nil, nil, err
	}
	permit := &Permit{site: s, live: live, latest: prober{site: s}}
	return permit, slices.DeleteFunc(due, func(subject Subject) bool { return !permit.Allows(subject.Stale) }), nil
}

// Allows has the last word about one volume: none of its nodes was there when the batch began, in the absence that was decided
// about, and none has come since. For a node that was there the delay starts over.
func (p *Permit) Allows(stale Stale) bool {
	if !p.site.certain() || !p.site.Holds(stale.Volume.Spec.StorageClassName) {
		return false
	}
	if !p.site.Inventory.stillAbsent(stale.Nodes, p.live) {
		p.site.Inventory.Interrupt(stale.Nodes)
		return false
	}
	return p.site.Inventory.StillStale(stale)
}

// AllowsNow is Allows immediately before a deletion: it also reads live that none of the nodes has returned since the batch began.
func (p *Permit) AllowsNow(ctx context.Context, stale Stale) (bool, error) {
	if !p.Allows(stale) {
		return false, nil
	}
	now, err := p.latest.around(ctx, stale.Nodes)
	if err != nil {
		return false, err
	}
	if !p.site.Inventory.stillAbsent(stale.Nodes, now) {
		p.site.Inventory.Interrupt(stale.Nodes)
		return false, nil
	}
	return p.Allows(stale), nil // an event may have come meanwhile
}

// braked reports whether the brake is engaged. live nil is the state from the events.
func (s *Site) braked(ctx context.Context, live *nodeSet, subjects []Subject) (bool, error) {
	toDo := map[string]bool{}
	for i := range subjects {
		if !subjects[i].toDo() {
			continue
		}
		for _, node := range subjects[i].Nodes {
			toDo[node] = true
		}
	}
	census := s.Inventory.census(live, toDo)
	reason := brake(census, *s.Config.MaxMissingNodeFraction, 0)
	if reason != "" {
		acknowledged, err := s.record.acknowledged(ctx)
		if err != nil {
			return true, err
		}
		reason = brake(census, *s.Config.MaxMissingNodeFraction, acknowledged)
	}
	s.announceBrake(ctx, census, reason)
	return reason != "", nil
}

// announceBrake sends an event when the brake engages and when it is released. Another reconciliation records both.
func (s *Site) announceBrake(ctx context.Context, census Census, reason string) {
	message := ""
	if reason != "" {
		message = fmt.Sprintf("Nothing is deleted: %s. If these nodes are permanently lost, set the annotation %s: %q on %s.",
			reason, AcknowledgeAnnotation, fmt.Sprint(census.Missing), s.recordName())
	}
	s.mu.Lock()
	was := s.brake
	s.brake = message
	s.mu.Unlock()
	if message != was {
		s.notify()
	}
	switch {
	case reason != "" && was == "":
		s.Metrics.Brake.WithLabelValues(s.Name).Set(1)
		log.FromContext(ctx).Info("Too many nodes are missing, nothing is deleted", "reason", reason, "missing", census.Missing, "live", census.Live)
		s.Recorder.Event(s.recordObject(), corev1.EventTypeWarning, EventBrakeEngaged, message)
	case reason == "" && was != "":
		s.Metrics.Brake.WithLabelValues(s.Name).Set(0)
		log.FromContext(ctx).Info("Resumed deletions", "missing", census.Missing, "live", census.Live)
		s.Recorder.Event(s.recordObject(), corev1.EventTypeNormal, EventBrakeReleased, fmt.Sprintf("Deletions resume: %d nodes with local volumes are missing, %d exist.", census.Missing, census.Live))
	}
}

// DeleteExactly deletes the very object that was decided about, in the state in which it was. It returns false when the object has
// been deleted or has changed: its event leads to another decision.
func (s *Site) DeleteExactly(ctx context.Context, object client.Object) (bool, error) {
	// As metadata: of a typed object the client would decode, encode and decode again what the API server responds.
	named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	named.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindOf(object)))
	err := s.Client.Delete(ctx, named, client.Preconditions(kit.AsRead(object)))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

const (
	// toleratedMissing is how many nodes may be missing at any time: one or two are an everyday loss, and in a small
	// cluster already a large part.
	toleratedMissing = 2
	// brakeOff is the limit that turns the brake off.
	brakeOff = 1.0
)

// Census counts the nodes that opted-in volumes name.
type Census struct {
	// Nodes is how many Node objects the cluster has, whether a volume names them or not.
	Nodes int
	// Missing is how many named nodes are missing and still have something to be deleted.
	Missing int
	// Live is how many named nodes exist.
	Live int
}

// brake returns why nothing may be deleted, or "". limit is the fraction of missing nodes that engages it, acknowledged how many
// missing nodes a user acknowledged.
func brake(census Census, limit float64, acknowledged int) string {
	if limit >= brakeOff || census.Missing == 0 || census.Missing <= acknowledged {
		return ""
	}
	if census.Nodes == 0 {
		return "the list of nodes is empty"
	}
	all := census.Missing + census.Live
	if census.Missing <= toleratedMissing || float64(census.Missing) < limit*float64(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes with local volumes are missing, which reaches the limit of %g", census.Missing, all, limit)
}
