// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestReview(t *testing.T) {
	const none, deny = authorizer.DecisionNoOpinion, authorizer.DecisionDeny
	status := on(as("zoe"), "update", "dev")
	status.Subresource = "status"
	others := on(as("zoe"), "get", "dev")
	others.Subresource = Any
	pods := on(as("zoe"), "get", "dev")
	pods.APIGroup, pods.Resource = "", "pods"
	for _, test := range []struct {
		name    string
		rbac    rbac
		request authorizer.AttributesRecord
		want    authorizer.Decision
		err     error
	}{
		{"a member is left to RBAC", rbac{}, on(as("vera"), "get", "dev"), none, nil},
		{"a member with another role", rbac{}, on(as("vera"), "update", "dev"), deny, nil},
		{"another user", rbac{}, on(as("zoe"), "get", "dev"), deny, nil},
		{"a project that does not exist", rbac{}, on(as("zoe"), "get", "missing"), deny, nil},
		{"all projects", rbac{}, on(as("zoe"), "delete", ""), deny, nil},
		{"an administrator is left to RBAC", rbac{allowed: []string{"update projects/any"}}, on(as("root"), "update", "dev"), none, nil},
		{"a list is filtered", rbac{}, on(as("zoe"), "list", ""), none, nil},
		{"a watch is filtered", rbac{}, on(as("zoe"), "watch", "dev"), none, nil},
		{"deletecollection", rbac{}, on(as("olivia"), "deletecollection", ""), deny, nil},
		{"creation", rbac{}, on(as("zoe"), "create", ""), none, nil},
		{"status", rbac{}, status, none, nil},
		{"the projects of others, which this server requests", rbac{}, others, none, nil},
		{"another kind", rbac{}, pods, none, nil},
		{"RBAC is unavailable", rbac{err: errUnknown}, on(as("zoe"), "get", "dev"), none, errUnknown},
		{"the cache cannot be read", rbac{}, on(as("vera"), "get", "broken"), none, errUnknown},
	} {
		got, _, err := NewAuthorizer(test.rbac, lookup).Review(t.Context(), test.request)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, %v", test.name, got, err)
		}
	}
}

// The review decides as the server does: what it denies, the server does not allow, and what the server denies to a user whom RBAC
// allows it, it denies.
func TestReviewAgreesWithTheServer(t *testing.T) {
	a := NewAuthorizer(rbac{allowed: everyone("deletecollection projects", "get projects/any", "list projects/any")}, lookup)
	for _, who := range []string{"olivia", "vera", "zoe", "root"} {
		for _, verb := range []string{"get", "list", "watch", "update", "patch", "delete", "deletecollection", "manage-members"} {
			for _, name := range []string{"", "dev", "missing"} {
				request := on(as(who), verb, name)
				served, _, err := a.Authorize(t.Context(), request)
				reviewed, _, reviewErr := a.Review(t.Context(), request)
				if err != nil || reviewErr != nil || (served == authorizer.DecisionAllow) == (reviewed == authorizer.DecisionDeny) {
					t.Errorf("%s may %s %q: %v, %v; reviewed %v, %v", who, verb, name, served, err, reviewed, reviewErr)
				}
			}
		}
	}
}

// post sends a body to the webhook of a server with the Projects of lookup.
func post(t *testing.T, method, body string) *httptest.ResponseRecorder {
	t.Helper()
	s := NewServer(true)
	s.authorizer.Store(NewAuthorizer(rbac{}, lookup))
	response := httptest.NewRecorder()
	s.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), method, ReviewPath, strings.NewReader(body)))
	return response
}

func TestReviewOverHTTP(t *testing.T) {
	const head = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":`
	of := func(who, attributes string) string {
		return head + `{"user":"` + who + `","groups":["system:authenticated"],"extra":{"a":["b"]},` + attributes + `}}`
	}
	const project = `"group":"core.gardener.cloud","version":"v1beta1","resource":"projects","name":"dev"`
	for name, test := range map[string]struct {
		body   string
		denied bool
		reason string
	}{
		"a member":         {of("vera", `"resourceAttributes":{"verb":"get",`+project+`}`), false, ""},
		"another user":     {of("zoe", `"resourceAttributes":{"verb":"get",`+project+`}`), true, "not a member"},
		"every version":    {of("zoe", `"resourceAttributes":{"verb":"get","group":"core.gardener.cloud","version":"*","resource":"projects","name":"dev"}`), true, "not a member"},
		"a path":           {of("zoe", `"nonResourceAttributes":{"verb":"get","path":"/healthz"}`), false, ""},
		"nothing":          {head + `{"user":"zoe"}}`, false, ""},
		"a group's member": {head + `{"groups":["x"],"resourceAttributes":{"verb":"delete",` + project + `}}}`, true, "not a member"},
	} {
		response := post(t, http.MethodPost, test.body)
		review := &authorizationv1.SubjectAccessReview{}
		if err := json.Unmarshal(response.Body.Bytes(), review); err != nil || response.Code != http.StatusOK {
			t.Fatalf("%s: %d, %v: %s", name, response.Code, err, response.Body)
		}
		if got := review.Status; got.Allowed || got.Denied != test.denied || !strings.Contains(got.Reason, test.reason) || got.EvaluationError != "" {
			t.Errorf("%s: got %+v", name, got)
		}
		if review.Kind != "SubjectAccessReview" || review.APIVersion != "authorization.k8s.io/v1" {
			t.Errorf("%s: responded with %+v", name, review.TypeMeta)
		}
	}
	for name, test := range map[string]struct {
		method, body string
		code         int
		want         string
	}{
		"another method":  {http.MethodGet, "", http.StatusMethodNotAllowed, "POST"},
		"no JSON":         {http.MethodPost, "hello", http.StatusBadRequest, "cannot read the SubjectAccessReview"},
		"another version": {http.MethodPost, strings.Replace(of("vera", `"x":1`), "/v1", "/v1beta1", 1), http.StatusBadRequest, "subjectAccessReviewVersion: v1"},
		"no user":         {http.MethodPost, head + `{}}`, http.StatusBadRequest, "spec.user"},
		"too large":       {http.MethodPost, of(strings.Repeat("x", maxReview), `"x":1`), http.StatusBadRequest, "too large"},
	} {
		response := post(t, test.method, test.body)
		if response.Code != test.code || !strings.Contains(response.Body.String(), test.want) {
			t.Errorf("%s: got %d %s", name, response.Code, response.Body)
		}
	}
}

// What is unknown is no opinion with an error that reveals nothing.
func TestReviewOfUnknown(t *testing.T) {
	response := post(t, http.MethodPost, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"vera","resourceAttributes":`+
		`{"verb":"get","group":"core.gardener.cloud","resource":"projects","name":"broken"}}}`)
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.Unmarshal(response.Body.Bytes(), review); err != nil {
		t.Fatal(err)
	}
	if got := review.Status; got.Allowed || got.Denied || got.EvaluationError == "" {
		t.Errorf("got %+v", got)
	}
	starting := httptest.NewRecorder()
	NewServer(true).ServeHTTP(starting, httptest.NewRequestWithContext(t.Context(), http.MethodPost, ReviewPath,
		strings.NewReader(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"vera"}}`)))
	if !strings.Contains(starting.Body.String(), "evaluationError") {
		t.Errorf("a server without an authorizer decided: %s", starting.Body)
	}
}
