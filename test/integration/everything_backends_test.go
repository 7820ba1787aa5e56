// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// backends drains and restores backends that routes of several kinds refer to. Each route has to be byte for byte what it was.
func (l *life) backends() {
	s := (&drainPlane{Plane: l.Plane, c: l.c}).newShop(l.T)
	l.ledger.protect("no user deleted the backend", s.us, s.eu)
	var before []*unstructured.Unstructured
	for i := range 3 {
		for _, manifest := range []string{proxyManifest, httpRouteManifest, grpcRouteManifest, tcpRouteManifest} {
			route := s.read(s.apply("user", strings.Replace(manifest, "metadata: {name: ", fmt.Sprintf("metadata: {name: r%d-", i), 1)))
			before = append(before, route)
			l.ledger.protect("no user deleted the route", route)
		}
	}
	for _, name := range []string{"us-web", "eu-web"} {
		service := &corev1.Service{}
		if err := l.c.Get(l.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, service); err != nil {
			l.Fatal(err)
		}
		l.ledger.protect("its backend was not deleted", service)
	}
	drains := 0
	for l.proceed(time.Duration(l.random.IntN(500)) * time.Millisecond) {
		backend, drained := s.us, "[0 "
		if l.random.IntN(2) == 0 {
			backend, drained = s.eu, " 0]"
		}
		for range l.random.IntN(3) { // at times it changes faster than the controllers can follow
			l.set(backend, gimbalv1.ClusterMaintenance)
			l.set(backend, gimbalv1.ClusterEnabled)
		}
		l.set(backend, gimbalv1.ClusterMaintenance)
		l.reaches(backend, "True/Drained")
		patiently(l.T, func(context.Context) error {
			for _, route := range before {
				if got := weightsOf(s.read(route)); !strings.Contains(got, drained) {
					return fmt.Errorf("%s %s: %s", route.GetKind(), route.GetName(), got)
				}
			}
			return nil
		})
		drains++
		if l.random.IntN(4) == 0 {
			l.removed(s)
		}
		l.set(backend, gimbalv1.ClusterEnabled)
		l.reaches(backend, "False/Enabled")
		for _, route := range before {
			want := shape(l.T, route)
			patiently(l.T, func(context.Context) error {
				if got := shape(l.T, s.read(route)); got != want {
					return errors.New("before:\n" + want + "\nafter:\n" + got)
				}
				return nil
			})
		}
	}
	l.Logf("%d drains of %d routes were reverted byte for byte", drains, len(before))
}

// removed creates a backend under the same name as earlier ones, with a Service that a route refers to, and deletes it while another
// backend is in maintenance. What the route does not owe to the deleted backend stays.
func (l *life) removed(s *shop) {
	backend := s.backend("gimbal-discovery", "tmp")
	s.service(backend, "tmp-web")
	replaced := strings.NewReplacer("us-web", "tmp-web", "name: http", "name: temporary").Replace(httpRouteManifest)
	route := s.read(s.apply("user", replaced))
	l.ledger.protect("no user deleted the route", route)
	if err := errors.Join(confirm(l.Context(), l.c, backend), l.c.Delete(l.Context(), backend)); err != nil {
		l.Fatal(err)
	}
	patiently(l.T, func(ctx context.Context) error { return confirmDeleted(ctx, l.c, backend) })
	l.ledger.release(route)
	service := &corev1.Service{}
	service.Namespace, service.Name = s.namespace, "tmp-web"
	slice := sliceOf(s.namespace, "tmp-web-0")
	for _, object := range []client.Object{route, service, slice} {
		if err := client.IgnoreNotFound(l.c.Delete(l.Context(), object)); err != nil {
			l.Fatal(err)
		}
		patiently(l.T, func(ctx context.Context) error {
			if err := l.c.Get(ctx, client.ObjectKeyFromObject(object), copyOf(object)); err == nil {
				return fmt.Errorf("%T %s is still there", object, object.GetName())
			}
			return nil
		})
	}
}

func (l *life) set(backend *gimbalv1.DiscoveryBackend, status gimbalv1.ClusterStatus) {
	patch := fmt.Appendf(nil, `{"cluster":{"clusterStatus":%q}}`, status)
	patiently(l.T, func(ctx context.Context) error {
		return l.c.Patch(ctx, backend, client.RawPatch(types.MergePatchType, patch))
	})
}

// reaches waits until the condition Drained of a backend, at present, is Status/Reason.
func (l *life) reaches(backend *gimbalv1.DiscoveryBackend, want string) {
	patiently(l.T, func(ctx context.Context) error {
		if err := l.c.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
			return err
		}
		c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
		if c == nil || c.ObservedGeneration != backend.Generation || string(c.Status)+"/"+c.Reason != want {
			return fmt.Errorf("DiscoveryBackend %s, generation %d, is not %s: %+v", backend.Name, backend.Generation, want, backend.Status)
		}
		return nil
	})
}
