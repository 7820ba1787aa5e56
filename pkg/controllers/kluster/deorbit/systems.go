// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// systems are what the stages work on.
type systems struct {
	withdraw func(ctx context.Context, k *kubernikusv1.Kluster) (stage.Report, error)
	// connect is the workload cluster that a configuration leads to. It queries nothing.
	connect func(config *rest.Config) (workload, error)
	// open authenticates at the OpenStack project that a Secret leads to. It fails when that is not the one of the Kluster.
	open func(ctx context.Context, k *kubernikusv1.Kluster, secret *corev1.Secret) (project, error)
}

type workload interface {
	// Run does one check of a stage inside the cluster. An error means that the API server did not do what it has to.
	Run(ctx context.Context, which kubernikusv1.DeorbitStage, w stage.Work) (stage.Report, error)
	// Thaw lifts the freeze of the cluster, and reports whether there was one.
	Thaw(ctx context.Context) (lifted bool, err error)
	// ID is the uid of the namespace kube-system.
	ID(ctx context.Context) (types.UID, error)
	Close()
}

// project is an OpenStack project. An error means that it could not be checked, and then nothing was deleted by the check.
type project interface {
	// verify deletes the leftovers of the cluster. It needs all Klusters to recognize the objects of others.
	verify(ctx context.Context, w stage.Work, all []kubernikusv1.Kluster) (stage.Report, error)
	// routes removes the routes of the cluster.
	routes(ctx context.Context, w stage.Work, all []kubernikusv1.Kluster) (stage.Report, error)
}

func realSystems(
	c client.Client, live client.Reader, clients *openstack.Clients, routeGC configv1alpha1.RouteGCConfiguration, fence func() error,
) systems {
	return systems{
		withdraw: func(ctx context.Context, k *kubernikusv1.Kluster) (stage.Report, error) {
			if err := fence(); err != nil {
				return stage.Report{}, err
			}
			return announce.Withdraw(ctx, c, live, k)
		},
		connect: func(config *rest.Config) (workload, error) { return cluster.Connect(config) },
		open: func(ctx context.Context, k *kubernikusv1.Kluster, secret *corev1.Secret) (project, error) {
			cloudClient, err := clients.Get(ctx, secret)
			if err != nil {
				return nil, err
			}
			if err := kluster.CheckPlace(k, kluster.PlaceOf(cloudClient)); err != nil {
				return nil, err
			}
			return openProject{cloud.Of(cloudClient, fence), routeGC}, nil
		},
	}
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
	if why == "" {
		why = cloud.ConflictsOf(w, all).Hold(w, p.ID)
	}
	return p.Routes(ctx, w, target, why)
}
