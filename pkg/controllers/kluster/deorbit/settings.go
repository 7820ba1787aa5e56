// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// settings are what decides about the way through the stages, besides what the checks show.
type settings struct {
	timeout, stageTimeout, apiUnavailableTimeout time.Duration
	// verifyTimeout limits the stages behind Machines, in which the network of a cluster of Cluster API is retained.
	verifyTimeout time.Duration
	// routesResync is how long removed routes have to stay away.
	routesResync time.Duration
	// cloud is true when there is an OpenStack project to check, and workload when there may be a workload cluster.
	cloud, workload bool
	// machines is whether Cluster API still has Machines of the cluster; "": it does not delete the cluster.
	machines string
	// neverCameUp is whether Cluster API never initialized a control plane of the cluster.
	neverCameUp bool
	// project is the id of the OpenStack project, "" as long as unknown.
	project string
	// selfDestruct is true when an annotation ends Deorbit immediately.
	selfDestruct bool
}

// settingsOf returns the settings of a Kluster: its own, else those of the configuration. Data is that of its Secret, nil when
// there is none. Without a cloud there is nothing to wait for in a cluster that nothing leads to; with one, the kubeconfig may
// still come.
func settingsOf(k *kubernikusv1.Kluster, config configv1alpha1.DeorbitConfiguration, data map[string][]byte) settings {
	own, project := &k.Spec.Deorbit, ""
	if k.Status.Openstack != nil {
		project = k.Status.Openstack.ProjectID
	}
	return settings{
		timeout:               duration(own.Timeout, config.Timeout),
		stageTimeout:          duration(own.StageTimeout, config.StageTimeout),
		apiUnavailableTimeout: duration(own.APIUnavailableTimeout, config.APIUnavailableTimeout),
		routesResync:          routesResync(config.PollInterval.Duration),
		cloud:                 !k.Spec.NoCloud,
		workload:              !k.Spec.NoCloud || kluster.HasWorkload(data),
		machines:              k.MachinesOf(),
		neverCameUp:           k.NeverCameUp(),
		project:               project,
		selfDestruct:          k.SelfDestructs(),
	}
}

// policiesOf returns the deletion policies of a Kluster. Unset fields have the defaults of the API server.
func policiesOf(k *kubernikusv1.Kluster, config configv1alpha1.DeorbitConfiguration) stage.Policies {
	own := &k.Spec.Deorbit
	return stage.Policies{
		PersistentVolumes:  cmp.Or(own.PersistentVolumes, kubernikusv1.DeletionPolicyDelete),
		LoadBalancers:      cmp.Or(own.LoadBalancers, kubernikusv1.DeletionPolicyDelete),
		FloatingIPs:        cmp.Or(own.FloatingIPs, kubernikusv1.DeletionPolicyDelete),
		Snapshots:          cmp.Or(own.Snapshots, kubernikusv1.DeletionPolicyDelete),
		UnseenVolumes:      cmp.Or(own.UnseenVolumes, kubernikusv1.DeletionPolicyRetain),
		ServiceGracePeriod: duration(own.ServiceGracePeriod, config.ServiceGracePeriod),
	}
}

func duration(own, fallback *metav1.Duration) time.Duration {
	if own != nil {
		return own.Duration
	}
	return fallback.Duration
}

// isInCluster reports whether a stage works inside the workload cluster.
func isInCluster(s kubernikusv1.DeorbitStage) bool {
	switch s {
	case kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots,
		kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitServices, kubernikusv1.DeorbitWait:
		return true
	default:
		return false
	}
}

// has reports whether a stage has anything to do.
func (s settings) has(which kubernikusv1.DeorbitStage) bool {
	switch {
	case isInCluster(which):
		return s.workload
	case which == kubernikusv1.DeorbitMachines:
		return s.machines != "" && !s.machinesDeleted()
	case which == kubernikusv1.DeorbitVerify, which == kubernikusv1.DeorbitRoutes:
		return s.cloud
	default:
		return true
	}
}

// machinesDeleted reports whether Cluster API has deleted all Machines of the cluster.
func (s settings) machinesDeleted() bool { return s.machines == kubernikusv1.MachinesDeleted }

// after returns the next stage behind one that passes. Behind a stage that is not known it is the first.
func (s settings) after(which kubernikusv1.DeorbitStage, passes func(kubernikusv1.DeorbitStage) bool) kubernikusv1.DeorbitStage {
	found := false
	for _, next := range kubernikusv1.DeorbitStages() {
		if found && s.has(next) && passes(next) {
			return next
		}
		found = found || next == which
	}
	if !found {
		return kubernikusv1.DeorbitDrain
	}
	return kubernikusv1.DeorbitRelease
}

// systems are what the stages work on.
type systems interface {
	// withdraw takes the announcement of a Kluster back.
	withdraw(ctx context.Context, k *kubernikusv1.Kluster) (stage.Report, error)
	// connect is the workload cluster that a configuration leads to. It queries nothing.
	connect(config *rest.Config) (workload, error)
	// open authenticates at the OpenStack project that a Secret leads to. It fails when that is not the one of the Kluster.
	open(ctx context.Context, k *kubernikusv1.Kluster, secret *corev1.Secret) (project, error)
}

// workload is a workload cluster.
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

// fenced checks the fence before each request that changes something.
type fenced struct {
	http.RoundTripper
	fence func() error
}

// RoundTrip implements http.RoundTripper.
func (f fenced) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		if err := f.fence(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close()
			}
			return nil, fmt.Errorf("not sent: %w", err)
		}
	}
	return f.RoundTripper.RoundTrip(request)
}

// fencedConfig returns a configuration whose changes the fence guards.
func fencedConfig(config *rest.Config, fence func() error) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fenced{RoundTripper: next, fence: fence} })
	return config
}
