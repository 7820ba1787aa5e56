// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fakediscovery "k8s.io/client-go/discovery/fake"
	fakemetadata "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// labelled returns the metadata of an object of an installation.
func labelled(version, kind, namespace, name string, change ...func(*metav1.ObjectMeta)) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}, ObjectMeta: named(namespace, name, change...)}
	m.Labels = map[string]string{partOf: product}
	return m
}

func owned(version, kind string) func(*metav1.ObjectMeta) {
	return func(m *metav1.ObjectMeta) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "owner", UID: "owner", Controller: new(true)}}
	}
}

// inCluster returns an uninstaller that sees the metadata of objects, with these resources, as "group/version resource".
func inCluster(t *testing.T, resources []string, objects ...runtime.Object) (*Uninstaller, *fakemetadata.FakeMetadataClient) {
	t.Helper()
	s := fakemetadata.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		t.Fatal(err)
	}
	metadata := fakemetadata.NewSimpleMetadataClient(s, objects...)
	kinds := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
	for _, line := range resources {
		version, resource, _ := strings.Cut(line, " ")
		kinds.Resources = append(kinds.Resources, &metav1.APIResourceList{GroupVersion: version,
			APIResources: []metav1.APIResource{{Name: resource, Verbs: metav1.Verbs{"list", "delete"}}}})
	}
	return &Uninstaller{Options: defaults, Metadata: metadata, Discovery: &preferred{FakeDiscovery: kinds}, Show: func(string) {}, poll: time.Second}, metadata
}

// preferred returns all resources, which the fake does not, and with errors, one after the other.
type preferred struct {
	*fakediscovery.FakeDiscovery
	errs []error
}

func (p *preferred) ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error) {
	if len(p.errs) > 0 {
		err := p.errs[0]
		p.errs = p.errs[1:]
		return p.Resources, err
	}
	return p.Resources, ctx.Err()
}

// Everything with the label is deleted, workloads before their permissions, except namespaces, claims, and objects with another
// owner.
func TestParts(t *testing.T) { synctest.Test(t, testParts) }

func testParts(t *testing.T) {
	u, metadata := inCluster(t, []string{"rbac.authorization.k8s.io/v1 clusterrolebindings", "rbac.authorization.k8s.io/v1 clusterroles", "v1 services", "apps/v1 deployments",
		"v1 namespaces", "v1 persistentvolumeclaims", "v1 pods", "v1 endpoints", "admissionregistration.k8s.io/v1 validatingwebhookconfigurations", "midonet.org/v1 translations"},
		labelled("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "binding"), labelled("rbac.authorization.k8s.io/v1", "ClusterRole", "", "role"),
		labelled("v1", "Service", SystemNamespace, "service"), labelled("apps/v1", "Deployment", SystemNamespace, "deployment"),
		labelled("v1", "Namespace", "", SystemNamespace), labelled("v1", "PersistentVolumeClaim", SystemNamespace, "claim"),
		labelled("v1", "Pod", SystemNamespace, "pod", owned("apps/v1", "ReplicaSet")), labelled("v1", "Endpoints", SystemNamespace, "service"),
		labelled("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "elsewhere"),
		&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: named("shop", "theirs")},
	)
	parts, _, err := u.parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"deployments groundskeeper-system/deployment", "services groundskeeper-system/service", "clusterroles role", "clusterrolebindings binding"}
	var got []string
	for _, p := range parts {
		got = append(got, p.String())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if _, err := u.deleteParts(t.Context()); err != nil {
		t.Fatal(err)
	}
	var deleted []string
	for _, action := range metadata.Actions() {
		if d, ok := action.(clienttesting.DeleteActionImpl); ok {
			deleted = append(deleted, d.Name)
			if o := d.DeleteOptions; o.Preconditions == nil || o.Preconditions.UID == nil || *o.PropagationPolicy != metav1.DeletePropagationForeground {
				t.Errorf("%s was deleted with %+v", d.Name, o)
			}
		}
	}
	if want := []string{"deployment", "service", "role", "binding"}; !slices.Equal(deleted, want) {
		t.Errorf("deleted %q, want %q", deleted, want)
	}
}

// TestRecreatedParts checks that, if a controller manager elsewhere recreates its Secret, its permissions are deleted, and then the
// Secret can be deleted.
func TestRecreatedParts(t *testing.T) { synctest.Test(t, testRecreatedParts) }

func testRecreatedParts(t *testing.T) {
	u, metadata := inCluster(t, []string{"v1 secrets", "rbac.authorization.k8s.io/v1 clusterroles"},
		labelled("v1", "Secret", SystemNamespace, "certificate"), labelled("rbac.authorization.k8s.io/v1", "ClusterRole", "", "role"))
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	mayWrite, times := true, 0
	metadata.PrependReactor("delete", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
		mayWrite = false
		return false, nil, nil
	})
	metadata.PrependReactor("delete", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !mayWrite {
			return false, nil, nil
		}
		times++
		recreated := labelled("v1", "Secret", SystemNamespace, "certificate", func(m *metav1.ObjectMeta) {
			m.UID = types.UID(fmt.Sprint(times))
		})
		return true, nil, metadata.Tracker().Update(secrets, recreated, SystemNamespace)
	})
	line, err := u.deleteParts(t.Context())
	if err != nil || line != "2 objects of the installation have been deleted" {
		t.Errorf("%q, %v", line, err)
	}
	if parts, _, err := u.parts(t.Context()); err != nil || len(parts) > 0 {
		t.Errorf("%v is left, %v", parts, err)
	}
}

// Objects that Kubernetes still has to delete because their owner was deleted are waited for; objects with another owner are not.
func TestDependents(t *testing.T) { synctest.Test(t, testDependents) }

func testDependents(t *testing.T) {
	gardener := gardenerv1beta1.SchemeGroupVersion.String()
	u, _ := inCluster(t, nil, labelled("rbac.authorization.k8s.io/v1", "ClusterRole", "", "of-a-project", owned(gardener, "Project")),
		labelled("rbac.authorization.k8s.io/v1", "RoleBinding", "a", "of-somebody", owned("apps/v1", "Deployment")), labelled("v1", "Namespace", "", "a"))
	for _, test := range []struct {
		served sets.Set[string]
		want   int
	}{{sets.New(gardenerv1beta1.GroupName), 1}, {sets.New("midonet.org"), 0}, {sets.New[string](), 0}} {
		if names, err := u.ownedBy(t.Context(), test.served); err != nil || len(names) != test.want {
			t.Errorf("%v: %q, %v", test.served, names, err)
		}
	}
	if _, err := u.waitForDependents(t.Context(), sets.New(gardenerv1beta1.GroupName)); err == nil || !strings.Contains(err.Error(), "clusterroles of-a-project") {
		t.Errorf("got %v", err)
	}
}

// Roles of Projects have no owner. If Projects are not served, they show that the API was removed too early.
func TestStrandedRoles(t *testing.T) { synctest.Test(t, testStrandedRoles) }

func testStrandedRoles(t *testing.T) {
	role := func(name string, annotations map[string]string) *metav1.PartialObjectMetadata {
		m := labelled("rbac.authorization.k8s.io/v1", "ClusterRole", "", name)
		m.Labels, m.Annotations = map[string]string{gardenerv1beta1.LabelProjectName: "shop"}, annotations
		return m
	}
	u, _ := inCluster(t, nil, role("gardeners", nil), role("shop", map[string]string{gardenerv1beta1.AnnotationCreatedForProject: "u"}))
	names, err := u.rolesOfProjects(t.Context())
	if err != nil || len(names) != 1 || names[0] != "clusterroles shop" {
		t.Errorf("roles = %q, %v, want the role that was created for a Project", names, err)
	}
}

// Objects created after the deletion keep the registrations.
func TestMustBeEmpty(t *testing.T) {
	u, _ := inCluster(t, nil, labelled(gardenerv1beta1.SchemeGroupVersion.String(), "Project", "", "late"))
	if err := u.mustBeEmpty(t.Context(), groups()); err == nil || !strings.Contains(err.Error(), "projects late was created meanwhile") {
		t.Errorf("got %v", err)
	}
	if err := u.mustBeEmpty(t.Context(), sets.New("midonet.org")); err != nil {
		t.Errorf("another server serves it: %v", err)
	}
}

func TestRemoveLeavesAnotherOne(t *testing.T) {
	u, metadata := inCluster(t, nil, labelled("v1", "Namespace", "", SystemNamespace))
	if err := u.remove(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "gone", "uid", metav1.DeletePropagationBackground); err != nil {
		t.Errorf("one that was deleted: %v", err)
	}
	if len(metadata.Actions()) != 1 {
		t.Errorf("%d requests", len(metadata.Actions()))
	}
}
