// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package process contains what the commands of Groundskeeper share: how they are executed, how they connect to the cluster that they
// work for, and how they serve health and metrics.
package process

import (
	"fmt"
	"os"
	"runtime/debug"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// SetGCPercent sets how much garbage the process may have in proportion to its live heap. The environment variable GOGC takes
// precedence.
func SetGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// RESTConfig returns the configuration of a kubeconfig or, if its path is empty, of the service account of the pod. The options that
// set the path are named by errors.
func RESTConfig(path, options string) (*rest.Config, error) {
	if path == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no kubeconfig is set (%s) and this is not a pod: %w", options, err)
		}
		return config, nil
	}
	raw, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}).Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s (%s): %w", path, options, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("kubeconfig %s (%s): it has no cluster", path, options)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s (%s): %w", path, options, err)
	}
	return config, nil
}
