// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// identified writes what discoverers report of the cluster of some backends: its identity.
func (s *shop) identified(cluster string, backends ...*gimbalv1.DiscoveryBackend) {
	s.Helper()
	for _, backend := range backends {
		status := gimbalapply.DiscoveryBackendStatus().
			WithIdentity(gimbalapply.ClusterIdentity().WithObject(clusterid.NamespaceSystem).WithID(cluster + "-of-" + s.namespace))
		applied := gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithStatus(status)
		if err := s.c.Status().Apply(s.Context(), applied, client.FieldOwner("groundskeeper-discoverer-identity"), client.ForceOwnership); err != nil {
			s.Fatal(err)
		}
	}
}

// unique waits until a backend has, or does not have, the condition ClusterUnique that names other backends.
func (s *shop) unique(backend *gimbalv1.DiscoveryBackend, others ...*gimbalv1.DiscoveryBackend) {
	s.Helper()
	s.reports(backend, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		c := meta.FindStatusCondition(status.Conditions, gimbalv1.ConditionClusterUnique)
		if len(others) == 0 {
			return c == nil
		}
		for _, other := range others {
			if c == nil || c.Reason != gimbalv1.ReasonSameCluster || !strings.Contains(c.Message, other.Namespace+"/"+other.Name) {
				return false
			}
		}
		return true
	})
}

// sameCluster drains one of two backends of one cluster, alone, in two routes that have no other one, and then both.
func (s *shop) sameCluster() {
	proxy, http := s.read(s.apply("user", proxyManifest)), s.read(s.apply("user", httpRouteManifest))
	s.identified("one", s.us, s.eu)
	s.unique(s.us, s.eu)
	s.unique(s.eu, s.us)
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		return status.Routes.WithoutAlternative != nil && status.Routes.WithoutAlternative.Count == 2
	})
	s.set(s.us, gimbalv1.ClusterMaintenance)
	s.is(s.us, "False/"+gimbalv1.ReasonSameCluster)
	if c := meta.FindStatusCondition(s.us.Status.Conditions, gimbalv1.ConditionDrained); !strings.Contains(c.Message, s.eu.Name) {
		s.Errorf("message of Drained = %q, want the name %s in it", c.Message, s.eu.Name)
	}
	// Nothing of the one moves to the other.
	s.unchanged(proxy)
	s.unchanged(http)
	s.drain(s.eu)
	s.is(s.us, "True/Drained")
	s.enable(s.us)
	s.enable(s.eu)
	s.unchanged(proxy)
	s.unchanged(http)
	s.identified("other", s.eu)
	s.unique(s.us)
	s.unique(s.eu)
}

// ownCluster has a backend that leads to the cluster of Groundskeeper.
func (s *shop) ownCluster() {
	system := &corev1.Namespace{}
	if err := s.c.Get(s.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		s.Fatal(err)
	}
	status := gimbalapply.DiscoveryBackendStatus().
		WithIdentity(gimbalapply.ClusterIdentity().WithObject(clusterid.NamespaceSystem).WithID(string(system.UID)))
	applied := gimbalapply.DiscoveryBackend(s.us.Name, s.us.Namespace).WithStatus(status)
	if err := s.c.Status().Apply(s.Context(), applied, client.FieldOwner("groundskeeper-discoverer-identity"), client.ForceOwnership); err != nil {
		s.Fatal(err)
	}
	s.reports(s.us, func(status *gimbalv1.DiscoveryBackendStatus) bool {
		c := meta.FindStatusCondition(status.Conditions, gimbalv1.ConditionClusterUnique)
		return c != nil && c.Reason == gimbalv1.ReasonSameCluster && strings.Contains(c.Message, "the cluster that this API server belongs to")
	})
	s.identified("another", s.us)
	s.unique(s.us)
}

const threeManifest = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: three}
spec:
  virtualhost: {fqdn: three.example.com}
  routes:
  - services: [{name: us-web, port: 80, weight: 40}, {name: eu-web, port: 80, weight: 40}, {name: asia-web, port: 80, weight: 20}]
`

// twoOfThree has two backends of one cluster and one of another, which alone takes what is drained, and keeps it when one of the
// two is deleted.
func (s *shop) twoOfThree() {
	asia := s.backend("gimbal-discovery", "asia")
	s.service(asia, "asia-web")
	s.identified("one", s.us, s.eu)
	s.identified("two", asia)
	three := s.read(s.apply("user", threeManifest))
	s.set(s.us, gimbalv1.ClusterMaintenance)
	s.weights(three, "[0 40 60]")
	s.is(s.us, "False/"+gimbalv1.ReasonSameCluster)
	s.drain(s.eu)
	s.weights(three, "[0 0 20]")
	s.is(s.us, "True/Drained")
	s.enable(s.eu)
	s.weights(three, "[0 40 60]")
	s.enable(s.us)
	s.unchanged(three)

	// The deletion of one of them leaves what users want of the others, drained or not.
	s.drain(asia)
	s.weights(three, "[40 40 0]")
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
	s.weights(three, "[40 0]")
	s.enable(asia)
	s.weights(three, "[40 20]")
	s.unique(s.eu)
}
