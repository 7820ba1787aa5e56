// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// reality are the systems that there are.
type reality struct {
	client  client.Client
	live    client.Reader
	clients *openstack.Clients
	routeGC configv1alpha1.RouteGCConfiguration
	fence   func() error
}

func (r *reality) withdraw(ctx context.Context, k *kubernikusv1.Kluster) (stage.Report, error) {
	if err := r.fence(); err != nil {
		return stage.Report{}, err
	}
	return announce.Withdraw(ctx, r.client, r.live, k)
}

func (r *reality) connect(config *rest.Config) (workload, error) {
	return cluster.Connect(config)
}

func (r *reality) open(ctx context.Context, k *kubernikusv1.Kluster, secret *corev1.Secret) (project, error) {
	c, err := r.clients.Get(ctx, secret)
	if err != nil {
		return nil, err
	}
	if err := kluster.CheckPlace(k, kluster.PlaceOf(c)); err != nil {
		return nil, err
	}
	return openProject{Project: cloud.Of(c, r.fence), routeGC: r.routeGC}, nil
}

// openProject is an OpenStack project, with what decides about its routes.
type openProject struct {
	cloud.Project
	routeGC configv1alpha1.RouteGCConfiguration
}

func (p openProject) verify(ctx context.Context, w stage.Work, all []kubernikusv1.Kluster) (stage.Report, error) {
	return p.Verify(ctx, w, cloud.ConflictsOf(w, all))
}

func (p openProject) routes(ctx context.Context, w stage.Work, all []kubernikusv1.Kluster) (stage.Report, error) {
	target, why := routegc.TargetFor(w.Kluster, all, p.routeGC)
	if hold := cloud.ConflictsOf(w, all).Hold(w, p.ID); why == "" {
		why = hold
	}
	return p.Routes(ctx, w, target, why)
}
