// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// check is one check of a stage. It runs asynchronously, and has no access to the state of the Kluster, which may change meanwhile.
type check struct {
	*reconciler
	subject
	stage kubernikusv1.DeorbitStage
	// work lacks what is read when the check runs.
	work stage.Work
	// target is the identity of the cluster that is being torn down, "" while unknown.
	target string
	// connection is the workload cluster, nil for none, and connectErr why there is none.
	connection workload
	connectErr error
	// server and way are what leads to the workload cluster, as its identity in the status has it; "" for none.
	server, way string
	// known is the identity of the workload cluster as an earlier check read it, "" for unknown, and self that of the cluster that
	// Groundskeeper runs in. identify queries it, and must reports that nothing may be done without a response.
	known, self    types.UID
	identify, must bool
}

func (c check) key() types.NamespacedName { return client.ObjectKeyFromObject(c.kluster) }

// check returns a check of the stage that a Kluster is in.
func (r *reconciler) check(on subject, s *state, self types.UID) check {
	p := &s.progress
	c := check{reconciler: r, subject: on, stage: p.Stage, target: p.ClusterID, self: self, work: stage.Work{
		Recorded: stage.Seen{Volumes: p.SeenVolumes, Snapshots: p.SeenSnapshots, Services: p.SeenServices,
			ClusterName: p.ClusterName, CSIClusterID: p.CSIClusterID},
		ClusterLost: p.ClusterLost, ClusterRejected: p.ClusterRefused, Unfrozen: p.isUnfrozen(),
		RoutesLeft: p.routes.leaves(r.clock.Now()), Began: p.StageStartedAt.Time,
	}}
	c.connect(s)
	c.known = s.id
	c.must = p.isSelf || isInCluster(c.stage)
	// While it holds the check that the identity is unknown, only another try can end that.
	c.identify = c.must || s.id == "" && (!s.requested || p.held != nil)
	return c
}

// begin starts a check, at the place that it may have to wait for.
func (c check) begin() {
	if isInCluster(c.stage) || c.stage == kubernikusv1.DeorbitDrain {
		c.clusters.Begin(c.key(), c.key().String(), c.run)
		return
	}
	c.clouds.Begin(c.key(), placeOf(c.secret), c.run)
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

// connect sets what leads to the workload cluster of a Kluster.
func (c *check) connect(s *state) {
	config, err := (*rest.Config)(nil), c.secretErr
	if err == nil {
		config, err = kluster.Workload(c.kluster, c.secret.Data)
	}
	if err == nil {
		// The cluster is the same whether or not its proxy may be used.
		c.server, c.way = kluster.ConnectionOf(config)
		err = kluster.ConnectionAllowed(config, c.allowProxy)
	}
	if err == nil && s.connection == nil {
		var to workload
		if to, err = c.systems.connect(kluster.FencedConfig(config, c.fence)); err == nil {
			s.connection = to
		} else {
			err = fmt.Errorf("the credentials of the cluster cannot be used: %w", err)
		}
	}
	c.connection, c.connectErr = s.connection, err
}

// run identifies the cluster, and does what the stage has to if nothing holds it.
func (c check) run(ctx context.Context) observed {
	o := observed{stage: c.stage, id: c.known}
	k, err := c.current(ctx)
	switch {
	case err != nil:
		return o.failing(internalFailure(err))
	case k == nil:
		return observed{id: c.known} // the cache will receive the change
	}
	var unread error
	if c.identify && c.connection != nil {
		o.id, unread = c.id(ctx)
		o.requested = true
	}
	at := clusterid.Known{ID: cmp.Or(string(o.id), kluster.ProvenID(k, c.way)), Server: c.server}
	if clusterid.Compare(clusterid.OfUID(at.ID), clusterid.OfUID(string(c.self))) == clusterid.Same {
		o.isSelf = true
		return o
	}
	work := c.work
	work.Kluster, work.Policies, work.Now = k, policiesOf(k, c.config.Deorbit), c.clock.Now()
	if work.EndsInCluster() {
		work.Drivers, work.LoadBalancerClasses = c.config.Deorbit.CSIDrivers, c.config.Deorbit.LoadBalancerClasses
	}
	at.ClusterName, at.CSIClusterID = cloud.NamesOf(work)
	held, err := c.held(ctx, k, at)
	if changed := changedHold(c.target, at.ID); changed != nil {
		held = changed
	}
	switch {
	case err != nil:
		return o.failing(internalFailure(err))
	case held != nil:
		return c.hold(ctx, at.ID, held, o)
	case unread != nil && c.must:
		return o.failing(c.blame(clusterFailure(unread)))
	case c.must && c.connection == nil:
		return o.failing(wayFailure(c.kluster, c.connectErr))
	}
	o.parts = c.execute(ctx, work)
	return o
}

// hold completes a check that may change nothing: a freeze is lifted when the cluster is still used.
func (c check) hold(ctx context.Context, id string, held *hold, o observed) observed {
	o.held = held
	if !held.thaws || !isFrozen(c.stage) {
		return o
	}
	var failed *failure
	if o.lifted, failed = c.thaw(ctx, id); failed != nil {
		held.message += ". The freeze of the cluster could not be lifted yet: " + failed.message
	}
	o.thawed = failed == nil
	return o
}

// detach lifts the freeze of the cluster of a Kluster that is detached.
func (c check) detach(ctx context.Context) observed {
	o := observed{stage: c.stage}
	if c.connection == nil {
		return o.failing(wayFailure(c.kluster, c.connectErr))
	}
	id, err := c.id(ctx)
	if err != nil {
		return o.failing(clusterFailure(err))
	}
	if changed := changedHold(c.target, string(id)); changed != nil {
		return o.failing(&failure{reason: changed.reason, message: changed.message, cluster: true, waits: true})
	}
	k, err := get(ctx, c.live, c.key())
	if err != nil {
		return o.failing(internalFailure(err))
	}
	if k.UID != c.kluster.UID || !k.Detached() || id == c.self {
		return o
	}
	lifted, failed := c.thaw(ctx, string(id))
	if failed != nil {
		return o.failing(failed)
	}
	o.lifted = lifted
	return o
}

// blame attributes a failure to this process when this process may not change anything any more.
func (c check) blame(f *failure) *failure {
	if err := c.fence(); err != nil {
		return internalFailure(err)
	}
	return f
}

// project reads all Klusters, whose names and ranges count, and opens the project.
func (c check) project(ctx context.Context, k *kubernikusv1.Kluster) ([]kubernikusv1.Kluster, project, *failure) {
	all, err := c.klusters(ctx)
	if err != nil {
		return nil, nil, internalFailure(err)
	}
	if c.secretErr != nil {
		return nil, nil, cloudFailure(c.secretErr)
	}
	opened, err := c.systems.open(ctx, k, c.secret)
	if err != nil {
		return nil, nil, c.blame(cloudFailure(err))
	}
	return all, opened, nil
}
