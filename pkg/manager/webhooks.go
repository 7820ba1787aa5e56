// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	"groundskeeper.io/groundskeeper/pkg/admission/webhooks/kubeconfigsecrets"
	"groundskeeper.io/groundskeeper/pkg/admission/webhooks/namespacedeletion"
	"groundskeeper.io/groundskeeper/pkg/admission/webhooks/resourcesize"
	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/certificates"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/extension"
)

// webhooksName is what controllers.enabled calls the server of the admission webhooks.
const webhooksName = "webhooks"

// servingCertificate is what readiness waits for before webhooks are served.
const servingCertificate = "the certificate of the webhooks"

// webhookStop is how long the server waits at its end for reviews that it has begun.
const webhookStop = 10 * time.Second

// webhookServer serves the admission webhooks, on every replica and from the first moment: unlike a controller it needs
// neither the lease nor a cache.
type webhookServer struct {
	listener    net.Listener
	handler     http.Handler
	certificate certificate
}

// newWebhookServer opens the port and builds the webhooks; what is wrong with the configuration shows here. Hooks is served next to them,
// unless it is nil.
func newWebhookServer(
	ctx context.Context, restConfig *rest.Config, config v1alpha1.WebhooksConfiguration, allowProxy bool, hooks http.Handler,
) (*webhookServer, error) {
	certificate, err := newCertificate(restConfig, config.Certificates)
	if err != nil {
		return nil, fmt.Errorf("server.webhooks.certificates: %w", err)
	}
	if err := certificates.NewExpiry("webhooks", certificate.GetCertificate).Register(metrics.Registry); err != nil {
		return nil, err
	}
	reviewers, err := newReviewers(restConfig, config, allowProxy)
	if err != nil {
		return nil, fmt.Errorf("server.webhooks: %w", err)
	}
	decisions, err := webhooks.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	handler, err := webhooks.Handler(reviewers, decisions, logr.FromContextOrDiscard(ctx))
	if err != nil {
		return nil, err
	}
	if hooks != nil {
		mux := http.NewServeMux()
		mux.Handle("/", handler)
		mux.Handle(extension.Prefix, hooks)
		handler = mux
	}
	listener, err := listen(ctx, config.AddressConfiguration)
	if err != nil {
		return nil, fmt.Errorf("server.webhooks: %w", err)
	}
	return &webhookServer{listener, handler, certificate}, nil
}

// newReviewers returns the webhooks by the last part of their paths. They read live, by connections that they share.
func newReviewers(restConfig *rest.Config, config v1alpha1.WebhooksConfiguration, allowProxy bool) (map[string]webhooks.Reviewer, error) {
	client, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		return nil, err
	}
	contents, err := namespacedeletion.NewContents(restConfig, client)
	if err != nil {
		return nil, err
	}
	users, err := kubeconfigsecrets.NewUsers(restConfig, client)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfigAndClient(restConfig, client)
	if err != nil {
		return nil, err
	}
	return map[string]webhooks.Reviewer{
		namespacedeletion.Name: namespacedeletion.New(contents),
		kubeconfigsecrets.Name: kubeconfigsecrets.New(users, allowProxy),
		resourcesize.Name:      resourcesize.New(config.ResourceSize, objects),
	}, nil
}

// serve serves until the returned function is called, which lets reviews that have begun end.
func (s *webhookServer) serve(ctx context.Context, ready *readiness) (stop func()) {
	logger := logr.FromContextOrDiscard(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server := &http.Server{
		Handler:           s.handler,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate.GetCertificate},
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 90 * time.Second,
		MaxHeaderBytes: 64 << 10,
	}
	ready.begin(servingCertificate)
	var group sync.WaitGroup
	group.Go(func() { s.certificate.run(ctx, func() { ready.end(servingCertificate) }) })
	group.Go(func() {
		if err := server.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Failed to serve webhooks", "address", s.listener.Addr().String())
		}
	})
	return func() {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), webhookStop)
		defer done()
		if err := server.Shutdown(last); err != nil {
			_ = server.Close() // clients with open requests are cut off
		}
		cancel()
		group.Wait()
	}
}
