// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// probed is the result of a check, with the state of the workload cluster.
type probed struct {
	outcome
	id        types.UID
	requested bool
}

// probe is one check of a stage. It runs asynchronously.
type probe struct {
	*reconciler
	key      types.NamespacedName
	uid      types.UID
	stage    kubernikusv1.DeorbitStage
	began    time.Time
	recorded stage.Seen
	// lost and rejected are ClusterLost and ClusterRefused of the status.
	lost, rejected string
	// routesLeft is true when routes that came back are left alone.
	routesLeft bool
	// connection is the workload cluster, nil for none, and wayErr why there is none.
	connection workload
	wayErr     error
	// server and way are what leads to the workload cluster, as its identity in the status has it; "" for none.
	server, way string
	// target is the identity of the cluster that is being torn down, "" while unknown.
	target string
	// known is the identity of the workload cluster as an earlier check read it, "" for unknown, and self that of the cluster that
	// Groundskeeper runs in. identify queries it, and must reports that nothing may be done without a response.
	known, self    types.UID
	identify, must bool
	// secret leads into OpenStack; nil: secretErr reports why not.
	secret    *corev1.Secret
	secretErr error
	cloud     bool
}

// begin starts a check of the stage that a Kluster is in.
func (r *reconciler) begin(k *kubernikusv1.Kluster, s *state, secret *corev1.Secret, secretErr error, self types.UID) {
	l := r.probe(k, s, secret, secretErr, self)
	if isInCluster(l.stage) || l.stage == kubernikusv1.DeorbitDrain {
		r.clusters.Begin(l.key, l.key.String(), l.run)
		return
	}
	r.clouds.Begin(l.key, placeOf(secret), l.run)
}

// probe returns a check of the stage that a Kluster is in.
func (r *reconciler) probe(k *kubernikusv1.Kluster, s *state, secret *corev1.Secret, secretErr error, self types.UID) probe {
	l := probe{
		reconciler: r, key: client.ObjectKeyFromObject(k), uid: k.UID, stage: s.progress.Stage, began: s.progress.StageStartedAt.Time,
		recorded: stage.Seen{Volumes: s.progress.SeenVolumes, Snapshots: s.progress.SeenSnapshots, Services: s.progress.SeenServices,
			ClusterName: s.progress.ClusterName, CSIClusterID: s.progress.CSIClusterID},
		routesLeft: s.progress.routes.leaves(r.clock.Now()),
		lost:       s.progress.ClusterLost, rejected: s.progress.ClusterRefused,
		target: s.progress.ClusterID, self: self, secret: secret, secretErr: secretErr, cloud: !k.Spec.NoCloud,
	}
	if s.connection == nil {
		s.connection, l.wayErr = r.connection(k, secret, secretErr)
	}
	l.connection, l.known = s.connection, s.id
	if secret != nil {
		if config, err := kluster.Workload(k, secret.Data); err == nil {
			l.server, l.way = kluster.ConnectionOf(config)
		}
	}
	l.must = s.progress.own || isInCluster(l.stage)
	l.identify = l.must || s.id == "" && !s.requested
	return l
}

// placeOf returns the cloud that a Secret leads to, "" when it leads to none.
func placeOf(secret *corev1.Secret) string {
	if secret == nil {
		return ""
	}
	credentials, err := openstack.CredentialsOf(secret.Data)
	if err != nil {
		return ""
	}
	return credentials.Host()
}

// connection returns the workload cluster of a Kluster.
func (r *reconciler) connection(k *kubernikusv1.Kluster, secret *corev1.Secret, secretErr error) (workload, error) {
	if secretErr != nil {
		return nil, secretErr
	}
	config, err := kluster.Workload(k, secret.Data)
	if err != nil {
		return nil, err
	}
	c, err := r.systems.connect(fencedConfig(config, r.fence))
	if err != nil {
		return nil, fmt.Errorf("the credentials of the cluster cannot be used: %w", err)
	}
	return c, nil
}

// run returns the check.
func (l probe) run(ctx context.Context) probed {
	result := probed{id: l.known}
	failed := func(f *failure) probed {
		result.outcome = outcome{stage: l.stage, parts: []part{{stage: l.stage, failure: f}}}
		return result
	}
	k, err := l.current(ctx)
	switch {
	case err != nil:
		return failed(internalFailure(err))
	case k == nil:
		return probed{} // the cache will receive the change
	}
	var unread error
	if l.identify && l.connection != nil {
		result.id, unread = l.id(ctx)
		result.requested = true
	}
	own := identity{id: cmp.Or(string(result.id), kluster.ProvenID(k, l.way)), server: l.server}
	if clusterid.Compare(clusterid.OfUID(own.id), clusterid.OfUID(string(l.self))) == clusterid.Same {
		result.outcome = outcome{stage: l.stage, own: true}
		return result
	}
	work := stage.Work{Kluster: k, Policies: policiesOf(k, l.config), Recorded: l.recorded, ClusterLost: l.lost, ClusterRejected: l.rejected, Began: l.began, Now: l.clock.Now(), RoutesLeft: l.routesLeft}
	held, err := l.held(ctx, work, own)
	if changed := changedHold(l.target, own.id); changed != nil {
		held = changed
	}
	switch {
	case err != nil:
		return failed(internalFailure(err))
	case held != nil:
		result.outcome = l.hold(ctx, k, own.id, held)
		return result
	case unread != nil && l.must:
		return failed(l.blame(clusterFailure(unread)))
	}
	result.stage = l.stage
	switch {
	case l.must && l.connection == nil:
		return failed(wayFailure(kluster.SecretKey(k).String(), l.wayErr))
	case l.stage == kubernikusv1.DeorbitDrain:
		result.parts = []part{l.drain(ctx, k)}
	case isInCluster(l.stage):
		report, err := l.connection.Run(ctx, l.stage, work)
		result.parts = []part{{stage: l.stage, report: report}}
		if err != nil {
			result.parts[0].failure = l.blame(clusterFailure(err))
		}
	case l.stage == kubernikusv1.DeorbitRelease:
		result.parts = append(l.openstack(ctx, work), l.drain(ctx, k))
	default:
		result.parts = l.openstack(ctx, work)
	}
	return result
}

// drain takes the announcement back. Stage Release does so once more: a Kluster may be deleted while it is being announced,
// and Drain be over before what announces it is there.
func (l probe) drain(ctx context.Context, k *kubernikusv1.Kluster) part {
	report, err := l.systems.withdraw(ctx, k)
	p := part{stage: kubernikusv1.DeorbitDrain, report: report}
	if err != nil {
		p.failure = internalFailure(err)
	}
	return p
}

// hold returns the outcome of a check that may change nothing: a freeze is lifted when the cluster is still used.
func (l probe) hold(ctx context.Context, k *kubernikusv1.Kluster, id string, held *hold) outcome {
	o := outcome{stage: l.stage, held: held}
	if !held.thaws || !isFrozen(l.stage) {
		return o
	}
	var err error
	if o.lifted, err = l.thaw(ctx, k, id); err != nil {
		held.message += ". The freeze of the cluster could not be lifted yet: " + err.Error()
	}
	o.thawed = err == nil
	return o
}

// current returns the Kluster as the API server has it now; nil when nothing may be done about it any more.
func (l probe) current(ctx context.Context) (*kubernikusv1.Kluster, error) {
	k := &kubernikusv1.Kluster{}
	if err := l.live.Get(ctx, l.key, k); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("get kluster %s: %w", l.key, err)
	}
	if k.UID != l.uid || k.DeletionTimestamp.IsZero() || !k.HasDeorbiter() || k.Detached() || pausedBy(k) != nil || k.Spec.NoCloud == l.cloud {
		return nil, nil
	}
	return k, nil
}

// blame attributes a failure to this process when this process may not change anything any more.
func (l probe) blame(f *failure) *failure {
	if err := l.fence(); err != nil {
		return internalFailure(err)
	}
	return f
}

// openstack checks the project, if there is one, by the stage or by both of them that do.
func (l probe) openstack(ctx context.Context, work stage.Work) []part {
	if !l.cloud {
		return nil
	}
	which := []kubernikusv1.DeorbitStage{l.stage}
	if l.stage == kubernikusv1.DeorbitRelease {
		which = []kubernikusv1.DeorbitStage{kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes}
	}
	parts := make([]part, len(which))
	for i := range which {
		parts[i].stage = which[i]
	}
	all, opened, failed := l.prepare(ctx, work.Kluster)
	for i := range parts {
		if parts[i].failure = failed; failed != nil {
			continue
		}
		run := opened.verify
		if which[i] == kubernikusv1.DeorbitRoutes {
			run = opened.routes
		}
		var err error
		if parts[i].report, err = run(ctx, work, all); err != nil {
			parts[i].failure = l.blame(cloudFailure(err))
		}
	}
	return parts
}

// prepare reads all Klusters, whose names and ranges count, and opens the project.
func (l probe) prepare(ctx context.Context, k *kubernikusv1.Kluster) ([]kubernikusv1.Kluster, project, *failure) {
	all, err := l.klusters(ctx)
	if err != nil {
		return nil, nil, internalFailure(err)
	}
	if l.secretErr != nil {
		return nil, nil, cloudFailure(l.secretErr)
	}
	opened, err := l.systems.open(ctx, k, l.secret)
	if err != nil {
		return nil, nil, l.blame(cloudFailure(err))
	}
	return all, opened, nil
}
