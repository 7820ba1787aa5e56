// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/traces"
)

// traceFlush is how long the end of the process waits until the last spans are sent.
const traceFlush = 5 * time.Second

// trace makes reconciles that are begun with the returned context, and the requests they send by restConfig, have
// spans. flush sends the last ones. Without a collector nothing changes.
func trace(
	ctx context.Context, restConfig *rest.Config, config v1alpha1.TracingConfiguration,
) (_ context.Context, flush func(), err error) {
	if config.Endpoint == "" {
		return ctx, func() {}, nil
	}
	logger := logr.FromContextOrDiscard(ctx)
	traces.LogTo(logger.WithName("traces"))
	hostname, _ := os.Hostname() // without one, replicas cannot be distinguished
	provider, err := traces.NewProvider(ctx, &tracingapi.TracingConfiguration{
		Endpoint: new(config.Endpoint), SamplingRatePerMillion: config.SamplingRatePerMillion,
	}, traces.Service{Name: Name, Instance: hostname})
	if err != nil {
		return nil, nil, err
	}
	restConfig.Wrap(instrument.Requests(tracing.WrapperFor(provider)))
	logger.Info("Sending traces", "collector", config.Endpoint, "samplingRatePerMillion", *config.SamplingRatePerMillion)
	return instrument.With(ctx, instrument.Spans(provider)), func() {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
		defer done()
		if err := provider.Shutdown(last); err != nil {
			logger.Error(err, "Failed to send the last spans")
		}
	}, nil
}
