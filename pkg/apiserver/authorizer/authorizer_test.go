// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// counting responds from a table by name, and keeps the questions.
type counting struct {
	decisions map[string]authorizer.Decision // by name
	err       map[string]error
	requests  []authorizer.Attributes
	names     []string
}

func (c *counting) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	c.requests, c.names = append(c.requests, a), append(c.names, a.GetName())
	decision, ok := c.decisions[a.GetName()]
	if !ok {
		decision = authorizer.DecisionNoOpinion
	}
	return decision, "reason of " + a.GetName(), c.err[a.GetName()]
}

func (c *counting) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(c.Authorize(ctx, a))
}

var errEvaluated = errors.New("evaluated by the delegate")

func (c *counting) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", errEvaluated
}

func get(name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "u"}, Verb: "get", Namespace: "ns", APIGroup: "g", APIVersion: "v1", Resource: "rs", Subresource: "status",
		Name: name, ResourceRequest: true, Path: "/apis/g/v1/namespaces/ns/rs/" + name + "/status",
	}
}

func TestAnyNameFirst(t *testing.T) {
	const allow, deny, none = authorizer.DecisionAllow, authorizer.DecisionDeny, authorizer.DecisionNoOpinion
	down := errors.New("down")
	nonResource := get("x")
	nonResource.ResourceRequest = false
	for _, test := range []struct {
		name         string
		request      authorizer.AttributesRecord
		decisions    map[string]authorizer.Decision
		err          map[string]error
		want         authorizer.Decision
		wantErr      error
		reason       string
		wantRequests []string
	}{
		{name: "every name", request: get("x"), decisions: map[string]authorizer.Decision{AnyName: allow}, want: allow, reason: "reason of " + AnyName, wantRequests: []string{AnyName}},
		{name: "this name", request: get("x"), decisions: map[string]authorizer.Decision{"x": allow}, want: allow, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "another name", request: get("y"), decisions: map[string]authorizer.Decision{"x": allow}, want: none, reason: "reason of y", wantRequests: []string{AnyName, "y"}},
		{name: "the empty name", request: get("x"), decisions: map[string]authorizer.Decision{"": allow}, want: none, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "every name denied, this one allowed", request: get("x"), decisions: map[string]authorizer.Decision{AnyName: deny, "x": allow}, want: allow, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "this name denied", request: get("x"), decisions: map[string]authorizer.Decision{"x": deny}, want: deny, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "an error is not final", request: get("x"), decisions: map[string]authorizer.Decision{"x": allow}, err: map[string]error{AnyName: down}, want: allow, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "an allow with an error is not final", request: get("x"), decisions: map[string]authorizer.Decision{AnyName: allow}, err: map[string]error{AnyName: down}, want: none, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "the error of the last response", request: get("x"), err: map[string]error{"x": down}, want: none, wantErr: down, reason: "reason of x", wantRequests: []string{AnyName, "x"}},
		{name: "no name", request: get(""), decisions: map[string]authorizer.Decision{AnyName: allow}, want: none, reason: "reason of ", wantRequests: []string{""}},
		{name: "no resource", request: nonResource, decisions: map[string]authorizer.Decision{AnyName: allow}, want: none, reason: "reason of x", wantRequests: []string{"x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			delegate := &counting{decisions: test.decisions, err: test.err}
			got, reason, err := AnyNameFirst(delegate).Authorize(t.Context(), test.request)
			if got != test.want || reason != test.reason || !errors.Is(err, test.wantErr) {
				t.Errorf("got %v, %q, %v", got, reason, err)
			}
			if !slices.Equal(delegate.names, test.wantRequests) {
				t.Errorf("requested %q, want %q", delegate.names, test.wantRequests)
			}

			delegate = &counting{decisions: test.decisions, err: test.err}
			decision := AnyNameFirst(delegate).ConditionsAwareAuthorize(t.Context(), test.request)
			if decision.IsAllow() != (test.want == allow) || decision.IsDeny() != (test.want == deny) {
				t.Errorf("with conditions: got %v", decision)
			}
			if !slices.Equal(delegate.names, test.wantRequests) {
				t.Errorf("with conditions: requested %q, want %q", delegate.names, test.wantRequests)
			}
		})
	}
}

// TestOneQuestionForAllNames is what the wrapper is for: a delegate that caches gets one question, however many
// objects are read.
func TestOneQuestionForAllNames(t *testing.T) {
	delegate := &counting{decisions: map[string]authorizer.Decision{AnyName: authorizer.DecisionAllow}}
	a := AnyNameFirst(delegate)
	for i := range 100 {
		request := get(fmt.Sprint("x", i))
		if decision, _, err := a.Authorize(t.Context(), request); decision != authorizer.DecisionAllow || err != nil {
			t.Fatal(decision, err)
		}
	}
	slices.Sort(delegate.names)
	if names := slices.Compact(delegate.names); len(names) != 1 {
		t.Errorf("queried %d different questions", len(names))
	}
}

// TestWiderQuestion has everything but the name and the selectors of the one that was queried: a watch of one object names it by a
// selector.
func TestWiderQuestion(t *testing.T) {
	request := get("x")
	request.FieldSelectorRequirements = fields.Requirements{{Operator: selection.Equals, Field: "metadata.name", Value: "x"}}
	requirement, err := labels.NewRequirement("a", selection.Exists, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.LabelSelectorRequirements = labels.Requirements{*requirement}
	delegate := &counting{}
	if _, _, err := AnyNameFirst(delegate).Authorize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	wide, narrow := delegate.requests[0], delegate.requests[1]
	if selector, err := wide.GetFieldSelector(); len(selector) != 0 || err != nil {
		t.Errorf("wide field selector: %v, %v", selector, err)
	}
	if selector, err := wide.GetLabelSelector(); len(selector) != 0 || err != nil {
		t.Errorf("wide label selector: %v, %v", selector, err)
	}
	if selector, err := narrow.GetFieldSelector(); len(selector) != 1 || err != nil {
		t.Errorf("narrow field selector: %v, %v", selector, err)
	}
	for _, pair := range [][2]any{
		{wide.GetUser(), request.User}, {wide.GetVerb(), request.Verb}, {wide.GetNamespace(), request.Namespace}, {wide.GetAPIGroup(), request.APIGroup},
		{wide.GetAPIVersion(), request.APIVersion}, {wide.GetResource(), request.Resource}, {wide.GetSubresource(), request.Subresource},
		{wide.IsReadOnly(), true}, {wide.IsResourceRequest(), true},
	} {
		if pair[0] != pair[1] {
			t.Errorf("got %v, want %v", pair[0], pair[1])
		}
	}
}

func TestConditionsAreEvaluatedByTheDelegate(t *testing.T) {
	if _, _, err := AnyNameFirst(&counting{}).EvaluateConditions(t.Context(), authorizer.ConditionsAwareDecision{}, nil); !errors.Is(err, errEvaluated) {
		t.Errorf("got %v", err)
	}
}

func TestNoObjectHasAnyName(t *testing.T) {
	if len(content.IsDNS1123Subdomain(AnyName)) == 0 {
		t.Errorf("an object can have the name %q", AnyName)
	}
}

// BenchmarkAnyNameFirst requests permission to one object that permission to all gives.
func BenchmarkAnyNameFirst(b *testing.B) {
	delegate := &counting{decisions: map[string]authorizer.Decision{AnyName: authorizer.DecisionAllow}}
	requests := AnyNameFirst(delegate)
	request := get("x")
	b.ReportAllocs()
	for b.Loop() {
		delegate.requests, delegate.names = delegate.requests[:0], delegate.names[:0]
		if decision, _, err := requests.Authorize(b.Context(), request); decision != authorizer.DecisionAllow || err != nil {
			b.Fatal(decision, err)
		}
	}
}
