// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	discovererlease "groundskeeper.io/groundskeeper/pkg/discoverer/lease"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// discovererReports writes what the discoverer of a backend reports: whether the backend has responded for an hour, or not.
func (s *shop) discovererReports(backend *gimbalv1.DiscoveryBackend, responds bool) {
	s.Helper()
	now := metav1.Now().Rfc3339Copy()
	value, status := metav1.ConditionTrue, gimbalapply.DiscoveryBackendStatus().WithServices(1)
	if !responds {
		value = metav1.ConditionFalse
		status.WithErrors(gimbalapply.DiscoveryError().WithType(gimbalv1.ErrorConnection).WithMessage("the backend rejects connections").WithStatusTime(now))
	}
	status.WithConditions(metaapply.Condition().WithType(gimbalv1.ConditionReachable).WithStatus(value).WithReason("Reported").WithMessage("").
		WithLastTransitionTime(metav1.NewTime(now.Add(-time.Hour))))
	applied := gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithStatus(status)
	if err := s.c.Status().Apply(s.Context(), applied, client.FieldOwner(discoverer), client.ForceOwnership); err != nil {
		s.Fatal(err)
	}
}

// automatically enables automatic maintenance of a backend.
func (s *shop) automatically(backend *gimbalv1.DiscoveryBackend) {
	s.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"cluster":{"maintenance":{"automatic":true,"unreachablePeriod":"1s","stablePeriod":"1s"}}}`))
	if err := s.c.Patch(s.Context(), backend, patch); err != nil {
		s.Fatal(err)
	}
}

// automatic waits until the condition AutomaticMaintenance of a backend has a status and a reason.
func (s *shop) automatic(backend *gimbalv1.DiscoveryBackend, want string) {
	s.Helper()
	s.reports(backend, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		c := meta.FindStatusCondition(status.Conditions, gimbalv1.ConditionAutomaticMaintenance)
		return c != nil && string(c.Status)+"/"+c.Reason == want
	})
}

// discovererRuns renews the Lease of a backend, as its discoverer does, until the test ends.
func (s *shop) discovererRuns(backend *gimbalv1.DiscoveryBackend) {
	s.Helper()
	held := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: discovererlease.Name(backend.Name)}}
	held.Spec.HolderIdentity = new("by-hand")
	s.create(held)
	ticker := time.NewTicker(time.Second)
	s.Cleanup(ticker.Stop)
	ctx := s.Context()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
				_ = s.c.Patch(ctx, held.DeepCopy(), client.RawPatch(types.MergePatchType, patch)) // one that fails is repeated
			}
		}
	}()
}

// unreachable: a backend that is not reachable loses its traffic, but not that of routes without another backend; a second one keeps
// its traffic. The owner's decision wins, and the traffic comes back.
func (s *shop) unreachable() {
	proxy, sole := s.read(s.apply("user", proxyManifest)), s.read(s.apply("user", soleRouteManifest))
	s.automatically(s.us)
	s.automatically(s.eu)
	s.automatic(s.us, "Unknown/ReachabilityUnknown")
	s.discovererRuns(s.us)
	s.discovererReports(s.us, false)
	s.automatic(s.us, "False/Held") // whether the other one serves is unknown
	s.discovererReports(s.us, true)
	s.automatic(s.us, "False/Reachable")
	s.identified("one", s.us, s.eu)
	s.unique(s.us, s.eu)
	s.discovererReports(s.eu, true)
	s.automatic(s.eu, "Unknown/ReachabilityUnknown") // no discoverer runs that could have reported it
	s.discovererRuns(s.eu)
	s.automatic(s.eu, "False/Reachable")
	s.discovererReports(s.us, false)
	s.automatic(s.us, "False/Held") // the other one is the same cluster
	s.identified("other", s.eu)
	s.automatic(s.us, "True/Unreachable")
	s.weights(proxy, "[0 1][0 30]")
	s.is(s.us, "True/Drained")
	s.unchanged(sole)
	s.discovererReports(s.eu, false)
	s.automatic(s.eu, "False/Held")

	s.drain(s.us) // by its owner: Strict
	s.weights(sole, "[0]")
	s.enable(s.us)
	s.unchanged(sole)
	s.discovererReports(s.us, true)
	s.discovererReports(s.eu, true)
	s.automatic(s.us, "False/Reachable")
	s.unchanged(proxy)
	s.is(s.us, "False/Enabled")
}
