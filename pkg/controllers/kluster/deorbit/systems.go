// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

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
	// ID is the uid of the namespace kube-system.
	ID(ctx context.Context) (types.UID, error)
	Close()
}

// project is an OpenStack project. An error means that it could not be checked, and then nothing was deleted by the check.
type project interface {
	// verify looks for what the cluster left, with all Klusters to know what is theirs.
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

// fencedConfig is a configuration whose changes the fence guards.
func fencedConfig(config *rest.Config, fence func() error) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fenced{RoundTripper: next, fence: fence} })
	return config
}
