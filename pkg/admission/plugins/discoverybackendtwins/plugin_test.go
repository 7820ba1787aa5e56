// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackendtwins

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

type change = func(*gimbalv1.DiscoveryBackend)

// backend returns a backend in the namespace shop that uses the Secret with its name, and that one route refers to.
func backend(name string, changes ...change) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	b.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: name, ClusterStatus: gimbalv1.ClusterEnabled}
	b.Status.Routes = &gimbalv1.RouteStatus{Matching: 1}
	for _, change := range changes {
		change(b)
	}
	return b
}

func secret(name string) change {
	return func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Secret = name }
}

func identity(uid string) change {
	return func(b *gimbalv1.DiscoveryBackend) { b.Status.Identity = clusterid.OfUID(uid) }
}

func maintenance(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance }

func elsewhere(b *gimbalv1.DiscoveryBackend) { b.Namespace = "bank" }

func openstack(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = gimbalv1.BackendOpenStack }

func unused(b *gimbalv1.DiscoveryBackend) { b.Status.Routes.Matching = 0 }

func TestWarnings(t *testing.T) {
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
		"created, with the same Secret":            {others: []*gimbalv1.DiscoveryBackend{backend("eu", secret("usa"))}, now: backend("usa"), want: []string{"Secret usa is also that of DiscoveryBackend shop/eu"}},
		"created, with the same by the alias":      {others: []*gimbalv1.DiscoveryBackend{backend("eu", alias)}, now: backend("usa"), want: []string{"Secret usa is also"}},
		"a Secret of another namespace":            {others: []*gimbalv1.DiscoveryBackend{backend("eu", secret("usa"), elsewhere)}, now: backend("usa")},
		"one of another type":                      {others: []*gimbalv1.DiscoveryBackend{backend("eu", secret("usa"), openstack)}, now: backend("usa")},
		"another Secret is set":                    {others: []*gimbalv1.DiscoveryBackend{backend("eu")}, now: backend("usa", secret("eu")), old: backend("usa"), want: []string{"Secret eu is also"}},
		"the same cluster":                         {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("1"), elsewhere)}, now: backend("usa", identity("1"), maintenance), old: backend("usa", identity("1")), want: []string{"same cluster as DiscoveryBackend bank/eu"}},
		"the same cluster, only labels change":     {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("1"))}, now: backend("usa", identity("1"), labelled), old: backend("usa", identity("1"))},
		"another cluster":                          {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("2"))}, now: backend("usa", identity("1"), maintenance), old: backend("usa", identity("1"))},
		"maintenance, one is unknown":              {others: []*gimbalv1.DiscoveryBackend{backend("eu"), backend("ap", identity("2"))}, now: backend("usa", identity("1"), maintenance), old: backend("usa", identity("1")), want: []string{"unknown whether the backend leads to the same cluster as DiscoveryBackend shop/eu,"}},
		"maintenance, it is unknown itself":        {others: []*gimbalv1.DiscoveryBackend{backend("eu", identity("1"))}, now: backend("usa", maintenance), old: backend("usa"), want: []string{"unknown whether"}},
		"maintenance, the unknown one has no user": {others: []*gimbalv1.DiscoveryBackend{backend("eu", unused)}, now: backend("usa", maintenance), old: backend("usa")},
		"both in maintenance":                      {others: []*gimbalv1.DiscoveryBackend{backend("eu", maintenance)}, now: backend("usa", maintenance), old: backend("usa")},
		"it continues":                             {others: []*gimbalv1.DiscoveryBackend{backend("eu")}, now: backend("usa", maintenance, secret("other")), old: backend("usa", maintenance)},
		"many": {others: []*gimbalv1.DiscoveryBackend{backend("e", secret("usa")), backend("d", secret("usa")), backend("c", secret("usa")), backend("b", secret("usa")), backend("a", identity("1"))},
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
			got := warned(t, serving(t, objects...), tc.now, tc.old, "")
			if len(got) != len(tc.want) {
				t.Fatalf("warnings = %q, want %d", got, len(tc.want))
			}
			for i, part := range tc.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("warning = %q, want %q in it", got[i], part)
				}
			}
		})
	}
}

// TestOtherRequests checks that nothing is read for other resources, and for the status.
func TestOtherRequests(t *testing.T) {
	p := serving(t, backend("eu", secret("usa")))
	if got := warned(t, p, backend("usa"), nil, "status"); len(got) > 0 {
		t.Errorf("warnings about a status = %q, want none", got)
	}
	pods := admission.NewAttributesRecord(nil, nil, gimbalv1.SchemeGroupVersion.WithKind("Pod"), "shop", "", gimbalv1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, nil, false, nil)
	if err := p.Validate(t.Context(), pods, nil); err != nil {
		t.Errorf("another resource: error = %v, want none", err)
	}
}

// TestNotSynced checks that no request waits for the index, and none is rejected.
func TestNotSynced(t *testing.T) {
	if got := warned(t, New(), backend("usa"), nil, ""); len(got) > 0 {
		t.Errorf("warnings = %q, want none", got)
	}
}

// serving returns the plugin of a server with these backends.
func serving(t *testing.T, backends ...runtime.Object) *Plugin {
	t.Helper()
	p := New()
	p.SetClient(fake.NewClientset(backends...))
	p.SetDrainedNotification(t.Context().Done())
	if err := p.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	if err := p.Known(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// recorder records warnings.
type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

// warned returns the warnings of a request that creates a backend, or updates an old one. Dry-run makes no difference.
func warned(t *testing.T, p *Plugin, now, old *gimbalv1.DiscoveryBackend, subresource string) []string {
	t.Helper()
	operation, before := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, before = admission.Update, old
	}
	var first []string
	for i, dryRun := range []bool{false, true} {
		r := &recorder{}
		ctx := warning.WithWarningRecorder(context.WithoutCancel(t.Context()), r)
		gv := gimbalv1.SchemeGroupVersion
		a := admission.NewAttributesRecord(now, before, gv.WithKind("DiscoveryBackend"), now.Namespace, now.Name, gv.WithResource("discoverybackends"), subresource, operation, nil, dryRun, nil)
		if err := p.Validate(ctx, a, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = r.texts
		} else if !slices.Equal(first, r.texts) {
			t.Errorf("warnings of a dry run = %q, want %q", r.texts, first)
		}
	}
	return first
}
