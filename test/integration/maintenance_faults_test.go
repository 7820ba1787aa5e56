// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// forcedBack returns the counter of weights that were removed again.
func (s *shop) forcedBack() float64 {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.Managers[0].Address()+"/metrics", http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "groundskeeper_maintenance_forced_weights_total "); found {
			count, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.Fatal(err)
			}
			return count
		}
	}
	s.Fatal("the manager does not count forced weights")
	return 0
}

// kindsComeAndGo: a kind of route is found when it is installed, discarded when it is removed, and found again.
func (s *shop) kindsComeAndGo() {
	route := s.read(s.apply("user", httpRouteManifest))
	s.apply("user", ingressRouteManifest)
	s.drain(s.us)
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		return status.Routes.Matching == 2 && status.Routes.Drained == 2
	})
	const definition = "testdata/crds/ingressroute.yaml"
	s.kubectl(s.T, "delete", "-f", definition)
	matching := func(want int32) {
		s.Helper()
		eventually(s.T, func(ctx context.Context) error {
			if err := s.c.Get(ctx, client.ObjectKeyFromObject(s.us), s.us); err != nil {
				return err
			}
			if got := s.us.Status.Routes; got.Matching != want || got.Drained != want {
				return fmt.Errorf("routes: %+v", got)
			}
			return nil
		})
	}
	s.edit(route, func(route *unstructured.Unstructured) { route.SetLabels(map[string]string{"a": "b"}) }) // an unrelated event
	matching(1)
	s.kubectl(s.T, "apply", "--server-side", "-f", definition)
	s.kubectl(s.T, "wait", "--for=condition=Established", "crd", "ingressroutes.contour.heptio.com")
	eventually(s.T, func(ctx context.Context) error {
		return s.c.Apply(ctx, client.ApplyConfigurationFromUnstructured(s.parse(ingressRouteManifest)), client.FieldOwner("user"))
	})
	old := s.parse(ingressRouteManifest)
	s.weights(old, "[0 1][0 30]")
	matching(2)
	s.enable(s.us)
	s.weights(old, "[- -][70 30]")
	s.weights(route, "[1 1][70 30]")
}

// killed: whatever the moment at which the controller manager dies, the next one finishes what it began.
func (s *shop) killed() {
	manifests := []string{proxyManifest, httpRouteManifest, ingressRouteManifest, tcpRouteManifest}
	var before []*unstructured.Unstructured
	for i := range 5 {
		for _, manifest := range manifests {
			before = append(before, s.read(s.apply("user", strings.Replace(manifest, "metadata: {name: ", fmt.Sprintf("metadata: {name: r%d-", i), 1))))
		}
	}
	for range rounds(s.T, 2) {
		s.killAfter(before, rand.IntN(10), gimbalv1.ClusterMaintenance) //nolint:gosec // any number will do
		s.is(s.us, "True/Drained")
		for _, route := range before {
			if got := weightsOf(s.read(route)); !strings.HasPrefix(got, "[0 ") {
				s.Errorf("%s %s: %s", route.GetKind(), route.GetName(), got)
			}
		}
		s.killAfter(before, rand.IntN(10), gimbalv1.ClusterEnabled) //nolint:gosec // any number will do
		s.is(s.us, "False/Enabled")
		for _, route := range before {
			s.unchanged(route)
		}
	}
}

// killAfter changes a backend, and kills the controller manager after that many more writes of HTTPRoutes and HTTPProxies.
func (s *shop) killAfter(routes []*unstructured.Unstructured, count int, status gimbalv1.ClusterStatus) {
	s.Helper()
	seen := make(chan watch.Event, 100)
	for _, route := range routes[:2] {
		list := listOf(route)
		if err := s.c.List(s.Context(), list, client.InNamespace(s.namespace)); err != nil {
			s.Fatal(err)
		}
		events, err := s.c.Watch(s.Context(), listOf(route), client.InNamespace(s.namespace), since(list.GetResourceVersion()))
		if err != nil {
			s.Fatal(err)
		}
		defer events.Stop()
		go func() {
			for event := range events.ResultChan() {
				seen <- event
			}
		}()
	}
	s.set(s.us, status)
	for range count + 1 {
		select {
		case <-seen:
		case <-time.After(time.Minute):
			s.Fatal("no more is written")
		}
	}
	if err := s.Managers[0].Kill(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := s.Managers[0].Start(s.Context()); err != nil {
		s.Fatal(err)
	}
}
