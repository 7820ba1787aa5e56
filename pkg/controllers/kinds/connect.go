// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Connect returns a Finder and a Source that speak with the API server of a manager.
func Connect(mgr manager.Manager) (Finder, Source, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for discovery: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for metadata: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for any kind: %w", err)
	}
	return NewFinder(discoverer), Source{Metadata: metadataClient, Dynamic: dynamicClient}, nil
}
