// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// conflictPause is the delay of a retry after a conflict with another client.
const conflictPause = time.Second

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
	var wait time.Duration
	var err error
	if !exists || isReleased(k) {
		r.drop(request.NamespacedName)
		err = r.releaseSecrets(ctx, request.Namespace)
	} else {
		wait, err = r.refresh(ctx, k)
	}
	if apierrors.IsConflict(err) {
		log.FromContext(ctx).V(1).Info("An object changed meanwhile, retrying", "err", err)
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// refresh starts the probes that are due, and writes the latest results into the status. It returns the time until the next probe.
func (r *reconciler) refresh(ctx context.Context, k *kubernikusv1.Kluster) (time.Duration, error) {
	paused := kit.IsPaused(k)
	if !paused {
		if err := r.complete(ctx, k); err != nil {
			return 0, err
		}
	}
	secrets, err := kluster.Secrets(ctx, r.live, k)
	if err != nil && !errors.Is(err, kluster.ErrNoSecret) {
		return 0, err
	}
	var secret *corev1.Secret
	if err == nil {
		secret = kluster.Together(k, secrets)
	}
	if paused {
		return r.identify(ctx, k, secret)
	}
	var found findings
	s := r.stateOf(k, secret)
	if secret == nil {
		missing := missingSecret(err)
		s.workload.set(missing.workload, r.clock.Now().Add(retryPause))
		s.cloud.set(missing.cloud, r.clock.Now().Add(retryPause))
	} else {
		for _, each := range secrets {
			if err := r.hold(ctx, each); err != nil {
				return 0, err
			}
		}
		secret = kluster.Together(k, secrets)
		s.secret.version = secret.ResourceVersion
		found.expected = kluster.HasWorkload(secret.Data)
		r.probeWorkload(k, secret, s)
		if !k.Spec.NoCloud {
			r.probeCloud(k, secret, s)
		}
	}
	found.workload, found.cloud, found.permissions, found.services = s.workload.latest, s.cloud.latest, s.permissions.latest, s.services.latest
	if k.Spec.NoCloud {
		found.cloud, found.services = nil, nil
	}
	found.identity = identityOf(k, secret, found.workload)
	return s.wait(r.clock.Now()), r.writeStatus(ctx, k, found)
}

// identify finds out which cluster a paused Kluster leads to, unless that is known, and nothing else: until then it may be any cluster, so
// that every deletion would wait for it. It returns the time until the next probe.
func (r *reconciler) identify(ctx context.Context, k *kubernikusv1.Kluster, secret *corev1.Secret) (time.Duration, error) {
	identity := identityOf(k, secret, nil)
	if identity != nil && identity.ClusterID != "" {
		r.drop(client.ObjectKeyFromObject(k))
		return 0, r.writeStatus(ctx, k, findings{paused: true, identity: identity})
	}
	s := r.stateOf(k, secret)
	if secret == nil {
		s.workload.set(workloadView{reason: reasonSecretMissing}, r.clock.Now().Add(retryPause))
	} else {
		r.probeWorkload(k, secret, s)
	}
	return s.wait(r.clock.Now()), r.writeStatus(ctx, k, findings{paused: true, identity: identityOf(k, secret, s.workload.latest)})
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
	config, err := kluster.Workload(k, secret.Data)
	if err != nil {
		// Only a change of the Secret or the status helps, and that is seen.
		s.workload.set(unreadable(kluster.SecretKey(k).String(), err), r.clock.Now().Add(interval))
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

// writeStatus writes what was found if it is new, and reports it.
func (r *reconciler) writeStatus(ctx context.Context, k *kubernikusv1.Kluster, found findings) error {
	var err error
	if found.twins, err = r.twinsOf(ctx, k, found.identity); err != nil {
		return err
	}
	next, changed := nextStatus(k, found, r.clock.Now())
	if !changed {
		return nil
	}
	err = r.client.Status().Apply(ctx, next.applied(k), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	r.announce(ctx, k, next)
	return nil
}

// isReleased reports that a Kluster that is being deleted needs nothing any more, though others may still keep the object.
func isReleased(k *kubernikusv1.Kluster) bool {
	return !k.DeletionTimestamp.IsZero() && !k.HasDeorbiter()
}

// complete adds the finalizer to a Kluster that came another way than by Groundskeeper's API server.
func (r *reconciler) complete(ctx context.Context, k *kubernikusv1.Kluster) error {
	if k.HasDeorbiter() || !k.DeletionTimestamp.IsZero() {
		return nil
	}
	after := k.DeepCopy()
	controllerutil.AddFinalizer(after, kubernikusv1.DeorbiterFinalizer)
	return r.patchMetadata(ctx, k, after)
}
