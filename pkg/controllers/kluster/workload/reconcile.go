// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// conflictPause is the delay of a retry after a conflict with another client.
const conflictPause = time.Second

// Reconcile makes a Kluster have the session that it should have, and records its state.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k := &kubernikusv1.Kluster{}
	if err := r.client.Get(ctx, request.NamespacedName, k); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("get kluster %s: %w", request.NamespacedName, err)
		}
		_, err = r.adjust(request.NamespacedName, nil)
		return reconcile.Result{}, err
	}
	p := planFor(k, r.config, r.options.NodeDeleted != nil)
	want, err := r.blueprint(ctx, k, &p)
	if err != nil {
		return reconcile.Result{}, err
	}
	running, err := r.adjust(request.NamespacedName, want)
	if err != nil {
		p.reject(err.Error())
	}
	condition, again := p.why, time.Duration(0)
	if p.volumes != nil {
		if running == nil {
			return reconcile.Result{}, nil // the one before has to end first, and reports that
		}
		if condition, again = running.condition(p.volumes); condition == nil {
			return reconcile.Result{RequeueAfter: again}, nil // nothing is known yet that is not in the status
		}
	}
	err = r.writeCondition(ctx, k, condition)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// blueprint reads the Secret of a Kluster that needs a session. It is nil when there is none to be had, and then the plan reports
// why.
func (r *reconciler) blueprint(ctx context.Context, k *kubernikusv1.Kluster, p *plan) (*blueprint, error) {
	if p.idle() {
		return nil, nil
	}
	secret, err := kluster.Secret(ctx, r.live, k)
	if err != nil && !errors.Is(err, kluster.ErrNoSecret) {
		return nil, err
	}
	if err != nil {
		p.reject(err.Error())
		return nil, nil
	}
	config, err := kluster.Connectable(k, secret.Data, *r.config.Credentials.AllowProxyURL)
	if err != nil {
		p.reject(fmt.Sprintf("secret %s: %v", kluster.SecretKey(k), err))
		return nil, nil
	}
	fingerprint, err := printOf(k, *p, secret.Data)
	if err != nil {
		return nil, err
	}
	return &blueprint{plan: *p, key: client.ObjectKeyFromObject(k), uid: k.UID, config: config, print: fingerprint}, nil
}

// reject reports why there can be no session.
func (p *plan) reject(message string) {
	p.nodes = false
	if p.volumes == nil {
		return
	}
	p.volumes = nil
	p.why = &metav1.Condition{Type: kubernikusv1.ConditionLocalVolumeCleanup, Status: metav1.ConditionFalse, Reason: ReasonNotConfigured, Message: message}
}

// plan is what a Kluster needs of its workload cluster.
type plan struct {
	// nodes is true if Route GC is to be notified of nodes that disappear.
	nodes bool
	// volumes are the settings of the local volume cleanup; nil: it does not run.
	volumes *configv1alpha1.LocalVolumeConfiguration
	// why reports why it does not although it is requested; nil: it is not requested.
	why *metav1.Condition
}

// idle reports that no connection is needed.
func (p plan) idle() bool { return !p.nodes && p.volumes == nil }

// planFor decides what a Kluster needs. heard reports that a subscriber is interested in nodes.
func planFor(k *kubernikusv1.Kluster, config *configv1alpha1.ControllersConfiguration, heard bool) plan {
	p := plan{nodes: heard && routegc.Enabled(k, config.Kluster.RouteGC)}
	own := k.Spec.LocalVolumeCleanup
	if own == nil {
		return p
	}
	not := func(status metav1.ConditionStatus, reason, message string) plan {
		p.why = &metav1.Condition{Type: kubernikusv1.ConditionLocalVolumeCleanup, Status: status, Reason: reason, Message: message}
		return p
	}
	switch {
	case !k.DeletionTimestamp.IsZero():
		return not(metav1.ConditionFalse, ReasonStopped, "local volumes are not cleaned up any more, because the Kluster is being deleted")
	case k.Detached():
		return not(metav1.ConditionFalse, ReasonStopped, "local volumes are not cleaned up while the annotation "+kubernikusv1.DetachAnnotation+" is there")
	case kit.IsPaused(k):
		return not(metav1.ConditionUnknown, ReasonPaused, "local volumes are not cleaned up while the annotation groundskeeper.io/paused is there")
	case len(own.StorageClassNames) == 0:
		return not(metav1.ConditionFalse, ReasonNotConfigured, "spec.localVolumeCleanup.storageClassNames is empty: name the storage classes whose local volumes are to be cleaned up")
	}
	settings := config.LocalVolume.DeepCopy()
	settings.StorageClassNames = own.StorageClassNames
	if own.PVCDeletionDelay != nil {
		settings.PVCDeletionDelay = own.PVCDeletionDelay
	}
	if own.MaxMissingNodeFraction != nil {
		settings.MaxMissingNodeFraction = own.MaxMissingNodeFraction
	}
	p.volumes = settings
	return p
}
