// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// server is an API server that no plane knows of.
type server struct {
	*child
	config *rest.Config
}

// standalone starts an API server without a host and waits until it is ready.
func standalone(t *testing.T, flags ...string) server {
	t.Helper()
	return standaloneWithEnv(t, nil, flags...)
}

// standaloneWithEnv is standalone with further environment variables, as name=value.
func standaloneWithEnv(t *testing.T, env []string, flags ...string) server {
	t.Helper()
	port := freePort(t)
	config := &rest.Config{Host: "https://127.0.0.1:" + port, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	return serveWithEnv(t, env, config, append(append(onLoopback(port), "--standalone", "--embedded-etcd-unsafe-no-fsync"), flags...)...)
}

// serve starts an API server and waits until it is ready.
func serve(t *testing.T, config *rest.Config, flags ...string) server {
	t.Helper()
	return serveWithEnv(t, nil, config, flags...)
}

func serveWithEnv(t *testing.T, env []string, config *rest.Config, flags ...string) server {
	t.Helper()
	s := server{startWithEnv(t, context.WithoutCancel(t.Context()), env, apiserver, flags...), config}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		select {
		case err := <-s.ended:
			t.Fatalf("the server ended: %v\n%s", err, strings.Join(s.stderr.lines(), "\n"))
		default:
		}
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	return s
}

// thirdReplica returns the flags of an API server beside those of the shared plane, on the same etcd, and how an
// administrator reaches it.
func thirdReplica(t *testing.T) (*rest.Config, []string) {
	t.Helper()
	port := freePort(t)
	config := shared.DirectConfig(0)
	config.Host = "https://127.0.0.1:" + port
	return config, append(onLoopback(port),
		"--tls-cert-file="+pki(shared, apiserver+".crt"), "--tls-private-key-file="+pki(shared, apiserver+".key"),
		"--kubeconfig="+kubeconfigOf(apiserver), "--etcd-servers="+shared.EtcdEndpoint(), "--etcd-cafile="+pki(shared, "etcd-ca.crt"),
		"--etcd-certfile="+pki(shared, "etcd-client.crt"), "--etcd-keyfile="+pki(shared, "etcd-client.key"), "--etcd-compaction-interval=0")
}
