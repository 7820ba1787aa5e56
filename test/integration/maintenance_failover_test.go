// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// endpointIs changes whether the endpoint of a Service is ready, as its discoverer would.
func (s *shop) endpointIs(service string, ready bool) {
	s.Helper()
	slice := &discoveryv1.EndpointSlice{}
	if err := s.c.Get(s.Context(), types.NamespacedName{Namespace: s.namespace, Name: service + "-0"}, slice); err != nil {
		s.Fatal(err)
	}
	slice.Endpoints[0].Conditions.Ready, slice.Endpoints[0].Conditions.Serving = &ready, &ready
	if err := s.c.Update(s.Context(), slice); err != nil {
		s.Fatal(err)
	}
}

// failsOver: routes that send requests to a Service without a ready endpoint are reported. If the backend requests it, the requests go to the other
// one and return, but not those of a route that has no other.
func (s *shop) failsOver() {
	proxy, http := s.read(s.apply("user", proxyManifest)), s.read(s.apply("user", httpRouteManifest))
	sole := s.read(s.apply("user", soleProxyManifest))
	failing := func(routes int32, over bool) {
		s.Helper()
		s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
			without := status.Routes != nil && status.Routes.WithoutEndpoints != nil
			return without == (routes > 0) && (!without || status.Routes.WithoutEndpoints.Count == routes) &&
				over == slices.ContainsFunc(status.Errors, func(e gimbalv1.DiscoveryError) bool { return e.Type == gimbalv1.ErrorServiceFailedOver })
		})
	}
	s.endpointIs("us-web", false)
	failing(3, false)
	s.unchanged(proxy)
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"cluster":{"maintenance":{"services":{"automatic":true,"unreadyPeriod":"1s","stablePeriod":"1s"}}}}`))
	if err := s.c.Patch(s.Context(), s.us, patch); err != nil {
		s.Fatal(err)
	}
	s.weights(proxy, "[0 1][0 30]")
	s.weights(http, "[0 1][0 30]")
	failing(1, true)
	s.unchanged(sole)
	s.is(s.us, "False/Enabled")
	s.endpointIs("us-web", true)
	s.unchanged(proxy)
	s.unchanged(http)
	failing(0, false)
}
