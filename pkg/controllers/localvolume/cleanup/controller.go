// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cleanup is the CleanupController: it deletes the claims of local volumes whose node is gone and stays gone,
// so that a StatefulSet can make new ones elsewhere. The volumes themselves are left to the Deleter, which runs only
// while this controller does.
package cleanup

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

const (
	// ControllerName is the name of this controller in the configuration, in logs and in metrics.
	ControllerName = "local-volume-cleanup"

	// A pass that failed is repeated after a pause that doubles.
	minBackoff = localvolume.PassInterval
	maxBackoff = 30 * time.Second
)

// reconciler deletes claims. One pass runs at a time.
type reconciler struct {
	site *localvolume.Site

	// lastPass is when the last pass ended.
	lastPass time.Time
	// unreported is how many claims were deleted and not logged yet.
	unreported int
	// scheduled are the claims that were told that they will be deleted.
	scheduled map[types.UID]appointment
	// deleted are the claims that were deleted and are not gone yet.
	deleted map[types.UID]bool
	// missing are the nodes that were reported missing, and since when.
	missing map[string]time.Time
	// told is what was last told of claims that stay, or go now, unbound the same of volumes that name no nodes.
	told, unbound localvolume.Told
	// waiters deletes pods that wait for a claim that is gone; nil when that is not wanted.
	waiters *waiters
}

// appointment is what a claim was told.
type appointment struct {
	claim *corev1.PersistentVolumeClaim
	// since is when its nodes went missing.
	since time.Time
	nodes []string
}

func newReconciler(site *localvolume.Site) *reconciler {
	r := &reconciler{
		site: site, scheduled: map[types.UID]appointment{}, deleted: map[types.UID]bool{}, missing: map[string]time.Time{},
		told: localvolume.Told{}, unbound: localvolume.Told{},
	}
	if *site.Config.DeletePendingPods {
		r.waiters = &waiters{site: site}
	}
	return r
}

// New returns the controller of a Site. Whoever starts it decides where it runs: the cache of the Site has to be
// started, too. options may have a name check, warm-up and logger; what it reconciles is set here.
func New(site *localvolume.Site, options controller.TypedOptions[localvolume.Pass]) (controller.TypedController[localvolume.Pass], error) {
	r := newReconciler(site)
	options.Reconciler = r
	options.MaxConcurrentReconciles = 1 // its deletions are parallel, its decisions are one
	options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[localvolume.Pass](minBackoff, maxBackoff)
	c, err := controller.NewTypedUnmanaged(ControllerName, options)
	if err != nil {
		return nil, err
	}
	return c, c.Watch(site.Source(r.waiters.add))
}
