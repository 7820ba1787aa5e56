// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Reasons of the events.
const (
	// EventScheduled, on a claim: its node has been deleted, and it will be deleted. The original's name.
	EventScheduled = "ReferencedNodeDeleted"
	// EventCancelled, on a claim: its node is back.
	EventCancelled = "LocalVolumeCleanupCancelled"
	// EventDeleting, on a claim or a volume: it is deleted now.
	EventDeleting = "LocalVolumeCleanupDeleting"
	// EventSkipped is an event of a claim or a volume that appears to qualify for deletion and is retained.
	EventSkipped = "LocalVolumeCleanupSkipped"
	// EventNotNodeBound, on a volume: it does not report which nodes it is on, so that it is never touched.
	EventNotNodeBound = "LocalVolumeNotNodeBound"
	// EventUnsupported, on a volume: its source is not enabled, so that it is never touched.
	EventUnsupported = "LocalVolumeSourceUnsupported"
	// EventReleased, on a volume: it is released from the finalizers of its CSI driver, and what that stored is left.
	EventReleased = "LocalVolumeReleased"
	// EventNodeUncertain, on a volume: no node has the name that it uses, but one that exists may have had it.
	EventNodeUncertain = "ReferencedNodeUncertain"
	// EventPodDeleted, on a pod: it waited for a claim that has been deleted.
	EventPodDeleted = "LocalVolumeCleanupPodDeleted"
	// EventBrakeEngaged and EventBrakeReleased, on the record: so many nodes are missing that nothing is deleted, and
	// the end of that.
	EventBrakeEngaged  = "TooManyNodesMissing"
	EventBrakeReleased = "MissingNodesAccepted"
	// EventUnrecorded, on the record: it cannot be written.
	EventUnrecorded = "MissingNodesNotRecorded"
	// EventElsewhere and EventHere, on the record: another process cleans up the same local volumes, and the end of that.
	EventElsewhere = "LocalVolumesCleanedElsewhere"
	EventHere      = "LocalVolumesCleanedHere"
)

// Recorder takes events.
type Recorder interface {
	// Event records an event about an object. It returns immediately.
	Event(object client.Object, eventType, reason, message string)
}

// Nodes names nodes in a message.
func Nodes(nodes []string) string {
	if len(nodes) == 1 {
		return "Node " + nodes[0]
	}
	return "One of the nodes " + strings.Join(nodes, ", ")
}

// Sentence returns that the nodes of a volume are lost, as the beginning of a sentence.
func (s *Stale) Sentence() string { return "N" + strings.TrimPrefix(s.Lost(), "n") }

// Lost returns that the nodes of a volume are lost, within a sentence.
func (s *Stale) Lost() string { return Lost(s.Nodes, s.Trouble) }

// Lost returns that nodes are lost, within a sentence. trouble explains why one that exists counts as lost; it is empty if none exists.
func Lost(nodes []string, trouble string) string {
	switch {
	case len(nodes) == 1 && trouble != "":
		return "node " + nodes[0] + " " + trouble
	case len(nodes) == 1:
		return "node " + nodes[0] + " does not exist"
	case trouble != "":
		return "of the nodes " + strings.Join(nodes, ", ") + " none exists, or it " + trouble
	}
	return "nodes " + strings.Join(nodes, ", ") + " do not exist"
}

// ReleaseNotice reports what was not cleaned up.
func ReleaseNotice(subject *Subject) string {
	volume := subject.Volume
	return fmt.Sprintf("Released the volume from %s without its CSI driver %s, because %s. "+
		"What the driver stored for it on the disk of the node, volume handle %q, was not cleaned up: delete it there if the disk is used again.",
		strings.Join(driverFinalizers(volume), ", "), volume.Spec.CSI.Driver, subject.Lost(), volume.Spec.CSI.VolumeHandle)
}

func (s *Site) recordName() string {
	name := "config map " + s.RecordNamespace + "/" + RecordName
	if s.Name != "" {
		name += " in cluster " + s.Name
	}
	return name
}

func (s *Site) recordObject() client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.RecordNamespace, Name: RecordName}}
}

// announceBrake sends an event when the brake engages and when it is released. Another reconciliation records both.
func (s *Site) announceBrake(ctx context.Context, census Census, reason string) {
	message := ""
	if reason != "" {
		message = fmt.Sprintf("Nothing is deleted: %s. If these nodes are permanently lost, set the annotation %s: %q on %s.",
			reason, AcknowledgeAnnotation, fmt.Sprint(census.Missing), s.recordName())
	}
	was := exchange(&s.memory, &s.memory.brake, message)
	if message != was {
		s.memory.notify()
	}
	switch {
	case reason != "" && was == "":
		s.Metrics.Brake.WithLabelValues(s.Name).Set(1)
		log.FromContext(ctx).Info("Too many nodes are missing, nothing is deleted",
			"reason", reason, "missing", census.Missing, "live", census.Live)
		s.Recorder.Event(s.recordObject(), corev1.EventTypeWarning, EventBrakeEngaged, message)
	case reason == "" && was != "":
		s.Metrics.Brake.WithLabelValues(s.Name).Set(0)
		log.FromContext(ctx).Info("Resumed deletions", "missing", census.Missing, "live", census.Live)
		s.Recorder.Event(s.recordObject(), corev1.EventTypeNormal, EventBrakeReleased,
			fmt.Sprintf("Deletions resume: %d nodes with local volumes are missing, %d exist.", census.Missing, census.Live))
	}
}

// announceRecord sends an event when the record cannot be written any more. No deletion waits for it: without the record only a restart
// starts the delays over.
func (s *Site) announceRecord(ctx context.Context, err error) {
	was := exchange(&s.memory, &s.memory.unrecorded, err != nil)
	if err == nil {
		s.Metrics.Unrecorded.WithLabelValues(s.Name).Set(0)
		return
	}
	s.Metrics.Unrecorded.WithLabelValues(s.Name).Set(1)
	log.FromContext(ctx).Error(err, "Failed to record the missing nodes, retrying later")
	if !was {
		s.Recorder.Event(s.recordObject(), corev1.EventTypeWarning, EventUnrecorded, fmt.Sprintf(
			"A restart starts the delays over, because the missing nodes cannot be recorded: %v. If %s is immutable, delete it.",
			err, s.recordName()))
	}
}

// announceOthers sends an event when others begin to clean up what this cleaner would, and when they stop.
func (s *Site) announceOthers(ctx context.Context, missing string) {
	switch was := exchange(&s.memory, &s.memory.elsewhere, missing); {
	case missing == was:
	case missing != "":
		log.FromContext(ctx).Info("Local volumes are cleaned up by another process", "reason", missing)
		s.Recorder.Event(s.recordObject(), corev1.EventTypeWarning, EventElsewhere, fmt.Sprintf(
			"Nothing of it is deleted or recorded here: %s. Stop one of the two, and delete config map %s if it does not run any more.",
			missing, CleanersKey()))
	default:
		log.FromContext(ctx).Info("No other process cleans up these local volumes any more")
		s.Recorder.Event(s.recordObject(), corev1.EventTypeNormal, EventHere,
			"Local volumes are cleaned up here: no other process does so any more.")
	}
}
