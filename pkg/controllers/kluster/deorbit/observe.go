// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// observed is what a check saw and did.
type observed struct {
	// stage is the one that was checked. "": nothing was checked, and nothing may be concluded.
	stage kubernikusv1.DeorbitStage
	// parts are what was checked: the stage itself, or in stage Release what it repeats.
	parts []part
	// isSelf is true when the workload cluster is the one that Groundskeeper runs in. Nothing was done then.
	isSelf bool
	// held is why nothing was done, because other objects lead to the cluster; nil: it was.
	held *hold
	// thawed is true when the cluster is not frozen any more, and lifted when the check made it so.
	thawed, lifted bool
	// id is the identity of the workload cluster, "" while unknown, and requested reports that it was queried, regardless of the result.
	id        types.UID
	requested bool
}

// part is one stage's part of a check.
type part struct {
	stage   kubernikusv1.DeorbitStage
	report  stage.Report
	failure *failure
}

// failure is why a check could not see what it had to.
type failure struct {
	reason, message string
	// cluster is true when the workload cluster could not be used, whatever the reason.
	cluster bool
	// waits is true when the workload cluster may be alive and only another Secret, or more permissions, let Groundskeeper check
	// it: it is never given up for that.
	waits bool
	// silent is true when no API server responded, or none is known.
	silent bool
	// internal is true when the failure reports nothing of the cluster and the cloud: only another try helps.
	internal bool
	// retryAfter is how long a service requests to wait.
	retryAfter time.Duration
}

// Reasons of the condition Deorbited besides the names of stages, the reasons of package openstack and those of kluster.WhyUnusable.
const (
	reasonUnreachable = string(openstack.ReasonUnreachable)
	reasonFailed      = "Failed"
	// reasonProtected and reasonPaused mean that an annotation requests to wait.
	reasonProtected = "TerminationProtected"
	reasonPaused    = "Paused"
)

// failing returns a check that did nothing, because of a failure.
func (o observed) failing(f *failure) observed {
	o.parts = []part{{stage: o.stage, failure: f}}
	return o
}

func (o observed) failure() *failure {
	for _, p := range o.parts {
		if p.failure != nil {
			return p.failure
		}
	}
	return nil
}

// remains reports whether an object still has to be deleted.
func (o observed) remains() bool {
	return slices.ContainsFunc(o.parts, func(p part) bool { return len(p.report.Remaining) > 0 })
}

// subject is a Kluster that is being deleted, as the cache has it, with its Secret as the API server has it; nil: secretErr is why.
type subject struct {
	kluster   *kubernikusv1.Kluster
	secret    *corev1.Secret
	secretErr error
}

func (s subject) data() map[string][]byte {
	if s.secret == nil {
		return nil
	}
	return s.secret.Data
}

// get returns a Kluster as the cache has it, or the API server.
func get(ctx context.Context, from client.Reader, key types.NamespacedName) (*kubernikusv1.Kluster, error) {
	k := &kubernikusv1.Kluster{}
	if err := from.Get(ctx, key, k); err != nil {
		return nil, fmt.Errorf("get kluster %s: %w", key, err)
	}
	return k, nil
}

// withSecret returns a Kluster with its Secret. An error means that it is unknown whether there is one.
func (r *reconciler) withSecret(ctx context.Context, k *kubernikusv1.Kluster) (subject, error) {
	secret, err := kluster.Secret(ctx, r.live, k)
	if err != nil && !errors.Is(err, kluster.ErrNoSecret) {
		return subject{}, err
	}
	return subject{kluster: k, secret: secret, secretErr: err}, nil
}

// stateOf finds what is known of a Kluster, or reads it from the API server. It is nil when the cache is behind.
func (r *reconciler) stateOf(ctx context.Context, k *kubernikusv1.Kluster) (*state, error) {
	key := client.ObjectKeyFromObject(k)
	if s := r.memory.get(key); s != nil && s.uid == k.UID {
		return s, nil
	}
	r.discard(key)
	current, err := get(ctx, r.live, key)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if current.UID != k.UID || !isGoing(current) || !current.HasDeorbiter() {
		return nil, nil
	}
	s := stateFrom(current)
	r.memory.set(key, s)
	return s, nil
}

// current returns the Kluster as the API server has it now; nil when nothing may be done about it any more.
func (c check) current(ctx context.Context) (*kubernikusv1.Kluster, error) {
	k, err := get(ctx, c.live, c.key())
	switch {
	case err != nil:
		return nil, client.IgnoreNotFound(err)
	case k.UID != c.kluster.UID, !isGoing(k), !k.HasDeorbiter(), k.Detached(), pausedBy(k) != nil, k.Spec.NoCloud != c.kluster.Spec.NoCloud:
		return nil, nil
	}
	return k, nil
}

func (c check) id(ctx context.Context) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	return c.connection.ID(ctx)
}

// held returns why the check may change nothing, nil when it may, by what the API server has now: the cache may lack a Kluster that was
// created a moment ago.
func (c check) held(ctx context.Context, k *kubernikusv1.Kluster, at clusterid.Known) (*hold, error) {
	if c.connection == nil && c.kluster.Spec.NoCloud {
		return nil, nil // there is nothing that could be changed
	}
	others, err := c.twins(ctx, at.ID)
	if err != nil {
		return nil, err
	}
	backends, servers, err := c.backends.Of(ctx, c.live, at)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names what it reads
	}
	return holdOf(clusterid.HoldersOf(k, at, others, backends, servers)), nil
}

// twins returns the Klusters that lead to a cluster, and those whose cluster is unknown. All Klusters are listed only for a cluster that is
// unknown itself.
func (r *reconciler) twins(ctx context.Context, id string) ([]kubernikusv1.Kluster, error) {
	if id == "" {
		return r.klusters(ctx)
	}
	unknown, err := r.unidentified.Read(ctx, func(ctx context.Context) ([]kubernikusv1.Kluster, error) {
		return r.list(ctx, client.MatchingFields{kubernikusv1.KlusterClusterField: ""})
	})
	if err != nil {
		return nil, err
	}
	// Read second: one that is identified in between is in both lists, and not in neither.
	same, err := r.list(ctx, client.MatchingFields{kubernikusv1.KlusterClusterField: id})
	return slices.Concat(unknown, same), err
}

// klusters returns all Klusters. The checks share the list: many begin at a time, and each response may have thousands.
func (r *reconciler) klusters(ctx context.Context) ([]kubernikusv1.Kluster, error) {
	return r.all.Read(ctx, func(ctx context.Context) ([]kubernikusv1.Kluster, error) { return r.list(ctx) })
}

// list returns Klusters as the API server has them, without what is recorded for themselves only: a check may retain the list for minutes.
func (r *reconciler) list(ctx context.Context, options ...client.ListOption) ([]kubernikusv1.Kluster, error) {
	found := &kubernikusv1.KlusterList{}
	if err := lists.Complete(r.live).List(ctx, found, options...); err != nil {
		return nil, fmt.Errorf("list klusters: %w", err)
	}
	for i := range found.Items {
		k := &found.Items[i]
		k.ManagedFields = nil
		if d := k.Status.Deorbit; d != nil {
			d.Remaining, d.Retained, d.Undecided, d.SeenVolumes, d.SeenSnapshots, d.SeenServices = nil, nil, nil, nil, nil, nil
		}
	}
	return found.Items, nil
}

// clusterFailure returns the failure of a workload cluster that does not do what it has to. One that rejects Groundskeeper is
// alive.
func clusterFailure(err error) *failure {
	f := &failure{reason: reasonUnreachable, message: "the API server of the cluster cannot be used: " + err.Error(), cluster: true}
	_, responded := errors.AsType[*apierrors.StatusError](err)
	f.silent = !responded
	switch {
	case apierrors.IsUnauthorized(err):
		f.reason, f.waits = string(openstack.ReasonCredentialsRefused), true
		f.message = "the API server of the cluster does not accept the credentials: renew them in the Secret: " + err.Error()
	case apierrors.IsForbidden(err):
		f.reason, f.waits = string(openstack.ReasonForbidden), true
		f.message = "the user of the kubeconfig lacks a permission in the cluster: apply artifacts/kluster/workload there: " + err.Error()
	}
	return f
}

// wayFailure returns why there is no connection to the workload cluster. A proxy that is not allowed leads to an API server that is known.
func wayFailure(k *kubernikusv1.Kluster, err error) *failure {
	reason, message := kluster.WhyUnusable(k, err)
	return &failure{reason: reason, message: message, cluster: true, silent: !errors.Is(err, kluster.ErrProxy),
		waits: reason != kluster.ReasonNoCredentials && reason != kluster.ReasonHostUnknown}
}

// cloudFailure returns the failure of OpenStack, or to find the way into it.
func cloudFailure(err error) *failure {
	f := &failure{reason: string(openstack.ReasonOf(err)), message: err.Error(), retryAfter: openstack.RetryAfter(err)}
	if errors.Is(err, kluster.ErrNoSecret) {
		f.reason = kluster.ReasonSecretMissing
	}
	return f
}

// internalFailure returns a failure of the API server that Groundskeeper runs with.
func internalFailure(err error) *failure {
	return &failure{reason: reasonFailed, message: err.Error(), internal: true}
}
