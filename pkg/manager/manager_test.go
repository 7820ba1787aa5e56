// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// watching returns a controller that sends what it finds of every ConfigMap.
func watching(found chan<- *corev1.ConfigMap) controller {
	return controller{name: "watching", add: func(mgr ctrl.Manager, _ *v1alpha1.ControllersConfiguration) error {
		return ctrl.NewControllerManagedBy(mgr).Named("watching").For(&corev1.ConfigMap{}).
			Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
				object := &corev1.ConfigMap{}
				if err := mgr.GetClient().Get(ctx, request.NamespacedName, object); err != nil {
					return reconcile.Result{}, err
				}
				found <- object
				return reconcile.Result{}, nil
			}))
	}}
}

// get returns the status and the body of a page.
func get(t *testing.T, page string) (int, string) {
	t.Helper()
	response, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestManager runs a manager through its life: standby, leader, stopped.
func TestManager(t *testing.T) {
	logger := logr.Discard()
	ctrl.SetLogger(logger)
	api, handler := newFakeAPI(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	config.Server.Health = v1alpha1.AddressConfiguration{BindAddress: "127.0.0.1", Port: new(int32(0))}
	listener, err := listen(t.Context(), config.Server.Health)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logger))
	defer cancel()
	found := make(chan *corev1.ConfigMap, 1)
	ready, fence := &readiness{}, newFence(config.LeaderElection)
	mgr, err := newManager(ctx, &rest.Config{Host: server.URL, UserAgent: "me/v1"}, config, fence, []controller{watching(found)}, ready)
	if err != nil {
		t.Fatal(err)
	}
	stopHealth := process.Serve(logger, listener, healthHandler(ready, metrics.Registry, nil))
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	object := <-found
	if object.Name != "a" || len(object.ManagedFields) != 0 {
		t.Errorf("the cache has %+v", object.ObjectMeta)
	}
	if api.holder() == "" {
		t.Error("a controller works without the lease")
	}
	if err := fence.Check(); err != nil {
		t.Errorf("the leader may not write: %v", err)
	}
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return api.headersOf("/api/v1/namespaces/groundskeeper-system/events") != nil, nil
	}); err != nil {
		t.Errorf("no event reports who leads: %v", err)
	}
	if hostname, err := os.Hostname(); err != nil || !strings.HasPrefix(api.holder(), hostname+"_") {
		t.Errorf("the lease is held by %q: it does not name the host", api.holder())
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(t, "http://"+listener.Addr().String()+path); code != http.StatusOK || body != "ok" {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if _, body := get(t, "http://"+listener.Addr().String()+"/metrics"); !strings.Contains(body, `leader_election_master_status{name="groundskeeper-controller-manager"} 1`) {
		t.Errorf("the metrics do not report the leader:\n%s", body)
	}

	t.Run("talks protobuf", func(t *testing.T) {
		if err := mgr.GetAPIReader().List(ctx, &gardenerv1beta1.ProjectList{}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/api/v1/configmaps", "/apis/core.gardener.cloud/v1beta1/projects"} {
			if accept := api.headersOf(path).Get("Accept"); !strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf") {
				t.Errorf("%s is requested as %q", path, accept)
			}
		}
	})
	t.Run("reports who it is", func(t *testing.T) {
		if agent := api.headersOf("/api/v1/configmaps").Get("User-Agent"); agent != "me/v1" {
			t.Errorf("got %q", agent)
		}
	})
	t.Run("caches only what is watched", func(t *testing.T) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		c := mgr.GetClient()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // it would wait for a cache that cannot be filled
		defer cancel()
		for name, err := range map[string]error{
			"get":    c.Get(ctx, client.ObjectKeyFromObject(secret), secret),
			"list":   c.List(ctx, &corev1.SecretList{}),
			"update": c.Update(ctx, secret),
		} {
			if missing := (*cache.ErrResourceNotCached)(nil); !errors.As(err, &missing) || !strings.Contains(err.Error(), "no controller watches it") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if api.headersOf("/api/v1/secrets") != nil {
			t.Error("secrets were listed")
		}
		if err := c.Update(ctx, secret, client.DisableReadYourWritesConsistency); err == nil || api.headersOf("/api/v1/namespaces/default/secrets/a") == nil {
			t.Errorf("a write without a read did not reach the server: %v", err)
		}
	})

	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if holder := api.holder(); holder != "" {
		t.Errorf("%s still holds the lease", holder)
	}
	if err := fence.Check(); err == nil {
		t.Error("who gave up the lease may still write")
	}
	stopHealth()
	if connection, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Errorf("the health server is still there: %v", connection.Close())
	}
}

// A replica that is not the leader fills its caches and is ready.
func TestManagerStandby(t *testing.T) {
	api, handler := newFakeAPI(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	api.lease = &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: config.LeaderElection.ResourceName, Namespace: config.LeaderElection.ResourceNamespace, ResourceVersion: "1"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       new("another client"),
			LeaseDurationSeconds: new(int32(3600)),
			AcquireTime:          &metav1.MicroTime{Time: time.Now()},
			RenewTime:            &metav1.MicroTime{Time: time.Now()},
		},
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	defer cancel()
	ready, fence := &readiness{}, newFence(config.LeaderElection)
	mgr, err := newManager(ctx, &rest.Config{Host: server.URL}, config, fence, []controller{watching(nil)}, ready)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	if err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return ready.check() == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if api.headersOf("/api/v1/configmaps") == nil {
		t.Error("it is ready without a list")
	}
	select {
	case <-mgr.Elected():
		t.Error("it took the lease of another client")
	default:
	}
	if err := fence.Check(); err == nil {
		t.Error("a replica that waits may write")
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if holder := api.holder(); holder != "another client" {
		t.Errorf("the lease is held by %q", holder)
	}
}

// addressLog sends the health address that run logs.
type addressLog chan string

func (a addressLog) Write(line []byte) (int, error) {
	var fields struct{ Health string }
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, err
	}
	if fields.Health != "" {
		a <- fields.Health
	}
	return len(line), nil
}

// startRun runs controllers against a server and returns where its health is served, and its end.
func startRun(ctx context.Context, t *testing.T, server string, controllers ...controller) (health string, stopped <-chan error) {
	t.Helper()
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	config.ClientConnection.Kubeconfig = write(t, "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: \""+server+"\"}}]}")
	config.Server.Health = v1alpha1.AddressConfiguration{BindAddress: "127.0.0.1", Port: new(int32(0))}
	config.Controllers.Enabled = []string{"*", "-broken"}
	addresses, end := make(addressLog, 1), make(chan error, 1)
	go func() {
		end <- run(ctx, config, newLogger(addresses, v1alpha1.LogConfiguration{Level: v1alpha1.LogLevelInfo}, 0), newFence(config.LeaderElection), controllers)
	}()
	return "http://" + <-addresses, end
}

func TestRun(t *testing.T) {
	_, handler := newFakeAPI(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	found := make(chan *corev1.ConfigMap, 1)
	needy := watching(found)
	needy.apis = []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion}
	health, stopped := startRun(ctx, t, server.URL, needy, controller{name: "broken"})
	<-found
	if code, body := get(t, health+"/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestRunWaits checks that a manager that waits for the API server is live, is not ready, and exits on request.
func TestRunWaits(t *testing.T) {
	headersOf := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status(w, http.StatusServiceUnavailable)
		headersOf <- struct{}{}
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	health, stopped := startRun(ctx, t, server.URL)
	<-headersOf
	if code, body := get(t, health+"/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := get(t, health+"/readyz"); code != http.StatusServiceUnavailable || body != "waiting for the API server\n" {
		t.Errorf("readyz: %d %s", code, body)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestRunNamesTheProblem(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	address, ok := taken.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%T", taken.Addr())
	}
	config.Server.Health = v1alpha1.AddressConfiguration{BindAddress: "127.0.0.1", Port: new(int32(address.Port))}
	config.ClientConnection.Kubeconfig = write(t, "{clusters: [{name: a, cluster: {server: \"http://127.0.0.1:1\"}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}")
	err = run(t.Context(), config, logr.Discard(), nil, nil)
	if want := "server.health: listen tcp " + address.String() + ": bind: address already in use"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
