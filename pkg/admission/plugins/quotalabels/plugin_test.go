// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package quotalabels

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// decision is an authorizer with one decision for the verb.
type decision struct {
	allowed  bool
	err      error
	requests []authorizer.AttributesRecord
}

func (r *decision) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	r.requests = append(r.requests, a.(authorizer.AttributesRecord))
	if r.allowed {
		return authorizer.DecisionAllow, "", r.err
	}
	return authorizer.DecisionNoOpinion, "", r.err
}

type labels = map[string]string

func project(l labels) runtime.Object {
	return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev", Labels: l}}
}

// TestValidate checks that setting, changing or removing a guarded label requires the verb, at creation and afterwards.
func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		create        bool
		before, after labels
		// needs are the labels that the rejection names, "" without a review.
		needs string
	}{
		"nothing":                       {before: labels{"size": "s"}, after: labels{"size": "s"}},
		"another label":                 {before: nil, after: labels{"team": "a"}},
		"another label removed":         {before: labels{"team": "a"}, after: nil},
		"set":                           {after: labels{"size": "l"}, needs: "size"},
		"set to nothing":                {after: labels{"size": ""}, needs: "size"},
		"changed":                       {before: labels{"size": "s"}, after: labels{"size": "l"}, needs: "size"},
		"removed":                       {before: labels{"size": "s"}, needs: "size"},
		"by prefix":                     {after: labels{"quota.groundskeeper.io/size": "l"}, needs: "quota.groundskeeper.io/size"},
		"several":                       {before: labels{"size": "s"}, after: labels{"quota.groundskeeper.io/a": "l"}, needs: "quota.groundskeeper.io/a, size"},
		"created with it":               {create: true, after: labels{"size": "l"}, needs: "size"},
		"created without":               {create: true, after: labels{"team": "a"}},
		"a key with the same beginning": {after: labels{"sizes": "l"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, allowed := range []bool{false, true} {
				operation, old := admission.Update, project(test.before)
				if test.create {
					operation, old = admission.Create, nil
				}
				a := admission.NewAttributesRecord(project(test.after), old, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"), "", "dev",
					gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "", operation, nil, false, &user.DefaultInfo{Name: "anna"})
				requests := &decision{allowed: allowed}
				plugin := New()
				plugin.SetUnconditionalAuthorizer(requests)
				plugin.SetProjectQuotaLabels([]string{"size"})
				err := plugin.Validate(t.Context(), a, nil)
				if rejected := test.needs != "" && !allowed; apierrors.IsForbidden(err) != rejected || rejected && !strings.Contains(err.Error(), "("+test.needs+")") {
					t.Errorf("allowed = %t: error = %v, want rejected = %t", allowed, err, rejected)
				}
				if (test.needs != "") != (len(requests.requests) == 1) {
					t.Errorf("reviews = %v", requests.requests)
				}
				if len(requests.requests) == 1 && (requests.requests[0].Verb != "modify-quota-labels" || requests.requests[0].Name != "dev" || requests.requests[0].Resource != "projects") {
					t.Errorf("review = %+v", requests.requests[0])
				}
			}
		})
	}
}

func TestValidateElsewhere(t *testing.T) {
	plugin := New()
	if plugin.ValidateInitialization() == nil {
		t.Error("it does without an authorizer")
	}
	plugin.SetUnconditionalAuthorizer(&decision{err: errors.New("no response")})
	a := admission.NewAttributesRecord(project(nil), nil, gardenerv1beta1.SchemeGroupVersion.WithKind("Shoot"), "", "dev",
		gardenerv1beta1.SchemeGroupVersion.WithResource("shoots"), "", admission.Create, nil, false, &user.DefaultInfo{})
	if err := plugin.Validate(t.Context(), a, nil); err != nil {
		t.Error(err)
	}
	a = admission.NewAttributesRecord(project(labels{Prefix + "size": "l"}), nil, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"), "", "dev",
		gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "", admission.Create, nil, false, &user.DefaultInfo{})
	if err := plugin.Validate(t.Context(), a, nil); !apierrors.IsInternalError(err) {
		t.Errorf("error = %v, want an internal error", err)
	}
}
