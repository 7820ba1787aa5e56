// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package customverbauthorizer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

var projects = gardenerv1beta1.SchemeGroupVersion.WithResource("projects")

// update returns a request of anna; without an old object, a creation.
func update(project, old runtime.Object, resource schema.GroupVersionResource, subresource string) admission.Attributes {
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	return admission.NewAttributesRecord(project, old, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"), "", "dev", resource, subresource,
		operation, nil, false, anna())
}

// verbDecisions is an authorizer: verbs with their decisions. It records the requests.
type verbDecisions struct {
	allowed  map[string]bool
	err      error
	requests []authorizer.AttributesRecord
}

func (r *verbDecisions) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	r.requests = append(r.requests, a.(authorizer.AttributesRecord))
	if r.allowed[a.GetVerb()] {
		return authorizer.DecisionAllow, "", r.err
	}
	return authorizer.DecisionNoOpinion, "", r.err
}

func judging(r *verbDecisions) *Plugin {
	plugin := New()
	plugin.SetUnconditionalAuthorizer(r)
	return plugin
}

// TestValidate checks that every required verb is reviewed, in any order, and that one does not substitute for another.
func TestValidate(t *testing.T) {
	members, whitelist := with(human("bob"), "viewer"), whitelisted()
	for _, tc := range []struct {
		name     string
		change   func(*gardenerv1beta1.Project)
		allowed  []string
		requests []string
		rejected []string // parts of the rejection
	}{
		{"nothing", all(), nil, nil, nil},
		{"members, allowed", members, []string{"manage-members"}, []string{"manage-members"}, nil},
		{"members, rejected", members, nil, []string{"manage-members"}, []string{`changing spec.members requires the verb "manage-members"`}},
		{"members, with the other verb", members, []string{"modify-spec-tolerations-whitelist"}, []string{"manage-members"}, []string{`"manage-members"`}},
		{"whitelist, allowed", whitelist, []string{"modify-spec-tolerations-whitelist"}, []string{"modify-spec-tolerations-whitelist"}, nil},
		{"whitelist, rejected", whitelist, nil, []string{"modify-spec-tolerations-whitelist"}, []string{`changing spec.tolerations.whitelist requires the verb "modify-spec-tolerations-whitelist"`}},
		{"both, allowed", all(members, whitelist), []string{"manage-members", "modify-spec-tolerations-whitelist"}, []string{"modify-spec-tolerations-whitelist", "manage-members"}, nil},
		{"both, members rejected", all(members, whitelist), []string{"modify-spec-tolerations-whitelist"}, []string{"modify-spec-tolerations-whitelist", "manage-members"}, []string{"spec.members"}},
		{"both, whitelist rejected", all(members, whitelist), []string{"manage-members"}, []string{"modify-spec-tolerations-whitelist", "manage-members"}, []string{"spec.tolerations.whitelist"}},
		{"both, rejected", all(members, whitelist), nil, []string{"modify-spec-tolerations-whitelist", "manage-members"}, []string{"spec.tolerations.whitelist", "spec.members"}},
		{"owner and members, rejected", all(handedTo(human("anna"), "owner"), members), nil, []string{"manage-members"}, []string{"spec.owner and spec.members"}},
	} {
		for _, subresource := range []string{"", "status"} { // a change is judged by what it does, not by where it was sent
			t.Run(tc.name+" "+subresource, func(t *testing.T) {
				r := &verbDecisions{allowed: map[string]bool{}}
				for _, verb := range tc.allowed {
					r.allowed[verb] = true
				}
				project := stored()
				tc.change(project)
				err := judging(r).Validate(t.Context(), update(project, stored(), projects, subresource), nil)
				var requests []string
				for _, question := range r.requests {
					requests = append(requests, question.Verb)
					want := authorizer.AttributesRecord{User: anna(), Verb: question.Verb, APIGroup: "core.gardener.cloud", APIVersion: "v1beta1", Resource: "projects", Name: "dev", ResourceRequest: true}
					if diff := cmp.Diff(want, question); diff != "" {
						t.Errorf("question (-want +got):\n%s", diff)
					}
				}
				if diff := cmp.Diff(tc.requests, requests); diff != "" {
					t.Errorf("verbs (-want +got):\n%s", diff)
				}
				if len(tc.rejected) == 0 && err != nil {
					t.Errorf("rejected: %v", err)
				}
				for _, part := range tc.rejected {
					if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), `user "anna"`) {
						t.Errorf("error = %v, want a rejection with %q", err, part)
					}
				}
			})
		}
	}
}

func TestValidateCreation(t *testing.T) {
	r := &verbDecisions{}
	if err := judging(r).Validate(t.Context(), update(stored(), nil, projects, ""), nil); !apierrors.IsForbidden(err) {
		t.Errorf("a whitelist: %v", err)
	}
	project := stored()
	project.Spec.Tolerations = nil
	if err := judging(r).Validate(t.Context(), update(project, nil, projects, ""), nil); err != nil {
		t.Errorf("members: %v", err)
	}
}

// TestValidateWhenTheAuthorizerFails checks that nothing is changed if the authorizer fails, and that an allowed decision is used
// even if it has an error.
func TestValidateWhenTheAuthorizerFails(t *testing.T) {
	project := stored()
	with(human("bob"), "viewer")(project)
	request := update(project, stored(), projects, "")
	down := &verbDecisions{err: errors.New("kube-apiserver is unavailable")}
	if err := judging(down).Validate(t.Context(), request, nil); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "is unavailable") {
		t.Errorf("got %v", err)
	}
	down.allowed = map[string]bool{"manage-members": true}
	if err := judging(down).Validate(t.Context(), request, nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestValidateLeavesOthersAlone(t *testing.T) {
	r := &verbDecisions{}
	changed := stored()
	with(human("bob"), "viewer")(changed)
	if err := judging(r).Validate(t.Context(), update(changed, stored(), gardenerv1beta1.SchemeGroupVersion.WithResource("others"), ""), nil); err != nil || len(r.requests) > 0 {
		t.Errorf("another resource: error = %v, reviews = %v", err, r.requests)
	}
	for operation, want := range map[admission.Operation]bool{admission.Create: true, admission.Update: true, admission.Delete: false} {
		if got := New().Handles(operation); got != want {
			t.Errorf("handles %s: %t", operation, got)
		}
	}
}

func TestValidateInvalidObject(t *testing.T) {
	for name, request := range map[string]admission.Attributes{
		"new": update(&gardenerv1beta1.ProjectList{}, stored(), projects, ""), "old": update(stored(), &gardenerv1beta1.ProjectList{}, projects, ""),
	} {
		if err := judging(&verbDecisions{}).Validate(t.Context(), request, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateInitialization(t *testing.T) {
	if err := New().ValidateInitialization(); err == nil {
		t.Error("it is content without an authorizer")
	}
	if err := judging(&verbDecisions{}).ValidateInitialization(); err != nil {
		t.Error(err)
	}
}
