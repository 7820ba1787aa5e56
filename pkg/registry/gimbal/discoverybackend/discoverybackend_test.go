// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackend

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// The library's steps around these rules are tested with those of all kinds.
func TestRules(t *testing.T) {
	good := func() *gimbalv1.DiscoveryBackend {
		b := backend("us-east")
		b.ResourceVersion = "1"
		b.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "us-east"}
		gimbalv1.Normalize(b)
		return b
	}
	if Kind().PrepareForCreate != nil || Kind().PrepareForUpdate != nil {
		t.Error("the server decides something of a backend")
	}
	long := good()
	long.Name = "a-name-of-more-than-forty-characters-is-too-long"
	moved := good()
	moved.Cluster.Type = gimbalv1.BackendOpenStack
	unreasoned := good()
	unreasoned.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Status: metav1.ConditionTrue}}
	for name, tc := range map[string]struct{ accepted, rejection int }{
		"creation":         {len(Kind().Validate(good())), len(Kind().Validate(long))},
		"update":           {len(Kind().ValidateUpdate(good(), good())), len(Kind().ValidateUpdate(moved, good()))},
		"update of status": {len(Kind().ValidateStatusUpdate(good(), good())), len(Kind().ValidateStatusUpdate(unreasoned, good()))},
	} {
		if tc.accepted != 0 || tc.rejection == 0 {
			t.Errorf("%s: %d mistakes in a good backend, %d in a bad one", name, tc.accepted, tc.rejection)
		}
	}
}

func backend(name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "gimbal-discovery"}}
}

func TestClaimedName(t *testing.T) {
	elsewhere := backend("us-east")
	elsewhere.Namespace = "other"
	for name, tc := range map[string]struct {
		object runtime.Object
		want   string
	}{
		"its name":                       {backend("us-east"), "us-east"},
		"the same in another namespace":  {elsewhere, "us-east"},
		"nothing before it has a name":   {&gimbalv1.DiscoveryBackend{}, ""},
		"nothing, being of another kind": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "us-east"}}, ""},
		"nothing, being a list":          {&gimbalv1.DiscoveryBackendList{}, ""},
	} {
		if got := ClaimRule().Name(tc.object); got != tc.want {
			t.Errorf("%s: claims %q, want %q", name, got, tc.want)
		}
	}
}

// Services are called <backend>-<service>.
func TestClaimSeparator(t *testing.T) {
	if got := ClaimRule().Separator; got != "-" {
		t.Errorf("separator %q: stored claims end with a dash", got)
	}
}

func TestReservationRejected(t *testing.T) {
	const start = `discoverybackends.gimbal.heptio.com "us-east" is forbidden: metadata.name: `
	for held, want := range map[string]string{
		"us-east":   start + `a DiscoveryBackend "us-east" exists in another namespace: choose a name that no other one has`,
		"us":        start + `DiscoveryBackend "us" exists, and services of the two could have the same name: choose a name that neither starts with "us-" nor is a prefix of it`,
		"us-east-1": start + `DiscoveryBackend "us-east-1" exists, and services of the two could have the same name: choose a name that neither starts with "us-east-1-" nor is a prefix of it`,
	} {
		if err := ClaimRule().Rejection(backend("us-east"), held); !apierrors.IsForbidden(err) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if err := ClaimRule().Rejection(&corev1.Pod{}, "us"); !apierrors.IsInternalError(err) {
		t.Errorf("another kind: got %v, want an internal error", err)
	}
}

// A user that begins maintenance, or changes its policy, is warned of the routes that have no other backend.
func TestMaintenanceWarnings(t *testing.T) {
	cluster := func(status gimbalv1.ClusterStatus, policy gimbalv1.DrainPolicy) gimbalv1.Cluster {
		return gimbalv1.Cluster{ClusterStatus: status, DrainPolicy: policy}
	}
	enabled := cluster(gimbalv1.ClusterEnabled, gimbalv1.DrainStrict)
	strict := cluster(gimbalv1.ClusterMaintenance, gimbalv1.DrainStrict)
	keepSole := cluster(gimbalv1.ClusterMaintenance, gimbalv1.DrainKeepSole)
	routes := func(count int32, names ...string) *gimbalv1.RouteStatus {
		return &gimbalv1.RouteStatus{Matching: 9, WithoutAlternative: &gimbalv1.RouteNames{Names: names, Count: count}}
	}
	one := routes(1, "HTTPProxy shop/web")
	const ofStrict = "with drainPolicy Strict, maintenance leaves no backend for the requests of 1 route that has no other backend: HTTPProxy shop/web"
	const ofKeepSole = "with drainPolicy KeepSole, maintenance leaves the traffic of 1 route that has no other backend: HTTPProxy shop/web"
	for name, tc := range map[string]struct {
		before, after gimbalv1.Cluster
		routes        *gimbalv1.RouteStatus
		want          []string
	}{
		"begins":                  {enabled, strict, one, []string{ofStrict}},
		"begins and keeps":        {enabled, keepSole, one, []string{ofKeepSole}},
		"changes the policy":      {keepSole, strict, one, []string{ofStrict}},
		"continues":               {strict, strict, one, nil},
		"ends":                    {strict, enabled, one, nil},
		"changes it when enabled": {cluster(gimbalv1.ClusterEnabled, gimbalv1.DrainKeepSole), enabled, one, nil},
		"every route has another": {enabled, strict, &gimbalv1.RouteStatus{Matching: 9}, nil},
		"the routes are unknown":  {enabled, strict, nil, nil},
		"an empty list":           {enabled, strict, routes(0), nil},
		"more than are named": {enabled, strict, routes(5, "HTTPProxy shop/web", "Ingress shop/old"), []string{
			"with drainPolicy Strict, maintenance leaves no backend for the requests of 5 routes that have no other backend: " +
				"HTTPProxy shop/web, Ingress shop/old and 3 more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			old, b := backend("us-east"), backend("us-east")
			old.Cluster, b.Cluster, b.Status.Routes = tc.before, tc.after, tc.routes
			if diff := cmp.Diff(tc.want, maintenanceWarnings(b, old)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
