// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	groundskeeperscheme "groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/extension"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// newRuntimeExtension returns the handler of the Runtime Extension for Cluster API, nil if the configuration does not enable it. Every
// replica serves it, next to the webhooks.
func newRuntimeExtension(ctx context.Context, restConfig *rest.Config, config *v1alpha1.ControllersConfiguration) (http.Handler, error) {
	capi := config.Kluster.ClusterAPI
	if noClusterAPI(config) != "" || capi.RuntimeExtension == nil || !*capi.RuntimeExtension {
		return nil, nil
	}
	connection, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		return nil, fmt.Errorf("create a client for the Runtime Extension: %w", err)
	}
	find, from, err := resourcewatch.ConnectTo(restConfig, connection)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := groundskeeperscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	live, err := client.New(restConfig, client.Options{HTTPClient: connection, Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client for the Runtime Extension: %w", err)
	}
	logger := logr.FromContextOrDiscard(ctx).WithValues("controller", clusterapi.ControllerName)
	return extension.Handler(clusterapi.Holder(capi, find, from, live, clock.RealClock{}), logger), nil
}
