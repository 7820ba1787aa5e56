// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package twins

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// backend returns a backend in the namespace shop that uses the Secret with its name, and that one route refers to.
func backend(name string, changes ...func(*gimbalv1.DiscoveryBackend)) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("backend-" + name)}}
	b.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: name, ClusterStatus: gimbalv1.ClusterEnabled}
	b.Status.Routes = &gimbalv1.RouteStatus{Matching: 1}
	for _, change := range changes {
		change(b)
	}
	return b
}

func secretOf(name string) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Secret = name }
}

func identity(uid string) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) { b.Status.Identity = clusterid.OfUID(uid) }
}

func maintenance(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance }

func inBank(b *gimbalv1.DiscoveryBackend) { b.Namespace = "bank" }

func openstack(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = gimbalv1.BackendOpenStack }

func unused(b *gimbalv1.DiscoveryBackend) { b.Status.Routes.Matching = 0 }

func TestBackends(t *testing.T) {
	alias := func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Secret, b.Cluster.Credentials = "", "usa" }
	labelled := func(b *gimbalv1.DiscoveryBackend) { b.Labels = map[string]string{"team": "shop"} }
	for name, tc := range map[string]struct {
		others   []*gimbalv1.DiscoveryBackend
		now, old *gimbalv1.DiscoveryBackend
		// want are parts of the warnings, in their order.
		want []string
	}{
		"created, no other":                        {now: backend("usa")},
		"created, with another Secret":             {others: []*gimbalv1.DiscoveryBackend{backend("eu")}, now: backend("usa")},
		"created, with the same Secret":            {others: []*gimbalv1.DiscoveryBackend{backend("eu", secretOf("usa"))}, now: backend("usa"), want: []string{"Secret usa is also that of DiscoveryBackend shop/eu"}},
		"created, with the same by the alias":      {others: []*gimbalv1.DiscoveryBackend{backend("eu", alias)}, now: backend("usa"), want: []string{"Secret usa is also"}},
		"a Secret of another namespace":            {others: []*gimbalv1.DiscoveryBackend{backend("eu", secretOf("usa"), inBank)}, now: backend("usa")},
		"one of another type":                      {others: []*gimbalv1.DiscoveryBackend{backend("eu", secretOf("usa"), openstack)}, now: backend("usa")},
		"another Secret is set":                    {others: []*gimbalv1.DiscoveryBackend{backend("eu")}, now: backend("usa", secretOf("eu")), old: backend("usa"), want: []string{"Secret eu is also"}},
		"the same cluster":                         {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("1"), inBank)}, now: backend("usa", identity("1"), maintenance), old: backend("usa", identity("1")), want: []string{"same cluster as DiscoveryBackend bank/eu"}},
		"the same cluster, only labels change":     {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("1"))}, now: backend("usa", identity("1"), labelled), old: backend("usa", identity("1"))},
		"another cluster":                          {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("2"))}, now: backend("usa", identity("1"), maintenance), old: backend("usa", identity("1"))},
		"maintenance, one is unknown":              {others: []*gimbalv1.DiscoveryBackend{backend("eu"), backend("ap", identity("2"))}, now: backend("usa", identity("1"), maintenance), old: backend("usa", identity("1")), want: []string{"unknown whether the backend leads to the same cluster as DiscoveryBackend shop/eu,"}},
		"maintenance, it is unknown itself":        {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("1"))}, now: backend("usa", maintenance), old: backend("usa"), want: []string{"unknown whether"}},
		"maintenance, the unknown one has no user": {others: []*gimbalv1.DiscoveryBackend{backend("eu", unused)}, now: backend("usa", maintenance), old: backend("usa")},
		"both in maintenance":                      {others: []*gimbalv1.DiscoveryBackend{backend("eu", maintenance)}, now: backend("usa", maintenance), old: backend("usa")},
		"it continues":                             {others: []*gimbalv1.DiscoveryBackend{backend("eu")}, now: backend("usa", maintenance, secretOf("other")), old: backend("usa", maintenance)},
		"many": {others: []*gimbalv1.DiscoveryBackend{backend("e", secretOf("usa")), backend("d", secretOf("usa")), backend("c", secretOf("usa")), backend("b", secretOf("usa")), backend("a", identity("1"))},
			now: backend("usa", identity("1")), want: []string{"DiscoveryBackend shop/b, shop/c, shop/d and 1 more", "same cluster as DiscoveryBackend shop/a:"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{}
			for _, other := range tc.others {
				objects = append(objects, other)
			}
			if tc.old != nil {
				objects = append(objects, tc.old)
			}
			check(t, warned(t, with(nil, objects...), OfBackends(), tc.now, tc.old, ""), tc.want)
		})
	}
}

// TestKlustersOfBackends checks which Klusters a change of a backend warns of.
func TestKlustersOfBackends(t *testing.T) {
	for name, tc := range map[string]struct {
		now     *gimbalv1.DiscoveryBackend
		kluster *kubernikusv1.Kluster
		want    []string
	}{
		"of the same cluster": {backend("usa", identity("1"), maintenance), kluster("web", leadsTo("1")), []string{"Kluster shop/web leads to the same cluster"}},
		"of another cluster":  {backend("usa", identity("1"), maintenance), kluster("web", leadsTo("2")), nil},
		"unknown":             {backend("usa", maintenance), kluster("web", leadsTo("1")), nil},
		"released":            {backend("usa", identity("1"), maintenance), kluster("web", leadsTo("1"), released), nil},
		"created for it":      {backend("web", identity("1"), maintenance, announcing("web", "kluster-web")), kluster("web", leadsTo("1")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			old := tc.now.DeepCopy()
			old.Cluster.ClusterStatus = gimbalv1.ClusterEnabled
			check(t, warned(t, with(tc.kluster, old), OfBackends(), tc.now, old, ""), tc.want)
		})
	}
}
