// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// watching is a controller that sends what it finds of every ConfigMap.
func watching(found chan<- *corev1.ConfigMap) controller {
	return controller{name: "watching", add: func(_ context.Context, mgr ctrl.Manager, _ *v1alpha1.ControllersConfiguration) error {
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
	mgr, err := newManager(ctx, &rest.Config{Host: server.URL, UserAgent: "me/v1"}, config, listener, []controller{watching(found)})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		response, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}

	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	object := <-found
	if object.Name != "a" || len(object.ManagedFields) != 0 {
		t.Errorf("the cache has %+v", object.ObjectMeta)
	}
	if api.holder() == "" {
		t.Error("a controller works without the lease")
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != http.StatusOK || body != "ok" {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if _, body := get("/metrics"); !strings.Contains(body, `leader_election_master_status{name="groundskeeper-controller-manager"} 1`) {
		t.Errorf("the metrics do not tell the leader:\n%s", body)
	}

	t.Run("talks protobuf", func(t *testing.T) {
		if err := mgr.GetAPIReader().List(ctx, &gardenerv1beta1.ProjectList{}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/api/v1/configmaps", "/apis/core.gardener.cloud/v1beta1/projects"} {
			if accept := api.asked(path).Get("Accept"); !strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf") {
				t.Errorf("%s is asked for as %q", path, accept)
			}
		}
	})
	t.Run("says who it is", func(t *testing.T) {
		if agent := api.asked("/api/v1/configmaps").Get("User-Agent"); agent != "me/v1" {
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
		if api.asked("/api/v1/secrets") != nil {
			t.Error("secrets were listed")
		}
		if err := c.Update(ctx, secret, client.DisableReadYourWritesConsistency); err == nil || api.asked("/api/v1/namespaces/default/secrets/a") == nil {
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
			HolderIdentity:       new("somebody else"),
			LeaseDurationSeconds: new(int32(3600)),
			AcquireTime:          &metav1.MicroTime{Time: time.Now()},
			RenewTime:            &metav1.MicroTime{Time: time.Now()},
		},
	}
	listener, err := listen(t.Context(), v1alpha1.AddressConfiguration{BindAddress: "127.0.0.1", Port: new(int32(0))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	defer cancel()
	mgr, err := newManager(ctx, &rest.Config{Host: server.URL}, config, listener, []controller{watching(nil)})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	if err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		response, err := http.Get("http://" + listener.Addr().String() + "/readyz")
		if err != nil {
			return false, err
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	}); err != nil {
		t.Fatal(err)
	}
	if api.asked("/api/v1/configmaps") == nil {
		t.Error("it is ready without a list")
	}
	select {
	case <-mgr.Elected():
		t.Error("it took the lease of somebody else")
	default:
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if holder := api.holder(); holder != "somebody else" {
		t.Errorf("the lease is held by %q", holder)
	}
}
