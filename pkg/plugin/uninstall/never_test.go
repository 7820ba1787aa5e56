// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

var installedAt = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func bornAt(at time.Time) func(*metav1.ObjectMeta) {
	return func(m *metav1.ObjectMeta) { m.CreationTimestamp = metav1.NewTime(at) }
}

// TestServedBefore checks that an installation is removed without a check of its objects only if there is no evidence of any.
func TestServedBefore(t *testing.T) {
	const nothing = ""
	for name, test := range map[string]struct {
		objects []runtime.Object
		// without leaves out the namespace of the installation.
		without bool
		change  func(*registration)
		want    string
	}{
		"never":           {want: nothing},
		"recorded store":  {objects: []runtime.Object{labelled("v1", "ConfigMap", SystemNamespace, storeName)}, want: "ConfigMap groundskeeper-system/groundskeeper-store records its store"},
		"other ConfigMap": {objects: []runtime.Object{labelled("v1", "ConfigMap", "shop", storeName)}, want: nothing},
		"no namespace":    {without: true, want: "namespace groundskeeper-system does not exist"},
		"namespace being deleted": {without: true, objects: []runtime.Object{labelled("v1", "Namespace", "", SystemNamespace, bornAt(installedAt), func(m *metav1.ObjectMeta) {
			m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{"kubernetes"}
		})}, want: "is being deleted"},
		"namespace made again": {change: func(r *registration) { r.created = metav1.NewTime(installedAt.Add(-time.Hour)) }, want: "is older than namespace groundskeeper-system"},
		"one available":        {change: func(r *registration) { r.unavailable = "" }, want: "APIService v1.midonet.org is available"},
		"namespace of a Project without its label": {objects: []runtime.Object{labelled("v1", "Namespace", "", "garden-shop", func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{gardenerv1beta1.AnnotationProjectUID: "1"}
		})}, want: "namespace garden-shop belongs to a Project"},
		"object of a Project":        {objects: []runtime.Object{labelled("v1", "ResourceQuota", "garden-shop", "quota", owned("core.gardener.cloud/v1beta1", "Project"))}, want: "resourcequotas garden-shop/quota belongs"},
		"object of a former kind":    {objects: []runtime.Object{labelled("coordination.k8s.io/v1", "Lease", "shop", "lease", owned("kubernikus.sap.cc/v1", "Kluster"))}, want: "leases shop/lease belongs"},
		"object of another owner":    {objects: []runtime.Object{labelled("apps/v1", "Deployment", "shop", "web", owned("example.com/v1", "App"))}, want: nothing},
		"role of a Project":          {objects: []runtime.Object{projectRole()}, want: "clusterroles role belongs"},
		"Secret of a Kluster":        {objects: []runtime.Object{labelled("v1", "Secret", "shop", "web", func(m *metav1.ObjectMeta) { m.Finalizers = []string{kubernikusv1.SecretInUseFinalizer} })}, want: "Secret shop/web is used by a Kluster"},
		"Secret of the installation": {objects: []runtime.Object{labelled("v1", "Secret", SystemNamespace, "groundskeeper-apiserver-tls")}, want: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			objects := test.objects
			if !test.without {
				objects = append(objects, labelled("v1", "Namespace", "", SystemNamespace, bornAt(installedAt)))
			}
			u, _ := inCluster(t, nil, objects...)
			r := registration{name: "v1.midonet.org", group: midonetv1.GroupName, unavailable: "no endpoints", created: metav1.NewTime(installedAt)}
			if test.change != nil {
				test.change(&r)
			}
			got, err := u.servedBefore(t.Context(), []registration{r})
			if err != nil || got != test.want && (test.want == nothing || !strings.Contains(got, test.want)) {
				t.Errorf("evidence = %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func projectRole() runtime.Object {
	role := labelled("rbac.authorization.k8s.io/v1", "ClusterRole", "", "role", func(m *metav1.ObjectMeta) {
		m.Annotations = map[string]string{gardenerv1beta1.AnnotationCreatedForProject: "shop"}
	})
	role.Labels[gardenerv1beta1.LabelProjectName] = "shop"
	return role
}

// TestServedBeforeFails checks that a failed read is no evidence that there are no objects.
func TestServedBeforeFails(t *testing.T) {
	rejected := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	for _, request := range []string{"get namespaces", "get configmaps", "list namespaces", "list leases", "list clusterroles", "list secrets"} {
		u, metadata := inCluster(t, nil, labelled("v1", "Namespace", "", SystemNamespace, bornAt(installedAt)))
		verb, resource, _ := strings.Cut(request, " ")
		metadata.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, rejected })
		if got, err := u.servedBefore(t.Context(), nil); !apierrors.IsForbidden(err) {
			t.Errorf("%s is denied: evidence = %q, error = %v, want the denial", request, got, err)
		}
	}
}

func TestPlanOfInstallationThatNeverServed(t *testing.T) {
	f := &Found{
		Registrations: []string{"apiservices v1.midonet.org"}, Served: groups(), Unavailable: []string{"v1.midonet.org: no endpoints"}, NeverServed: true,
		Parts: []string{"deployments groundskeeper-system/groundskeeper-apiserver"}, Namespaces: []string{SystemNamespace},
	}
	p := NewPlan(f, defaults)
	if len(p.Blockers) > 0 || !strings.Contains(p.String(), "the API was never served") {
		t.Errorf("plan = %s, want none blocked", p)
	}
	f.NeverServed, f.ServedBefore = false, "ConfigMap a/b records its store"
	if p := NewPlan(f, defaults); len(p.Blockers) != 2 || !strings.Contains(p.Blockers[1], f.ServedBefore) {
		t.Errorf("blockers = %q, want the evidence", p.Blockers)
	}
}

// TestStepsWithoutObjects checks that workloads are deleted before the last check, and registrations after it.
func TestStepsWithoutObjects(t *testing.T) {
	u := &Uninstaller{Options: defaults}
	var got []string
	for _, s := range u.steps(&Found{Served: groups(), NeverServed: true}) {
		if !s.skip {
			got = append(got, s.what)
		}
	}
	check := "check that the API was never served"
	if want := []string{check, "confirm the removal of the API server", "remove what runs", check, "remove what is registered", "remove the namespaces of the installation"}; !slices.Equal(got, want) {
		t.Errorf("steps = %q, want %q", got, want)
	}
}

// TestConfirmRemoval checks that the namespace has the confirmation that the policy groundskeeper-removal requires, and loses it when it
// is kept.
func TestConfirmRemoval(t *testing.T) {
	u := &Uninstaller{Client: fake.NewClientBuilder().WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}}).Build()}
	for _, step := range []struct {
		name string
		do   func(context.Context) (string, error)
		want string
	}{{"confirm", u.confirmRemoval, "true"}, {"confirm again", u.confirmRemoval, "true"}, {"withdraw", u.withdrawConfirmation, ""}, {"withdraw again", u.withdrawConfirmation, ""}} {
		if _, err := step.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		namespace := &corev1.Namespace{}
		if err := u.Client.Get(t.Context(), client.ObjectKey{Name: SystemNamespace}, namespace); err != nil {
			t.Fatal(err)
		}
		if got := namespace.Annotations[gardenerv1beta1.AnnotationConfirmDeletion]; got != step.want {
			t.Errorf("%s: annotation = %q, want %q", step.name, got, step.want)
		}
	}
	u.Client = fake.NewClientBuilder().Build()
	for name, do := range map[string]func(context.Context) (string, error){"confirm": u.confirmRemoval, "withdraw": u.withdrawConfirmation} {
		if _, err := do(t.Context()); err != nil {
			t.Errorf("%s without a namespace: %v", name, err)
		}
	}
}
