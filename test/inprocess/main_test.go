// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package inprocess tests the API server inside the test process: two servers on one embedded etcd, without a
// kube-apiserver. What crosses the aggregator is tested in test/integration.
package inprocess

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/apiserver"
	"groundskeeper.io/groundskeeper/pkg/apiserver/embeddedetcd"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	typedv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// servers are the two API servers, and the etcd and the encryption configuration they share.
var (
	endpoint   string
	encryption string
	servers    [2]*rest.Config
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "inprocess")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	database, err := embeddedetcd.Start(ctx, embeddedetcd.Config{Dir: filepath.Join(dir, "data"), UnsafeNoFsync: true})
	if err != nil {
		return 0, err
	}
	defer database.Stop()
	endpoint = database.Endpoint()
	encryption = filepath.Join(dir, "encryption.yaml")
	if err := os.WriteFile(encryption, []byte(encryptionConfiguration), 0o600); err != nil {
		return 0, err
	}
	var ended [2]chan error
	for i := range servers {
		if servers[i], ended[i], err = serve(ctx); err != nil {
			return 0, err
		}
	}
	code := m.Run()
	stop()
	for i := range ended {
		if err := <-ended[i]; err != nil {
			return 0, fmt.Errorf("server %d: %w", i, err)
		}
	}
	return code, nil
}

// encryptionConfiguration encrypts Klusters at rest, so that every test of them passes through it.
const encryptionConfiguration = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [klusters.kubernikus.sap.cc, discoverybackends.gimbal.heptio.com]
  providers:
  - aesgcm: {keys: [{name: test, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
  - identity: {}
`

// serve starts a server on a free port of loopback and waits until it is ready.
func serve(ctx context.Context) (*rest.Config, chan error, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	o := apiserver.NewOptions()
	o.Standalone = true
	o.Etcd.StorageConfig.Transport.ServerList = []string{endpoint}
	o.Etcd.StorageConfig.CompactionInterval = 0 // the history is evidence
	o.Etcd.EncryptionProviderConfigFilepath = encryption
	o.SecureServing.Listener, o.SecureServing.BindPort = listener, listener.Addr().(*net.TCPAddr).Port
	if err := o.ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, nil, err
	}
	o.Complete()
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- apiserver.Run(ctx, o) }()
	config := &rest.Config{Host: "https://" + listener.Addr().String(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the server ended: %w", err)
		default:
		}
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	return config, ended, err
}

// anotherServer starts a server on the etcd of the others, until the returned function stops it.
func anotherServer(t *testing.T) (*rest.Config, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	config, ended, err := serve(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	return config, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	}
}

// client returns a typed client of one of the two servers.
func client(t *testing.T, server int, contentType string) *versioned.Clientset {
	t.Helper()
	config := rest.CopyConfig(servers[server])
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	c, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rounds is how often a random test repeats: SOAK, by default 10.
func rounds(t *testing.T) int {
	t.Helper()
	return soaktest.Rounds(t, 10)
}

const (
	asJSON     = runtime.ContentTypeJSON
	asProtobuf = runtime.ContentTypeProtobuf
)

// name makes a name that no other test uses.
func name(t *testing.T, prefix string) string {
	t.Helper()
	return prefix + strconv.FormatInt(time.Now().UnixNano()%1e10, 36)
}

// remove deletes a Project the way that every server allows: with the confirmation. A standalone one requests none.
func remove(t *testing.T, projects typedv1beta1.ProjectInterface, objectName string) {
	t.Helper()
	confirmation := []byte(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`)
	if _, err := projects.Patch(t.Context(), objectName, types.MergePatchType, confirmation, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := projects.Delete(t.Context(), objectName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func created(objectName string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: objectName} }
