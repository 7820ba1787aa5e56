// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
)

// grant is one verb for one resource of a role, for one name or for all.
type grant struct{ verb, group, resource, name string }

func (g grant) String() string {
	text := g.verb + " " + apischema.GroupResource{Group: g.group, Resource: g.resource}.String()
	if g.name != "" {
		text += " " + g.name
	}
	return text
}

func (g grant) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{APIGroups: []string{g.group}, Resources: []string{g.resource}, Verbs: []string{g.verb}}
	if g.name != "" {
		rule.ResourceNames = []string{g.name}
	}
	return rule
}

// shippedGrants returns what the first role of a manifest grants, one by one.
func shippedGrants(t *testing.T, path string) (grants []grant) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, resource := range rule.Resources {
				for _, name := range names {
					grants = append(grants, grant{verb, rule.APIGroups[0], resource, name})
				}
			}
		}
	}
	return grants
}

// testDeorbitPermissions compares what reviews report with what the API server does, for the shipped role and for each role that has
// one grant less.
func testDeorbitPermissions(t *testing.T, o *orbit) {
	old := func(config *rest.Config) *rest.Config { // a cluster without policies
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/apis/admissionregistration.k8s.io/v1" {
					return responded(r, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{{Name: "validatingwebhookconfigurations"}}}), nil
				}
				return next.RoundTrip(r)
			})
		})
		return config
	}
	expect := func(t *testing.T, config *rest.Config, want []string) {
		t.Helper()
		connection, err := cluster.Connect(config)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		eventually(t, func(ctx context.Context) error {
			got, err := connection.MissingPermissions(ctx, true)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("missing permissions: got %q, want %q", got, want)
			}
			return err
		})
	}
	expect(t, o.config, nil)
	expect(t, old(o.config), nil)

	grants := shippedGrants(t, "../../artifacts/kluster/workload/deorbit.yaml")
	for i, less := range grants {
		t.Run("without "+less.String(), func(t *testing.T) {
			user := fmt.Sprintf("lacks-%d", i)
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
			for _, g := range grants {
				if g != less {
					role.Rules = append(role.Rules, g.rule())
				}
			}
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
			o.create(role, binding)
			config := rest.CopyConfig(o.admin)
			config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
			if less.resource == "validatingwebhookconfigurations" && less.name != "" {
				config = old(config)
			}
			expect(t, config, []string{less.String()})
			c, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := less.request(t.Context(), c); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "`+user+`" cannot `+less.verb) {
				t.Errorf("a request that needs the missing permission: got %v, want a rejection of %q", err, less.verb)
			}
		})
	}
}

// request does, in a dry run, what the grant is for.
func (g grant) request(ctx context.Context, c dynamic.Interface) error {
	version := "v1"
	namespaced := g.group == "" && g.resource != "nodes" && g.resource != "persistentvolumes" && g.resource != "namespaces" ||
		g.resource == "volumesnapshots" || g.resource == "ingresses"
	resources := c.Resource(apischema.GroupVersionResource{Group: g.group, Version: version, Resource: g.resource})
	name, dry := g.name, []string{metav1.DryRunAll}
	if name == "" {
		name = "nothing"
	}
	kinds := map[string]string{"persistentvolumeclaims": "PersistentVolumeClaim", "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
		"validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding", "validatingwebhookconfigurations": "ValidatingWebhookConfiguration"}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apischema.GroupVersion{Group: g.group, Version: version}.String())
	object.SetKind(kinds[g.resource])
	object.SetName(name)
	switch g.resource { // the permission to create is checked behind the validation
	case "validatingadmissionpolicies":
		object.Object["spec"] = map[string]any{"validations": []any{map[string]any{"expression": "true"}}, "matchConstraints": map[string]any{
			"resourceRules": []any{map[string]any{"apiGroups": []any{"none.example"}, "apiVersions": []any{"v1"}, "resources": []any{"none"}, "operations": []any{"CREATE"}}}}}
	case "validatingadmissionpolicybindings":
		object.Object["spec"] = map[string]any{"policyName": name, "validationActions": []any{"Deny"}}
	}
	var objects dynamic.ResourceInterface = resources
	if namespaced && g.verb != "list" {
		objects = resources.Namespace(metav1.NamespaceDefault)
	}
	var err error
	switch {
	case g.verb == "list":
		_, err = objects.List(ctx, metav1.ListOptions{Limit: 1})
	case g.verb == "get":
		_, err = objects.Get(ctx, name, metav1.GetOptions{})
	case g.verb == "delete":
		err = objects.Delete(ctx, name, metav1.DeleteOptions{DryRun: dry})
	case g.verb == "create" && g.name == "":
		_, err = objects.Create(ctx, object, metav1.CreateOptions{DryRun: dry})
	case g.name != "": // it is applied
		_, err = objects.Apply(ctx, name, object, metav1.ApplyOptions{DryRun: dry, FieldManager: "test"})
	default:
		_, err = objects.Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dry})
	}
	return err
}
