// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// controlPlane starts a plane without Groundskeeper's processes, and stops it with the test.
func controlPlane(t *testing.T, options Options) *Plane {
	t.Helper()
	binary(t, "kube-apiserver")
	options.UnsafeNoFsync = true
	options.Progress = func(line string) { t.Log(line) }
	p, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func client(t *testing.T, p *Plane) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestControlPlane checks that one control plane serves several tests that do not disturb each other.
func TestControlPlane(t *testing.T) {
	p := controlPlane(t, Options{Dir: t.TempDir()})
	if err := p.prepareCluster(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("admin", func(t *testing.T) { testAdmin(t, p) })
	t.Run("users", func(t *testing.T) { testUsers(t, p) })
	t.Run("etcd is closed", func(t *testing.T) { testEtcdIsClosed(t, p) })
	t.Run("apply changes nothing twice", func(t *testing.T) { testApplyIsIdempotent(t, p) })
	t.Run("roles", func(t *testing.T) { testRoles(t, p) })
	t.Run("roles for Klusters", func(t *testing.T) { testKlusterRoles(t, p) })
	t.Run("rival definition", func(t *testing.T) { testRivalDefinition(t, p) })
	t.Run("comes back", func(t *testing.T) { testComesBack(t, p) })
}

func testAdmin(t *testing.T, p *Plane) {
	out, err := exec.Command(p.Kubectl(), "--kubeconfig", p.AdminKubeconfig(), "auth", "can-i", "*", "*").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "yes" {
		t.Errorf("kubectl auth can-i: %v, %s", err, out)
	}
	version, err := client(t, p).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.Major != "1" || version.Minor == "" || !strings.HasPrefix(version.GitVersion, "v1."+version.Minor+".") {
		t.Errorf("the server reports it is %s (%s.%s): it was built without its version", version.GitVersion, version.Major, version.Minor)
	}
}

func testUsers(t *testing.T, p *Plane) {
	config, err := p.ConfigFor("anna", "team:a", "team:b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if review.Status.UserInfo.Username != "anna" || !sets.New(review.Status.UserInfo.Groups...).HasAll("team:a", "team:b") {
		t.Errorf("the server takes anna for %v", review.Status.UserInfo)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.KubeconfigFor(file, "bert"); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(p.Kubectl(), "--kubeconfig", file, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").CombinedOutput()
	if err != nil || string(out) != "bert" {
		t.Errorf("kubectl auth whoami: %v, %s", err, out)
	}
}

func testEtcdIsClosed(t *testing.T, p *Plane) {
	own := &http.Client{Transport: &http.Transport{TLSClientConfig: p.EtcdTLS(), DisableKeepAlives: true}}
	if err := probe(t.Context(), own, p.EtcdEndpoint()+"/readyz"); err != nil {
		t.Errorf("with the certificate: %v", err)
	}
	stranger := p.EtcdTLS()
	stranger.Certificates = nil
	anybody := &http.Client{Transport: &http.Transport{TLSClientConfig: stranger, DisableKeepAlives: true}}
	if err := probe(t.Context(), anybody, p.EtcdEndpoint()+"/readyz"); err == nil {
		t.Error("etcd responds a client without a certificate")
	}
}

// versions returns the resource version of every object that prepareCluster applies.
func versions(t *testing.T, p *Plane) map[string]string {
	t.Helper()
	c, err := dynamic.NewForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, path := range []string{"namespaces", "rbac"} {
		objects, err := manifests(filepath.Join(artifacts, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			current, err := resource(c, object).Get(t.Context(), object.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			seen[object.GetKind()+" "+name(object)] = current.GetResourceVersion()
		}
	}
	return seen
}

// aggregated reports whether a role has exactly the rules that the controller that aggregates roles gives it, in its order: those of
// all that it selects, sorted by name, each once. Otherwise another write of the controller follows.
func aggregated(t *testing.T, role *rbacv1.ClusterRole, all []rbacv1.ClusterRole) bool {
	t.Helper()
	if role.AggregationRule == nil {
		return true
	}
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range all { // a list is sorted by name
			if part.Name == role.Name || !selector.Matches(labels.Set(part.Labels)) {
				continue
			}
			for _, rule := range part.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return equality.Semantic.DeepEqual(role.Rules, rules)
}

func testApplyIsIdempotent(t *testing.T, p *Plane) {
	// The aggregation of roles is the one thing that still changes them after the first apply.
	c := client(t, p)
	await(t, func() (int, bool) {
		roles, err := c.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		own := 0
		for i := range roles.Items {
			role := &roles.Items[i]
			if role.Labels["app.kubernetes.io/part-of"] != "groundskeeper" {
				continue
			}
			// A role that aggregates others has no separate rules, and none at all where nothing has its label.
			if own++; len(role.Rules) == 0 && role.AggregationRule == nil || !aggregated(t, role, roles.Items) {
				return 0, false
			}
		}
		return own, own > 0
	})
	before := versions(t, p)
	if err := p.prepareCluster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, versions(t, p)); diff != "" {
		t.Errorf("applying the same again wrote (-before +after):\n%s", diff)
	}
}

func testRivalDefinition(t *testing.T, p *Plane) {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	c, err := dynamic.NewForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	const name = "klusters.kubernikus.sap.cc"
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": "kubernikus.sap.cc", "scope": "Namespaced",
			"names": map[string]any{"kind": "Kluster", "plural": "klusters"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	if _, err := c.Resource(crds).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.prepareCluster(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("prepareCluster beside a rival definition: %v", err)
	}
	if err := c.Resource(crds).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, func() (struct{}, bool) {
		_, err := c.Resource(crds).Get(t.Context(), name, metav1.GetOptions{})
		return struct{}{}, apierrors.IsNotFound(err)
	})
	if err := p.prepareCluster(t.Context()); err != nil {
		t.Errorf("prepareCluster without it: %v", err)
	}
}
