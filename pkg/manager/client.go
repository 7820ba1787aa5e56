// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// Name is the name of the binary.
const Name = "groundskeeper-controller-manager"

// restConfig reads the kubeconfig, or takes the service account of the pod.
func restConfig(connection v1alpha1.ClientConnectionConfiguration) (*rest.Config, error) {
	config, err := process.RESTConfig(connection.Kubeconfig, "--kubeconfig, clientConnection.kubeconfig")
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = *connection.QPS, int(*connection.Burst)
	config.UserAgent = version.UserAgent(Name)
	return config, nil
}

// waitForAPIs waits until the API server responds and serves the given group versions. It queries every interval and gives up after
// timeout, so that the supervisor of the process restarts it and the problem becomes visible. A server whose
// certificate is rejected is not waited for.
func waitForAPIs(ctx context.Context, config *rest.Config, apis []schema.GroupVersion, interval, timeout time.Duration) error {
	config = rest.CopyConfig(config)
	config.Timeout = 5 * time.Second // of one request, so that a silent server is noticed
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("API server %s: %w", config.Host, err)
	}
	var problem error
	err = wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(context.Context) (bool, error) {
		// Not the context of the wait: its end would hide what is wrong.
		now := probeAPIs(ctx, client.RESTClient(), apis)
		if now == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if problem == nil || problem.Error() != now.Error() {
			logr.FromContextOrDiscard(ctx).Info("Waiting for the API server", "server", config.Host, "err", now.Error())
		}
		problem = now
		if rejected := (*tls.CertificateVerificationError)(nil); errors.As(now, &rejected) {
			return false, now
		}
		return false, nil
	})
	switch {
	case err == nil:
		return nil
	case wait.Interrupted(err) && problem != nil:
		return fmt.Errorf("API server %s: %w (gave up after %s)", config.Host, problem, timeout)
	default:
		return fmt.Errorf("API server %s: %w", config.Host, err)
	}
}

// probeAPIs requests the version of the server and for each group version once.
func probeAPIs(ctx context.Context, client rest.Interface, apis []schema.GroupVersion) error {
	get := func(path string) error {
		err := client.Get().AbsPath(path).Do(ctx).Error()
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			return inner.Err // the server is named once, by the caller
		}
		return err
	}
	if err := get("/version"); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	for _, api := range apis {
		switch err := get("/apis/" + api.String()); {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s is not served: does its APIService exist?", api)
		case err != nil:
			return fmt.Errorf("%s: %w", api, err)
		}
	}
	return nil
}
