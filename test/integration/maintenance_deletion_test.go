// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const soleManifest = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: alone}
spec:
  virtualhost: {fqdn: alone.example.com}
  routes:
  - conditions: [{prefix: /a}]
    services: [{name: us-web, port: 80, weight: 70}]
  - conditions: [{prefix: /b}]
    services: [{name: eu-web, port: 80, weight: 30}]
`

// deletedInMaintenance deletes one of two backends that are both in maintenance. Its references go from what users
// wanted, not from zeros; the other one stays drained, and comes back to what users wanted of it.
func (s *shop) deletedInMaintenance() {
	proxy, http, tcp := s.apply("user", proxyManifest), s.apply("user", httpRouteManifest), s.apply("user", tcpRouteManifest)
	alone := s.apply("user", soleManifest)
	udp := s.apply("user", strings.Replace(udpRouteManifest, ", {name: eu-web, port: 80}", "", 1))
	s.drain(s.us)
	s.drain(s.eu)
	if err := errors.Join(confirm(s.Context(), s.c, s.us), s.c.Delete(s.Context(), s.us)); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, func(ctx context.Context) error {
		us := &gimbalv1.DiscoveryBackend{}
		if err := s.c.Get(ctx, client.ObjectKeyFromObject(s.us), us); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the backend is still there: %w, %+v", err, us.Status.Conditions)
		}
		return nil
	})
	// The only services of an HTTPProxy that are left are drained: weights cannot report that.
	for route, want := range map[*unstructured.Unstructured]string{proxy: "[-][30]", http: "[0][0]", tcp: "[0]", alone: "[][30]", udp: "[0]"} {
		s.weights(route, want)
	}
	status, _, _ := unstructured.NestedSlice(s.read(alone).Object, "spec", "routes")
	if got := fmt.Sprint(status[0].(map[string]any)["directResponsePolicy"]); got != "map[statusCode:503]" {
		s.Errorf("a route without a service responds with %s", got)
	}
	s.enable(s.eu)
	for route, want := range map[*unstructured.Unstructured]string{proxy: "[-][30]", http: "[1][30]", tcp: "[1]", alone: "[][30]"} {
		s.weights(route, want)
	}
	// The fields are the user's again, and nothing owned by Groundskeeper is left.
	without := strings.NewReplacer("{name: us-web, port: 80}, ", "", "{name: us-web, port: 80, weight: 70}, ", "", "{name: us-web, port: 80, weight: 3}, ", "")
	for _, manifest := range []string{proxyManifest, httpRouteManifest, tcpRouteManifest} {
		before := s.read(s.parse(manifest))
		if _, saved := before.GetAnnotations()[gimbalv1.AnnotationSavedWeights]; saved {
			s.Errorf("%s keeps a record: %v", before.GetKind(), before.GetAnnotations())
		}
		s.apply("user", without.Replace(manifest))
		s.unchanged(before)
	}
}
