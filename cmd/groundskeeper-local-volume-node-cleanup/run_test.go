// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// reviewer responds to access reviews.
func reviewer(t *testing.T, allowed func(*authorizationv1.ResourceAttributes) bool) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return errors.New("it only reviews permissions")
			}
			review.Status.Allowed = allowed(review.Spec.ResourceAttributes)
			return nil
		},
	})
}

func TestPermissions(t *testing.T) {
	without := func(resource string, verbs ...string) func(*authorizationv1.ResourceAttributes) bool {
		return func(a *authorizationv1.ResourceAttributes) bool {
			return a.Resource != resource || len(verbs) > 0 && !strings.Contains(strings.Join(verbs, " "), a.Verb)
		}
	}
	for name, test := range map[string]struct {
		allowed func(*authorizationv1.ResourceAttributes) bool
		change  func(*options)
		want    permissions
		fails   string
	}{
		"everything":                       {without("nothing"), nil, permissions{leases: true, record: true, cleaners: true, namespaces: true}, ""},
		"no leases":                        {without("leases"), nil, permissions{record: true, cleaners: true, namespaces: true}, ""},
		"leases are not wanted":            {without("nothing"), func(o *options) { o.leaderElect = false }, permissions{record: true, cleaners: true, namespaces: true}, ""},
		"leases cannot be updated":         {without("leases", "update"), nil, permissions{record: true, cleaners: true, namespaces: true}, ""},
		"no config maps":                   {without("configmaps"), nil, permissions{leases: true, namespaces: true}, ""},
		"config maps only to read":         {without("configmaps", "patch", "create"), nil, permissions{leases: true, namespaces: true}, ""},
		"no namespaces":                    {without("namespaces"), nil, permissions{leases: true, record: true, cleaners: true}, ""},
		"no nodes":                         {without("nodes"), nil, permissions{}, "the permission to list nodes is missing"},
		"nodes cannot be watched":          {without("nodes", "watch"), nil, permissions{}, "the permission to watch nodes is missing"},
		"volumes cannot be deleted":        {without("persistentvolumes", "delete"), nil, permissions{}, "the permission to delete persistentvolumes is missing"},
		"no claims":                        {without("persistentvolumeclaims"), nil, permissions{}, "the permission to list persistentvolumeclaims is missing"},
		"no pods":                          {without("pods"), nil, permissions{leases: true, record: true, cleaners: true, namespaces: true}, ""},
		"no patch":                         {without("persistentvolumes", "patch"), nil, permissions{leases: true, record: true, cleaners: true, namespaces: true}, ""},
		"no patch, but to release volumes": {without("persistentvolumes", "patch"), func(o *options) { *o.volumes.ReleaseCSIVolumes = true }, permissions{}, "the permission to patch persistentvolumes is missing"},
		"no pods, but to be deleted":       {without("pods"), func(o *options) { *o.volumes.DeletePendingPods = true }, permissions{}, "the permission to delete pods is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOptions()
			if test.change != nil {
				test.change(o)
			}
			got, err := findPermissions(t.Context(), reviewer(t, test.allowed), o)
			if got != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestServe(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready := &readiness{}
	stop := process.Serve(logr.Discard(), listener, process.Mux("/m", metrics.Registry, process.Readyz(ready.check)))
	get := func(path string) (int, string) {
		t.Helper()
		response, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	expect := func(path string, code int, contains string) {
		t.Helper()
		if got, body := get(path); got != code || !strings.Contains(body, contains) {
			t.Errorf("%s: %d %s", path, got, body)
		}
	}
	expect("/healthz", http.StatusOK, "ok")
	expect("/readyz", http.StatusServiceUnavailable, "waiting for the API server")
	site := &localvolume.Site{Inventory: localvolume.NewInventory(newOptions().config().Controllers.LocalVolume, clock.RealClock{})}
	ready.knows(site)
	expect("/readyz", http.StatusServiceUnavailable, "waiting for the caches")
	site.Inventory.MarkSynced()
	expect("/readyz", http.StatusOK, "ok")
	ready.knows(nil) // nothing to watch
	expect("/readyz", http.StatusOK, "ok")
	expect("/m", http.StatusOK, "go_goroutines")
	expect("/metrics", http.StatusNotFound, "")
	stop()
	if connection, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Errorf("it still serves: %v", connection.Close())
	}
}
