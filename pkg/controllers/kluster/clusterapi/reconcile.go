// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/extension"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reconcile brings the Kluster of a name and the objects of its Cluster into line.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	o, err := r.observe(ctx, key, r.watched, r.client)
	if err == nil {
		err = r.observeNodes(ctx, &o)
	}
	if err != nil {
		r.reportForbidden(ctx, key, err)
		return reconcile.Result{}, failed(err)
	}
	p := decide(o, r.settings, r.clock.Now())
	if p.writes() {
		if o, err = r.observeLive(ctx, key); err != nil {
			return reconcile.Result{}, failed(err)
		}
		p = decide(o, r.settings, r.clock.Now())
		if err := r.write(ctx, o, p); err != nil {
			return reconcile.Result{}, failed(err)
		}
	}
	r.report(ctx, key, o, p.rejection)
	if err := r.writeStatus(ctx, o, p); err != nil {
		return reconcile.Result{}, failed(err)
	}
	if o.cluster == nil || o.cluster.OnOpenStack() {
		if err := r.releaseOrphans(ctx, key); err != nil {
			return reconcile.Result{}, failed(err)
		}
	}
	return reconcile.Result{RequeueAfter: p.again}, nil
}

// failed returns the error of a reconcile. An event follows when what is not served is, and a namespace that is being deleted is a change.
func failed(err error) error {
	switch {
	case errors.Is(err, errNotServed):
		return nil
	case kit.IsTerminating(err):
		return fmt.Errorf("%w: %w", kit.ErrChanged, err)
	default:
		return err
	}
}

// orphans are objects that are kept for a Cluster that does not exist any more, with what releases them.
type orphans struct {
	observed
	plan
}

// releaseOrphans removes what keeps the objects of a Cluster that was removed by force: they would otherwise never be deleted. Neither
// Cluster API nor its provider changes anything in OpenStack for an object without its Cluster.
func (r *reconciler) releaseOrphans(ctx context.Context, key types.NamespacedName) error {
	all, err := orphansOf(ctx, key, r.watched)
	if err != nil || len(all) == 0 {
		return err
	}
	if all, err = orphansOf(ctx, key, r.current()); err != nil {
		return err
	}
	for _, each := range all {
		if err := r.writeHolds(ctx, each.observed, each.plan); err != nil {
			return err
		}
	}
	return nil
}

// Holder reports whether the Runtime Extension retains a Cluster. It reads from the API server, so it works on every replica.
func Holder(
	config configv1alpha1.ClusterAPIConfiguration, find resourcewatch.Finder, from resourcewatch.Source, live client.Reader,
	clock clock.PassiveClock,
) extension.Holder {
	set := resourcewatch.NewSet(find, from, clock, resourcewatch.DiscoveryPeriod, kinds()...) // never started: it only knows the kinds
	r := &reconciler{live: live, current: func() resourcewatch.Reader { return set.Live(0) }, settings: settingsOf(config), clock: clock}
	return r.held
}

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
