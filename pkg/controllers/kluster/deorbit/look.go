// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// probed is the result of a check, with the state of the workload cluster.
type probed struct {
	outcome
	identified, requested bool
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
	// identified reports that the workload cluster is not the one that Groundskeeper runs in, whose id is self. identify queries
	// it, and must reports that nothing may be done without a response.
	identified, identify, must bool
	self                       types.UID
	// secret leads into OpenStack; nil: secretErr reports why not.
	secret    *corev1.Secret
	secretErr error
	cloud     bool
}

// begin starts a check of the stage that a Kluster is in.
func (r *reconciler) begin(k *kubernikusv1.Kluster, s *state, secret *corev1.Secret, secretErr error, self types.UID) {
	l := probe{
		reconciler: r, key: client.ObjectKeyFromObject(k), uid: k.UID, stage: s.progress.Stage, began: s.progress.StageStartedAt.Time,
		recorded: stage.Seen{Volumes: s.progress.SeenVolumes, Snapshots: s.progress.SeenSnapshots, Services: s.progress.SeenServices,
			ClusterName: s.progress.ClusterName, CSIClusterID: s.progress.CSIClusterID},
		routesLeft: s.progress.routes.leaves(r.clock.Now()),
		lost:       s.progress.ClusterLost, rejected: s.progress.ClusterRefused,
		self: self, secret: secret, secretErr: secretErr, cloud: !k.Spec.NoCloud,
	}
	if s.connection == nil {
		s.connection, l.wayErr = r.connection(k, secret, secretErr)
	}
	l.connection, l.identified = s.connection, s.identified
	l.must = s.progress.own || isInCluster(l.stage)
	l.identify = !s.identified && (l.must || !s.requested)
	if isInCluster(l.stage) || l.stage == kubernikusv1.DeorbitDrain {
		r.clusters.Begin(l.key, l.key.String(), l.run)
		return
	}
	r.clouds.Begin(l.key, placeOf(secret), l.run)
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
	result := probed{identified: l.identified}
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
	if l.identify && l.connection != nil {
		id, err := l.id(ctx)
		result.requested = true
		switch {
		case err == nil && id == l.self:
			result.outcome = outcome{stage: l.stage, own: true}
			return result
		case err == nil:
			result.identified = true
		case l.must:
			return failed(l.blame(clusterFailure(err)))
		}
	}
	work := stage.Work{Kluster: k, Policies: policiesOf(k, l.config), Recorded: l.recorded, ClusterLost: l.lost, ClusterRejected: l.rejected, Began: l.began, Now: l.clock.Now(), RoutesLeft: l.routesLeft}
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

// id reads the identity of the workload cluster.
func (l probe) id(ctx context.Context) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	return l.connection.ID(ctx)
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
	all := &kubernikusv1.KlusterList{}
	if err := lists.Complete(l.live).List(ctx, all); err != nil {
		return nil, nil, internalFailure(fmt.Errorf("list klusters: %w", err))
	}
	if l.secretErr != nil {
		return nil, nil, cloudFailure(l.secretErr)
	}
	opened, err := l.systems.open(ctx, k, l.secret)
	if err != nil {
		return nil, nil, l.blame(cloudFailure(err))
	}
	return all.Items, opened, nil
}
