// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/remotecleanup"
)

// actionClean is the action of all events. They have the reason of the condition.
const actionClean = "CleanLocalVolumes"

// Reasons of the condition LocalVolumeCleanup.
const (
	// ReasonRunning means that the cleanup knows all volumes, claims and nodes of the cluster and acts on them.
	ReasonRunning = "Running"
	// ReasonUnreachable means that the API server of the workload cluster does not respond.
	ReasonUnreachable = "Unreachable"
	// ReasonForbidden means that it rejects the credentials, or that they lack permissions.
	ReasonForbidden = "Forbidden"
	// ReasonNotConfigured means that no storage class is named, or that the Secret has no way into the cluster.
	ReasonNotConfigured = "NotConfigured"
	// ReasonBraked means that so many nodes are missing that nothing is deleted.
	ReasonBraked = "TooManyNodesMissing"
	// ReasonElsewhere means that another Kluster, or another process, cleans up the same volumes of the cluster.
	ReasonElsewhere = "CleanedElsewhere"
	// ReasonStopped means that the Kluster is being deleted or detached.
	ReasonStopped = "Stopped"
	// ReasonPaused means that an annotation requests it.
	ReasonPaused = "Paused"
)

// cleanup returns the condition LocalVolumeCleanup without its time and generation.
func cleanup(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: kubernikusv1.ConditionLocalVolumeCleanup, Status: status, Reason: reason, Message: message}
}

type reporter interface {
	// condition is the condition LocalVolumeCleanup without its time and generation; nil: nothing is known yet. again is when there
	// may be something new although nothing reports it; 0: never.
	condition(settings *configv1alpha1.LocalVolumeConfiguration) (c *metav1.Condition, again time.Duration)
}

type view struct {
	health *health
	news   func()

	mu sync.Mutex
	// runs reports that the cleanup knows everything. failure is why it does not run, brake why it keeps everything,
	// elsewhere who else cleans up.
	runs      bool
	failure   string
	forbidden bool
	brake     string
	elsewhere string
}

func (v *view) set(change func()) {
	v.mu.Lock()
	change()
	v.mu.Unlock()
	v.news()
}

// running reports that the cleanup begins. It may have reported a brake before.
func (v *view) running() {
	v.set(func() { v.runs, v.failure, v.forbidden = true, "", false })
}

// braked reports why the cleanup keeps everything, or "".
func (v *view) braked(reason string) { v.set(func() { v.brake = reason }) }

// cleanedElsewhere reports who else cleans up the same volumes, or "".
func (v *view) cleanedElsewhere(reason string) { v.set(func() { v.elsewhere = reason }) }

// stopped reports why the cleanup does not run; it may be tried again.
func (v *view) stopped(err error) {
	v.set(func() {
		v.runs, v.forbidden, v.failure, v.brake, v.elsewhere = false, false, "the local volume cleanup ended and is begun again", "", ""
		if err == nil {
			return
		}
		v.failure = err.Error()
		if lacks, ok := errors.AsType[*remotecleanup.ForbiddenError](err); ok {
			v.forbidden, v.failure = true, lacking(lacks.Missing)
		}
	})
}

func (v *view) condition(settings *configv1alpha1.LocalVolumeConfiguration) (*metav1.Condition, time.Duration) {
	reason, message, again := v.health.failure()
	v.mu.Lock()
	defer v.mu.Unlock()
	c := cleanup(metav1.ConditionFalse, reason, message)
	switch {
	case reason != "":
	case v.forbidden:
		c.Reason, c.Message = ReasonForbidden, v.failure
	case v.runs && v.elsewhere != "":
		c.Reason, c.Message = ReasonElsewhere, v.elsewhere
	case v.runs && v.brake != "":
		c.Reason, c.Message = ReasonBraked, v.brake
	case v.runs:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonRunning
		c.Message = "local volumes of storage classes " + strings.Join(settings.StorageClassNames, ", ") +
			" are cleaned up when their nodes have been deleted"
	case v.failure != "" && again == 0:
		c.Reason, c.Message = ReasonUnreachable, v.failure
	default:
		return nil, again
	}
	return c, again
}

// announce reports a condition that is new. That a cluster does not respond is reported by who checks it.
func (r *reconciler) announce(k *kubernikusv1.Kluster, condition, last *metav1.Condition) {
	kind := corev1.EventTypeWarning
	switch condition.Reason {
	case ReasonForbidden, ReasonBraked, ReasonElsewhere, ReasonNotConfigured:
	case ReasonRunning:
		if last == nil || last.Status == metav1.ConditionUnknown {
			return
		}
		kind = corev1.EventTypeNormal
	default:
		return
	}
	r.recorder.Eventf(k, nil, kind, "LocalVolumeCleanup"+condition.Reason, actionClean, "%s", kluster.Bounded(condition.Message))
}
