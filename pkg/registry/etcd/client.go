// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/tracing"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

const (
	dialTimeout = 20 * time.Second
	// A member of etcd that is frozen, or whose network drops packets, is noticed after the sum of both, and its requests wait until
	// then. With the 40 seconds of the library's own storage factory, clients would have given up: many wait for 30. gRPC allows no
	// shorter time.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
)

// connectTimeout bounds the request that determines why there is no connection.
const connectTimeout = 5 * time.Second

// logger is what all clients log to. Their default, which they create without it, counts messages in half a MiB of memory.
var logger = sync.OnceValues(func() (*zap.Logger, error) { return logutil.CreateDefaultZapLogger(clientv3.ClientLogLevel()) })

// NewClient connects to etcd as the library's storage factory does (k8s.io/apiserver
// pkg/storage/storagebackend/factory), with a shorter keepalive: TLS files, metrics, tracing, egress. It waits until
// the connection stands, 20 s at most; the error names the servers and the last reason they gave.
// The caller closes the client.
func NewClient(ctx context.Context, config storagebackend.TransportConfig) (*kubernetes.Client, error) {
	if len(config.ServerList) == 0 {
		return nil, errors.New("no etcd servers are set (--etcd-servers)")
	}
	tlsInfo := transport.TLSInfo{CertFile: config.CertFile, KeyFile: config.KeyFile, TrustedCAFile: config.TrustedCAFile}
	options, err := dialOptions(config)
	if err != nil {
		return nil, err
	}
	log, err := logger()
	if err != nil {
		return nil, fmt.Errorf("the log of etcd's clients: %w", err)
	}
	clientConfig := clientv3.Config{
		Logger:               log,
		Endpoints:            config.ServerList,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepaliveTime,
		DialKeepAliveTimeout: keepaliveTimeout,
		DialOptions:          options,
	}
	if config.CertFile != "" || config.KeyFile != "" || config.TrustedCAFile != "" {
		if clientConfig.TLS, err = tlsInfo.ClientConfig(); err != nil {
			return nil, fmt.Errorf("etcd certificates (--etcd-cafile, --etcd-certfile, --etcd-keyfile): %w", err)
		}
	}
	client, err := kubernetes.New(clientConfig)
	if err != nil {
		return nil, fmt.Errorf("etcd %s: %w", strings.Join(config.ServerList, ","), err)
	}
	if err := waitReady(ctx, client); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("etcd %s (--etcd-servers) cannot be reached: %w", strings.Join(config.ServerList, ","), connectError(clientConfig, err))
	}
	return client, nil
}

func dialOptions(config storagebackend.TransportConfig) ([]grpc.DialOption, error) {
	metrics, err := clientMetrics(legacyregistry.Registerer())
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		// Chained, so that they come after the retrying interceptors of the client and see each attempt.
		grpc.WithChainUnaryInterceptor(metrics.UnaryClientInterceptor()),
		grpc.WithChainStreamInterceptor(metrics.StreamClientInterceptor()),
	}
	if traced(config.TracerProvider) { // without, all that it did would be work
		options = append(options, grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithMessageEvents(otelgrpc.ReceivedEvents, otelgrpc.SentEvents),
			otelgrpc.WithPropagators(tracing.Propagators()),
			otelgrpc.WithTracerProvider(config.TracerProvider),
		)))
	}
	if config.EgressLookup == nil {
		return options, nil
	}
	dial, err := config.EgressLookup(egressselector.Etcd.AsNetworkContext())
	if err != nil {
		return nil, fmt.Errorf("egress to etcd (--egress-selector-config-file): %w", err)
	}
	if dial == nil {
		return options, nil
	}
	return append(options, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			address = u.Host
		}
		return dial(ctx, "tcp", address)
	})), nil
}

// traced reports whether spans may be collected. The library's options have a provider that makes none by default.
func traced(provider trace.TracerProvider) bool {
	if provider == nil {
		return false
	}
	_, none := provider.(noop.TracerProvider)
	return !none
}

// clientMetrics returns the metrics of etcd's clients: those of the library, which registers its own
// when it is linked into the program, or else new ones.
func clientMetrics(registry prometheus.Registerer) (*grpcprom.ClientMetrics, error) {
	metrics, err := telemetry.Register(registry, grpcprom.NewClientMetrics())
	if err != nil {
		return nil, fmt.Errorf("etcd client: %w", err)
	}
	return metrics, nil
}

// waitReady waits until the connection stands.
func waitReady(ctx context.Context, client *kubernetes.Client) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connection := client.ActiveConnection()
	for {
		state := connection.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if state == connectivity.Idle {
			connection.Connect()
		}
		if !connection.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}

// connectError returns why a connection did not come to stand: a rejected port, a certificate that does not match. The connection itself
// does not report it; the single attempt of a request does.
func connectError(config clientv3.Config, otherwise error) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	config.MaxUnaryRetries, config.Logger = 1, zap.NewNop()
	client, err := clientv3.New(config)
	if err != nil {
		return otherwise
	}
	defer func() { _ = client.Close() }()
	// Not through the client's own methods, which wait for the connection.
	_, err = pb.NewKVClient(client.ActiveConnection()).Range(ctx, &pb.RangeRequest{Key: []byte("health"), KeysOnly: true})
	if status.Code(err) != codes.Unavailable {
		return otherwise
	}
	return errors.New(status.Convert(err).Message())
}
