// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/egressselector"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/traces"
)

// applyTraces makes spans of requests, and of their requests to etcd and to the kube-apiserver. The library's own way would call
// this server "apiserver", as the kube-apiserver calls itself, and leave out etcd and authorization. Without --tracing-config-file
// nothing changes.
func (o *Options) applyTraces(ctx context.Context, config *genericapiserver.RecommendedConfig) error {
	if o.Traces.ConfigFile == "" {
		return nil
	}
	tracingConfig, err := genericoptions.ReadTracingConfiguration(o.Traces.ConfigFile)
	if err != nil {
		return fmt.Errorf("--tracing-config-file: %w", err)
	}
	if errs := tracingapi.ValidateTracingConfiguration(tracingConfig, utilfeature.DefaultFeatureGate, nil); len(errs) > 0 {
		return fmt.Errorf("--tracing-config-file %q: %w", o.Traces.ConfigFile, errs.ToAggregate())
	}
	egress, err := egressToCollector(config.EgressSelector)
	if err != nil {
		return fmt.Errorf("--egress-selector-config-file: %w", err)
	}
	traces.LogTo(klog.Background().WithName("traces"))
	provider, err := traces.NewProvider(ctx, tracingConfig, traces.Service{Name: componentName, Instance: config.APIServerID}, egress...)
	if err != nil {
		return fmt.Errorf("--tracing-config-file %q: %w", o.Traces.ConfigFile, err)
	}
	config.TracerProvider = traces.Continuing(provider)
	o.Etcd.StorageConfig.Transport.TracerProvider = config.TracerProvider
	if o.Authentication != nil {
		o.Authentication.WithCustomRoundTripper(tracing.WrapperFor(config.TracerProvider))
	}
	if o.Authorization != nil {
		o.Authorization.WithCustomRoundTripper(tracing.WrapperFor(config.TracerProvider))
	}
	return nil
}

// egressToCollector is how the collector is reached in a cluster with an egress proxy.
func egressToCollector(selector *egressselector.EgressSelector) ([]otlptracegrpc.Option, error) {
	if selector == nil {
		return nil, nil
	}
	dial, err := selector.Lookup(egressselector.ControlPlane.AsNetworkContext())
	if err != nil || dial == nil {
		return nil, err
	}
	overTCP := func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }
	return []otlptracegrpc.Option{otlptracegrpc.WithDialOption(grpc.WithContextDialer(overTCP))}, nil
}

// continueTraces lets requests that come through the aggregator continue its trace, regardless of the user.
func (o *Options) continueTraces(config *genericapiserver.RecommendedConfig, isAggregator func(*http.Request) bool) {
	if o.Traces.ConfigFile == "" {
		return
	}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return traces.FromAggregator(build(handler, c), isAggregator)
	}
}

// InstallLog makes everything in the process log in the format of --logging-format. It is called once, before anything logs.
func (o *Options) InstallLog(out io.Writer) {
	o.LogFormat.Install(out)
	grpclog.SetLoggerV2(grpcLog{klog.Background().WithName("grpc")})
}

// grpcLog logs what gRPC, the client of etcd and of the collector, has to report. Left alone it writes lines in another format.
type grpcLog struct{ logger logr.Logger }

var _ grpclog.LoggerV2 = grpcLog{}

// log logs a message; in its usual state gRPC reports each connection.
func (l grpcLog) log(verbosity int, text string) {
	l.logger.V(verbosity).Info(strings.TrimSpace(text))
}

const (
	grpcInfo    = 6
	grpcWarning = 4
)

func (l grpcLog) Info(args ...any)                 { l.log(grpcInfo, fmt.Sprint(args...)) }
func (l grpcLog) Infoln(args ...any)               { l.log(grpcInfo, fmt.Sprintln(args...)) }
func (l grpcLog) Infof(format string, args ...any) { l.log(grpcInfo, fmt.Sprintf(format, args...)) }
func (l grpcLog) Warning(args ...any)              { l.log(grpcWarning, fmt.Sprint(args...)) }
func (l grpcLog) Warningln(args ...any)            { l.log(grpcWarning, fmt.Sprintln(args...)) }
func (l grpcLog) Warningf(format string, args ...any) {
	l.log(grpcWarning, fmt.Sprintf(format, args...))
}
func (l grpcLog) Error(args ...any)                 { l.logger.Error(nil, strings.TrimSpace(fmt.Sprint(args...))) }
func (l grpcLog) Errorln(args ...any)               { l.Error(fmt.Sprintln(args...)) }
func (l grpcLog) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }
func (l grpcLog) Fatal(args ...any)                 { l.Error(args...); os.Exit(1) }
func (l grpcLog) Fatalln(args ...any)               { l.Fatal(fmt.Sprintln(args...)) }
func (l grpcLog) Fatalf(format string, args ...any) { l.Fatal(fmt.Sprintf(format, args...)) }

// V reports whether gRPC should put together its messages of a verbosity.
func (l grpcLog) V(verbosity int) bool { return l.logger.V(grpcInfo + verbosity).Enabled() }
