// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package policyparams

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func matching(groups ...string) *admissionregistrationv1.MatchResources {
	rule := admissionregistrationv1.NamedRuleWithOperations{}
	rule.APIGroups = groups
	return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule}}
}

func validating(kind *admissionregistrationv1.ParamKind, match *admissionregistrationv1.MatchResources) runtime.Object {
	return &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "limits"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{ParamKind: kind, MatchConstraints: match}}
}

func bound(policy string, params bool, match *admissionregistrationv1.MatchResources) runtime.Object {
	b := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "binding"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy, MatchResources: match}}
	if params {
		b.Spec.ParamRef = &admissionregistrationv1.ParamRef{Name: "p"}
	}
	return b
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	return m
}

func TestFind(t *testing.T) {
	configMaps, noObjects := &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}, &admissionregistrationv1.ParamKind{APIVersion: "example.com/v1", Kind: "Limit"}
	own := matching("core.gardener.cloud")
	const missing = "not allowed to list, watch configmaps"
	for _, tc := range []struct {
		name    string
		objects []runtime.Object
		allowed string // the verbs that the server has
		want    string // part of the reason
	}{
		{"no policy", nil, "", ""},
		{"all verbs", []runtime.Object{validating(configMaps, own), bound("limits", true, nil)}, "get list watch", ""},
		{"two are missing", []runtime.Object{validating(configMaps, own), bound("limits", true, nil)}, "get", missing},
		{"no parameters", []runtime.Object{validating(nil, own), bound("limits", true, nil)}, "", ""},
		{"not bound", []runtime.Object{validating(configMaps, own), bound("other", true, nil)}, "", ""},
		{"bound without parameters", []runtime.Object{validating(configMaps, own), bound("limits", false, nil)}, "", ""},
		{"for another group", []runtime.Object{validating(configMaps, matching("apps")), bound("limits", true, nil)}, "", ""},
		{"bound for another group", []runtime.Object{validating(configMaps, own), bound("limits", true, matching("apps"))}, "", ""},
		{"for all groups", []runtime.Object{validating(configMaps, matching("*")), bound("limits", true, nil)}, "get", missing},
		{"for one of several groups", []runtime.Object{validating(configMaps, matching("apps", "midonet.org")), bound("limits", true, nil)}, "get", missing},
		{"a kind that is not served", []runtime.Object{validating(noObjects, own), bound("limits", true, nil)}, "get list watch", "does not serve example.com/v1, Kind=Limit"},
	} {
		allowed := func(_ context.Context, resource schema.GroupVersionResource, verb string) (bool, error) {
			if resource.Resource != "configmaps" {
				t.Errorf("%s: queried about %s", tc.name, resource)
			}
			return strings.Contains(tc.allowed, verb), nil
		}
		problems, err := Find(t.Context(), fake.NewClientset(tc.objects...), mapper(), allowed)
		switch {
		case err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want == "" && len(problems) > 0:
			t.Errorf("%s: %+v", tc.name, problems)
		case tc.want != "" && (len(problems) != 1 || problems[0].Policy != "ValidatingAdmissionPolicy limits" || !strings.Contains(problems[0].Reason, tc.want)):
			t.Errorf("%s: %+v, want %q", tc.name, problems, tc.want)
		}
	}
	mutating := []runtime.Object{
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "sets"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{ParamKind: configMaps, MatchConstraints: own}},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "sets"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "sets", ParamRef: &admissionregistrationv1.ParamRef{Name: "p"}}},
	}
	never := func(context.Context, schema.GroupVersionResource, string) (bool, error) { return false, nil }
	if problems, err := Find(t.Context(), fake.NewClientset(mutating...), mapper(), never); err != nil || len(problems) != 1 || problems[0].Policy != "MutatingAdmissionPolicy sets" {
		t.Errorf("mutating: %+v, %v", problems, err)
	}
}

// TestFindWithoutResponses checks that a failed lookup is an error, and that a kind that is not served is not.
func TestFindWithoutResponses(t *testing.T) {
	objects := []runtime.Object{validating(&admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}, nil), bound("limits", true, nil)}
	away := errors.New("kube-apiserver is unavailable")
	for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"} {
		for _, failure := range []error{away, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, "")} {
			host := fake.NewClientset(objects...)
			host.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
			_, err := Find(t.Context(), host, mapper(), func(context.Context, schema.GroupVersionResource, string) (bool, error) { return true, nil })
			if served := !apierrors.IsNotFound(failure) || strings.HasSuffix(resource, "bindings"); served != (err != nil) {
				t.Errorf("%s, %v: got %v", resource, failure, err)
			}
		}
	}
	denying := func(context.Context, schema.GroupVersionResource, string) (bool, error) { return false, away }
	if _, err := Find(t.Context(), fake.NewClientset(objects...), mapper(), denying); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

func TestReviews(t *testing.T) {
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	for name, find := range map[string]func(*fake.Clientset) Allowed{
		"selfsubjectaccessreviews": func(host *fake.Clientset) Allowed { return Self(host) },
		"subjectaccessreviews":     func(host *fake.Clientset) Allowed { return Server(host) },
	} {
		host := fake.NewClientset()
		var requested *authorizationv1.ResourceAttributes
		host.PrependReactor("create", name, func(action clienttesting.Action) (bool, runtime.Object, error) {
			switch review := action.(clienttesting.CreateAction).GetObject().(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				requested, review.Status.Allowed = review.Spec.ResourceAttributes, true
				return true, review, nil
			case *authorizationv1.SubjectAccessReview:
				if review.Spec.User != "system:serviceaccount:groundskeeper-system:groundskeeper-apiserver" {
					t.Errorf("queried about %s", review.Spec.User)
				}
				requested, review.Status.Allowed = review.Spec.ResourceAttributes, true
				return true, review, nil
			}
			return false, nil, nil
		})
		allowed, err := find(host)(t.Context(), secrets, "list")
		if diff := cmp.Diff(&authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "secrets"}, requested); !allowed || err != nil || diff != "" {
			t.Errorf("%s: %t, %v, queried (-want +got):\n%s", name, allowed, err, diff)
		}
		host.PrependReactor("create", name, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
		if _, err := find(host)(t.Context(), secrets, "list"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
