// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Reconcile brings the status of one Kluster up to date. For one that needs no Secret any more, and for a request without a name, it
// manages the Secrets of the namespace, which costs as much as there are Klusters in it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	k, exists := &kubernikusv1.Kluster{}, request.Name != ""
	if exists {
		err := r.client.Get(ctx, request.NamespacedName, k)
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("get kluster %s: %w", request.NamespacedName, err)
		}
		exists = err == nil
	}
	if !exists || clusterid.IsReleased(k) {
		r.drop(request.NamespacedName)
		return reconcile.Result{}, r.releaseSecrets(ctx, request.Namespace)
	}
	wait, err := r.refresh(ctx, k)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// refresh starts the probes that are due, and writes the latest results into the status. It returns the time until the next probe. For a
// paused Kluster, it finds out to which cluster it leads, unless that is known, and nothing else: until then it may be any cluster, so that
// every deletion would wait for it.
func (r *reconciler) refresh(ctx context.Context, k *kubernikusv1.Kluster) (time.Duration, error) {
	found := findings{paused: kit.IsPaused(k)}
	if !found.paused {
		if err := r.complete(ctx, k); err != nil {
			return 0, err
		}
	}
	secrets, missing := kluster.Secrets(ctx, r.live, k)
	var secret *corev1.Secret
	switch {
	case missing == nil:
		secret = kluster.Together(k, secrets)
	case !errors.Is(missing, kluster.ErrNoSecret):
		return 0, missing
	}
	if found.identity = identityOf(k, secret, nil); found.paused && found.identity != nil && found.identity.ClusterID != "" {
		r.drop(client.ObjectKeyFromObject(k))
		return 0, r.record(ctx, k, found)
	}
	s := r.stateOf(k, secret)
	if secret == nil {
		s.miss(missing, r.clock.Now().Add(retryPause))
	} else {
		if !found.paused {
			for _, each := range secrets {
				if err := r.hold(ctx, each); err != nil {
					return 0, err
				}
			}
			secret = kluster.Together(k, secrets)
			s.basis.version = secret.ResourceVersion
		}
		found.expected = kluster.HasWorkload(secret.Data)
		r.probeWorkload(k, secret, s)
		if !k.Spec.NoCloud && !found.paused {
			r.probeCloud(k, secret, s)
		}
	}
	found.identity = identityOf(k, secret, s.workload.latest)
	if !found.paused {
		found.workload, found.permissions = s.workload.latest, s.permissions.latest
		if !k.Spec.NoCloud {
			found.cloud, found.services = s.cloud.latest, s.services.latest
		}
	}
	return s.wait(r.clock.Now()), r.record(ctx, k, found)
}

// record writes what was found, and which other objects lead to the same cluster.
func (r *reconciler) record(ctx context.Context, k *kubernikusv1.Kluster, found findings) (err error) {
	if found.sharers, err = r.othersOf(ctx, k, found.identity); err != nil {
		return err
	}
	return r.writeStatus(ctx, k, found)
}

// probeWorkload stores the result of the last probe of the workload cluster, and starts the next one if it is due.
func (r *reconciler) probeWorkload(k *kubernikusv1.Kluster, secret *corev1.Secret, s *state) {
	key := client.ObjectKeyFromObject(k)
	if view, ok := r.workloads.Take(key); ok {
		r.meters.count("workload", view.version != "")
		s.workload.set(view, r.clock.Now().Add(pause(view.version != "")))
		if view.permissions != nil {
			s.permissions.set(*view.permissions, nextPreflight(*view.permissions, r.clock.Now()))
		}
	}
	if r.workloads.Busy(key) || !s.workload.due(r.clock.Now()) {
		return
	}
	config, err := kluster.Connectable(k, secret.Data, r.allowProxy)
	if err != nil {
		// Only a change of the Secret or the status helps, and that is seen.
		reason, message := kluster.WhyUnusable(k, err)
		s.workload.set(workloadView{reason: reason, message: message}, r.clock.Now().Add(interval))
		return
	}
	preflight, registered := s.permissions.due(r.clock.Now()) && !kit.IsPaused(k), k.DeepCopy()
	r.workloads.Begin(key, key.String(), func(ctx context.Context) workloadView {
		view := probeWorkload(ctx, config)
		if view.version == "" || !preflight {
			return view
		}
		permissions, rejected := permissionsOf(ctx, config, registered)
		if rejected != "" {
			view = workloadView{reason: string(openstack.ReasonCredentialsRefused), message: rejected}
		}
		view.permissions = &permissions
		return view
	})
}

// probeCloud takes what the last check of the OpenStack project showed, and begins the next one when it is due.
func (r *reconciler) probeCloud(k *kubernikusv1.Kluster, secret *corev1.Secret, s *state) {
	key := client.ObjectKeyFromObject(k)
	if view, ok := r.clouds.Take(key); ok {
		r.meters.count("openstack", view.err == nil)
		s.cloud.set(view, r.clock.Now().Add(pause(view.err == nil && len(view.unclear) == 0)))
		if view.services != nil {
			s.services.set(*view.services, nextPreflight(*view.services, r.clock.Now()))
		}
	}
	if r.clouds.Busy(key) || !s.cloud.due(r.clock.Now()) {
		return
	}
	host, err := kluster.CloudHost(secret)
	if err != nil {
		s.cloud.set(cloudView{err: err}, r.clock.Now().Add(interval))
		return
	}
	preflight := s.services.due(r.clock.Now())
	registered, spec, before := k.DeepCopy(), k.Spec.Openstack, kubernikusv1.OpenstackStatus{}
	if k.Status.Openstack != nil {
		before = *k.Status.Openstack
	}
	r.clouds.Begin(key, host, func(ctx context.Context) cloudView {
		cloud, err := r.clients.Get(ctx, secret)
		if err != nil {
			return cloudView{err: err}
		}
		at := kluster.PlaceOf(cloud)
		if err := kluster.CheckPlace(registered, at); err != nil {
			return cloudView{err: err}
		}
		if kluster.Moved(registered, at) {
			before = kubernikusv1.OpenstackStatus{} // the result was for another location
		}
		view := probeCloud(ctx, cloud.Network(), spec, before)
		view.warnings = cloud.Warnings()
		if view.found != nil {
			view.found.ProjectID, view.found.Region, view.found.AuthHost = at.ProjectID, at.Region, at.AuthHost
		}
		if view.err == nil && preflight {
			view.services = new(servicesOf(ctx, cloud, spec))
		}
		return view
	})
}
