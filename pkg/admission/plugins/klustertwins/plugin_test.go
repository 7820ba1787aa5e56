// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package klustertwins

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	clienttesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

type change = func(*kubernikusv1.Kluster)

// of returns a Kluster in the namespace shop that has a deorbiter, and a Secret with its name.
func of(name string, changes ...change) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Finalizers: []string{kubernikusv1.DeorbiterFinalizer}}}
	for _, change := range changes {
		change(k)
	}
	return k
}

func leadsTo(id string) change {
	return func(k *kubernikusv1.Kluster) { k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id} }
}

func secret(name string) change {
	return func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = name }
}

func elsewhere(k *kubernikusv1.Kluster) { k.Namespace = "bank" }

func going(k *kubernikusv1.Kluster) { k.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)} }

func released(k *kubernikusv1.Kluster) { going(k); k.Finalizers = []string{"foreign"} }

func detached(k *kubernikusv1.Kluster) {
	k.Annotations = map[string]string{kubernikusv1.DetachAnnotation: "true"}
}

func kubeconfig(name, key string) change {
	return func(k *kubernikusv1.Kluster) {
		k.Spec.SecretRef.Kubeconfig = &kubernikusv1.KubeconfigReference{Name: name, Key: key}
	}
}

func TestWarnings(t *testing.T) {
	labelled := func(k *kubernikusv1.Kluster) { k.Labels = map[string]string{"a": "b"} }
	version := func(k *kubernikusv1.Kluster) { k.Spec.Version = "1.35.0" }
	for name, c := range map[string]struct {
		others   []*kubernikusv1.Kluster
		now, old *kubernikusv1.Kluster // without now: a deletion of old
		// want are parts of the only warning; none: no warning.
		want []string
	}{
		"created, alone":                     {now: of("web")},
		"created, another Secret":            {others: []*kubernikusv1.Kluster{of("db")}, now: of("web")},
		"created, the same Secret":           {others: []*kubernikusv1.Kluster{of("db", secret("s"))}, now: of("web", secret("s")), want: []string{"Secret s is also that of Kluster shop/db:"}},
		"created, a Secret with that name":   {others: []*kubernikusv1.Kluster{of("db", secret("s"), elsewhere)}, now: of("web", secret("s"))},
		"created, another key of the Secret": {others: []*kubernikusv1.Kluster{of("db", kubeconfig("s", "a"))}, now: of("web", kubeconfig("s", "b"))},
		"created, the same kubeconfig":       {others: []*kubernikusv1.Kluster{of("db", kubeconfig("s", "a"))}, now: of("web", kubeconfig("s", "a")), want: []string{"shop/db"}},
		"created, the other was released":    {others: []*kubernikusv1.Kluster{of("db", secret("s"), released)}, now: of("web", secret("s"))},
		"updated, the same cluster": {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"), elsewhere)}, now: of("web", leadsTo("1"), version), old: of("web", leadsTo("1")),
			want: []string{"Kluster bank/db leads to the same cluster"}},
		"updated, the same cluster and Secret": {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"), secret("web-secret"))}, now: of("web", leadsTo("1"), version), old: of("web", leadsTo("1")),
			want: []string{"Kluster shop/db leads to the same cluster"}},
		"updated, another cluster": {others: []*kubernikusv1.Kluster{of("db", leadsTo("2"))}, now: of("web", leadsTo("1"), version), old: of("web", leadsTo("1"))},
		"updated, only labels":     {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"))}, now: of("web", leadsTo("1"), labelled), old: of("web", leadsTo("1"))},
		"deleted, alone":           {old: of("web", leadsTo("1"))},
		"deleted, the same cluster": {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"), elsewhere)}, old: of("web", leadsTo("1")),
			want: []string{"Kluster bank/db leads to the same cluster and is not being deleted", "To delete Kluster web only", "groundskeeper.io/detach=true"}},
		"deleted, the other one, too":     {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"), going)}, old: of("web", leadsTo("1"))},
		"deleted, another cluster":        {others: []*kubernikusv1.Kluster{of("db", leadsTo("2"))}, old: of("web", leadsTo("1"))},
		"deleted, unknown":                {others: []*kubernikusv1.Kluster{of("db")}, old: of("web")},
		"deleted, detached":               {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"))}, old: of("web", leadsTo("1"), detached)},
		"deleted, nothing to do":          {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"))}, old: of("web", leadsTo("1"), released)},
		"deleted, the other was detached": {others: []*kubernikusv1.Kluster{of("db", leadsTo("1"), detached)}, old: of("web", leadsTo("1")), want: []string{"shop/db"}},
		"deleted, many": {others: []*kubernikusv1.Kluster{of("e", leadsTo("1")), of("d", leadsTo("1")), of("c", leadsTo("1")), of("b", leadsTo("1"))}, old: of("web", leadsTo("1")),
			want: []string{"shop/b, shop/c, shop/d and 1 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{}
			for _, other := range c.others {
				objects = append(objects, other)
			}
			if c.old != nil {
				objects = append(objects, c.old)
			}
			got := warned(t, fake.NewClientset(objects...), c.now, c.old, "")
			if len(got) != min(len(c.want), 1) {
				t.Fatalf("warnings = %q, want %q", got, c.want)
			}
			for _, part := range c.want {
				if !strings.Contains(got[0], part) {
					t.Errorf("warning = %q, want %q in it", got[0], part)
				}
			}
		})
	}
}

// TestBackends checks which DiscoveryBackends a deletion warns of.
func TestBackends(t *testing.T) {
	type change = func(*gimbalv1.DiscoveryBackend)
	manual := func(changes ...change) *gimbalv1.DiscoveryBackend {
		b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal", Name: "manual"}}
		b.Cluster.ClusterStatus, b.Status.Identity = gimbalv1.ClusterEnabled, clusterid.OfUID("1")
		for _, change := range changes {
			change(b)
		}
		return b
	}
	made := func(uid string) change {
		return func(b *gimbalv1.DiscoveryBackend) { b.Labels = map[string]string{labelKluster: uid} }
	}
	for name, c := range map[string]struct {
		backend *gimbalv1.DiscoveryBackend
		kluster *kubernikusv1.Kluster
		warns   bool
	}{
		"of the same cluster":           {backend: manual(), kluster: of("web", leadsTo("1")), warns: true},
		"of another cluster":            {backend: manual(func(b *gimbalv1.DiscoveryBackend) { b.Status.Identity = clusterid.OfUID("2") }), kluster: of("web", leadsTo("1"))},
		"unknown":                       {backend: manual(), kluster: of("web")},
		"in maintenance":                {backend: manual(func(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance }), kluster: of("web", leadsTo("1"))},
		"being deleted":                 {backend: manual(func(b *gimbalv1.DiscoveryBackend) { b.DeletionTimestamp = new(metav1.Now()) }), kluster: of("web", leadsTo("1"))},
		"created for it":                {backend: manual(made("web-uid")), kluster: of("web", leadsTo("1"))},
		"created for another Kluster":   {backend: manual(made("old-uid")), kluster: of("web", leadsTo("1")), warns: true},
		"the Kluster is to be detached": {backend: manual(), kluster: of("web", leadsTo("1"), detached)},
	} {
		t.Run(name, func(t *testing.T) {
			c.kluster.UID = "web-uid"
			got := warned(t, fake.NewClientset(c.kluster, c.backend), nil, c.kluster, "")
			if len(got) > 0 != c.warns {
				t.Fatalf("warnings = %q, want one: %t", got, c.warns)
			}
			for _, part := range []string{"DiscoveryBackend gimbal/manual leads to the same cluster", "groundskeeper.io/detach=true"} {
				if c.warns && !strings.Contains(got[0], part) {
					t.Errorf("warning = %q, want %q in it", got[0], part)
				}
			}
		})
	}
}

// TestStatusOfAnyKluster checks that a write of the status reads nothing.
func TestStatusOfAnyKluster(t *testing.T) {
	client := fake.NewClientset(of("db", leadsTo("1")))
	if got := warned(t, client, of("web", leadsTo("1")), of("web"), "status"); len(got) > 0 || len(client.Actions()) > 0 {
		t.Errorf("warnings = %q, requests = %v, want none", got, client.Actions())
	}
}

// TestFailedRead checks that no request fails because of a warning.
func TestFailedRead(t *testing.T) {
	client := fake.NewClientset(of("db", leadsTo("1")))
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("failed") })
	if got := warned(t, client, nil, of("web", leadsTo("1")), ""); len(got) > 0 {
		t.Errorf("warnings = %q, want none", got)
	}
}

type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

// warned returns the warnings of a create, an update or a deletion.
func warned(t *testing.T, client *fake.Clientset, now, old *kubernikusv1.Kluster, subresource string) []string {
	t.Helper()
	p := New()
	p.SetClient(client)
	operation, either := admission.Create, now
	var object, before runtime.Object
	if now != nil {
		object = now
	}
	if old != nil {
		before, operation, either = old, admission.Update, old
	}
	if now == nil {
		operation = admission.Delete
	}
	attributes := admission.NewAttributesRecord(object, before, kubernikusv1.SchemeGroupVersion.WithKind("Kluster"), either.Namespace, either.Name,
		kubernikusv1.SchemeGroupVersion.WithResource("klusters"), subresource, operation, nil, false, nil)
	var got recorder
	if err := p.Validate(warning.WithWarningRecorder(context.Background(), &got), attributes, nil); err != nil {
		t.Fatal(err)
	}
	return got.texts
}
