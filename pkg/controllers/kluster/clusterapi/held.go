// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/extension"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// Holder reports whether the Runtime Extension retains a Cluster. It reads from the API server, so it works on every replica.
func Holder(config configv1alpha1.ClusterAPIConfiguration, find resourcewatch.Finder, from resourcewatch.Source, live client.Reader, clock clock.PassiveClock) extension.Holder {
	set := resourcewatch.NewSet(find, from, clock, resourcewatch.DiscoveryPeriod, kinds()...) // never started: it only knows the kinds
	r := &reconciler{live: live, current: func() resourcewatch.Reader { return set.Live(0) }, settings: settingsOf(config), clock: clock}
	return r.held
}

// held implements extension.Holder.
func (r *reconciler) held(ctx context.Context, key types.NamespacedName) (held bool, message string, err error) {
	o, err := r.observe(ctx, key, r.current(), r.live)
	if errors.Is(err, errNotServed) {
		return false, "", nil
	}
	if err != nil {
		return false, "", err
	}
	held, message = retains(o, r.settings, r.clock.Now())
	return held, message, nil
}

// retains reports whether a Cluster that is to be deleted is retained for its Deorbit, and how far that is. It is whenever the
// controller has a Kluster to empty, or is about to create one.
func retains(o observed, s settings, now time.Time) (held bool, message string) {
	c, k := o.cluster, o.kluster
	if c == nil || c.Invalid != nil || c.Moved || !s.selected(c) || o.infrastructure == nil || o.infrastructure.Invalid != nil {
		return false, ""
	}
	if k == nil {
		pending := !isCompleted(c) && (desired.Source{Cluster: c, Infrastructure: o.infrastructure}).Reject().Reason == ""
		// The API server may reject the Kluster permanently, for instance because of a quota.
		if isLate := c.Deleting && !now.Before(c.DeletedAt.Add(s.drainTimeout)); pending && !isLate {
			return true, "Deorbit begins"
		}
		return false, ""
	}
	if desired.UIDOf(k) != c.UID {
		return false, ""
	}
	if over, _ := drained(k, s.drainTimeout, now); over {
		return false, ""
	}
	reason, message := progress(k)
	return true, fmt.Sprintf("Deorbit: %s: %s", reason, message)
}
