// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// samplePolicies applies artifacts/policies under names of this test. The bindings get one thing more than the files have: they
// choose the objects with the label that is returned, so that other tests are left alone.
func samplePolicies(t *testing.T) map[string]string {
	t.Helper()
	rendered, err := kubectl(t, "", "kustomize", "../../artifacts/policies")
	if err != nil {
		t.Fatal(err)
	}
	suffix := name(t, "-")
	marked := map[string]string{"policies": "on" + suffix}
	var policies, bound []string
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch object := object.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicy:
			policies = append(policies, object.Name)
			object.Name += suffix
			inTheCluster(t, object)
		case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			bound = append(bound, object.Spec.PolicyName)
			object.Name += suffix
			object.Spec.PolicyName += suffix
			object.Spec.MatchResources = &admissionregistrationv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: marked}}
			inTheCluster(t, object)
		default:
			t.Fatalf("a policy is a %T", object)
		}
	}
	if slices.Sort(policies); len(policies) != 4 || !slices.Equal(policies, slices.Sorted(slices.Values(bound))) {
		t.Fatalf("policies %v, bound %v", policies, bound)
	}
	return marked
}

// soon waits until a request, a dry run, is rejected with the words: admission receives policies by a watch.
func soon(t *testing.T, words string, request func(context.Context) error) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		err := request(ctx)
		switch {
		case err == nil:
			return errors.New("not rejected, want " + words)
		case !strings.Contains(err.Error(), words):
			return err
		}
		return nil
	})
}

// TestSamplePolicies checks that the sample policies reject what they describe and nothing else.
func TestSamplePolicies(t *testing.T) {
	t.Parallel()
	c := admin(t)
	older := newProject(t, "older", member("User", "olivia@elsewhere.org", "owner"))
	newer := newProject(t, "newer", member("User", "olivia@example.com", "owner"))
	anna, uma := name(t, "anna"), name(t, "uma")
	for _, project := range []*gardenerv1beta1.Project{older, newer} {
		ready(t, project)
		granted(t, project.Name, []string{"get", "patch"}, anna)
		granted(t, project.Name, []string{"get", "patch", "manage-members"}, uma)
	}
	accepted(t, c.Patch(t.Context(), newer, mergePatch(`{"spec":{"purpose":"sample"}}`)))
	marked := samplePolicies(t)
	project := func(purpose *string, members ...gardenerv1beta1.ProjectMember) func(context.Context) error {
		return func(ctx context.Context) error {
			return c.Create(ctx, &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "sample"), Labels: marked},
				Spec: gardenerv1beta1.ProjectSpec{Purpose: purpose, Members: members}}, client.DryRunAll)
		}
	}
	discovery := func(namespace string) func(context.Context) error {
		return func(ctx context.Context) error {
			return c.Create(ctx, backend(metav1.ObjectMeta{Namespace: namespace, Name: name(t, "sample"), Labels: marked}), client.DryRunAll)
		}
	}
	patched := func(project *gardenerv1beta1.Project, user, body string) func(context.Context) error {
		return func(ctx context.Context) error {
			return as(t, user).Patch(ctx, copyOf(project), mergePatch(body), client.DryRunAll)
		}
	}
	own := member("User", "olivia@example.com", "owner")
	const approval = `{"spec":{"dualApprovalForDeletion":[{"resource":"klusters","selector":{}}]}}`
	elsewhere := freshNamespace(t, "sample")
	for _, project := range []*gardenerv1beta1.Project{older, newer} {
		accepted(t, patched(project, anna, approval)(t.Context())) // not marked, so not subject to the policies
		project.Labels = marked
		accepted(t, c.Patch(t.Context(), project, mergePatch(`{"metadata":{"labels":{"policies":"`+marked["policies"]+`"}}}`)))
	}

	tests := map[string]struct {
		request  func(context.Context) error
		rejected string
	}{
		"a purpose and members of the domain":      {project(new("sample"), own, member("User", "anna@example.com", "admin")), ""},
		"no purpose":                               {project(nil, own), "spec.purpose: set the purpose of the project"},
		"blanks for a purpose":                     {project(new(" "), own), "spec.purpose"},
		"a member of another domain":               {project(new("sample"), own, member("User", "mallory@elsewhere.org", "viewer")), "become members, not mallory@elsewhere.org"},
		"two members of other domains":             {project(new("sample"), own, member("User", "x", "viewer"), member("User", "y", "viewer")), "not x, y"},
		"a domain that only ends like it":          {project(new("sample"), own, member("User", "mallory@notexample.com", "viewer")), "not mallory@notexample.com"},
		"the owner of another domain":              {project(new("sample"), member("User", "mallory", "owner")), "not mallory"},
		"the creator as an owner":                  {project(new("sample")), "not admin"},
		"groups and service accounts":              {project(new("sample"), own, member("Group", "x", "viewer"), member("ServiceAccount", "ci/robot", "viewer"), member("User", "system:serviceaccount:ci:two", "viewer")), ""},
		"a Project that is older":                  {patched(older, uma, `{"spec":{"description":"changed"}}`), ""},
		"a stranger joins one that is older":       {patched(older, uma, `{"spec":{"members":[{"kind":"User","name":"olivia@elsewhere.org","role":"owner"},{"kind":"User","name":"mallory"}]}}`), "not mallory"},
		"a purpose removed":                        {patched(newer, anna, `{"spec":{"purpose":null}}`), "spec.purpose"},
		"dual approval, by a member":               {patched(newer, anna, approval), `spec.dualApprovalForDeletion: changing it requires the verb "manage-members"`},
		"dual approval, by who manages members":    {patched(newer, uma, approval), ""},
		"something else, by a member":              {patched(newer, anna, `{"spec":{"description":"changed"}}`), ""},
		"a backend where backends are":             {discovery("gimbal-discovery"), ""},
		"a backend elsewhere":                      {discovery(elsewhere), "DiscoveryBackends are created in gimbal-discovery only, not in " + elsewhere},
		"the confirmation of a deletion, as usual": {patched(older, anna, `{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`), ""},
	}
	for what, test := range tests {
		// Rejections are tested first: after them all policies are in effect, so that an accepted request was accepted by them.
		if test.rejected != "" {
			soon(t, test.rejected, test.request)
			delete(tests, what)
		}
	}
	for what, test := range tests {
		if err := test.request(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Nothing gets stuck: a Project that breaks every rule is deleted.
	for _, project := range []*gardenerv1beta1.Project{older, newer} {
		mustRemove(t, project)
		absent(t, project)
	}
}
