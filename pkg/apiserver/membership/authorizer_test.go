// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// rbac allows what is listed, as "verb resource[/subresource]".
type rbac struct {
	allowed []string
	err     error
}

func (r rbac) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	got := a.GetVerb() + " " + a.GetResource()
	if a.GetSubresource() != "" {
		got += "/" + a.GetSubresource()
	}
	for _, allowed := range r.allowed {
		if allowed == got {
			return authorizer.DecisionAllow, "allowed by rbac", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", r.err
}

func (r rbac) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(r.Authorize(ctx, a))
}

func (rbac) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

var errUnknown = errors.New("unknown")

// lookup knows dev, whose owner is olivia and which vera views, and fails for broken.
func lookup(_ context.Context, name string) (*gardenerv1beta1.Project, error) {
	switch name {
	case "dev":
		return newProject("dev", member("User", "vera")), nil
	case "broken":
		return nil, errUnknown
	default:
		return nil, apierrors.NewNotFound(gardenerv1beta1.Resource("projects"), name)
	}
}

// everyone returns what artifacts/membership allows all users.
func everyone(more ...string) []string {
	var all []string
	for _, verb := range strings.Fields("get list watch update patch delete manage-members") {
		all = append(all, verb+" projects")
	}
	return append(all, more...)
}

func TestAuthorizer(t *testing.T) {
	const allow, none = authorizer.DecisionAllow, authorizer.DecisionNoOpinion
	for _, test := range []struct {
		name    string
		rbac    rbac
		request authorizer.AttributesRecord
		want    authorizer.Decision
		err     error
	}{
		{"a member", rbac{allowed: everyone()}, on(as("vera"), "get", "dev"), allow, nil},
		{"a member whom RBAC does not allow it", rbac{}, on(as("vera"), "get", "dev"), none, nil},
		{"none of the name, of who may create it", rbac{allowed: everyone("create projects")}, on(as("zoe"), "patch", "new"), allow, nil},
		{"none of the name, read by who may create it", rbac{allowed: everyone("create projects")}, on(as("zoe"), "get", "new"), allow, nil},
		{"none of the name, deleted by who may create it", rbac{allowed: everyone("create projects")}, on(as("zoe"), "delete", "new"), none, nil},
		{"none of the name, of another user", rbac{allowed: everyone()}, on(as("zoe"), "patch", "new"), none, nil},
		{"one of others, of who may create Projects", rbac{allowed: everyone("create projects")}, on(as("zoe"), "patch", "dev"), none, nil},
		{"a member with another role", rbac{allowed: everyone()}, on(as("vera"), "update", "dev"), none, nil},
		{"the owner", rbac{allowed: everyone()}, on(as("olivia"), "manage-members", "dev"), allow, nil},
		{"another user", rbac{allowed: everyone()}, on(as("zoe"), "get", "dev"), none, nil},
		{"another user, a project that does not exist", rbac{allowed: everyone()}, on(as("zoe"), "get", "missing"), none, nil},
		{"an administrator", rbac{allowed: everyone("get projects/any")}, on(as("root"), "get", "dev"), allow, nil},
		{"an administrator, a project that does not exist", rbac{allowed: everyone("get projects/any")}, on(as("root"), "get", "missing"), allow, nil},
		{"an administrator of another verb", rbac{allowed: everyone("get projects/any")}, on(as("root"), "delete", "dev"), none, nil},
		{"the permission on any project is not that on projects", rbac{allowed: []string{"get projects/any"}}, on(as("root"), "get", "dev"), none, nil},
		{"list", rbac{allowed: everyone()}, on(as("zoe"), "list", ""), allow, nil},
		{"watch of one", rbac{allowed: everyone()}, on(as("zoe"), "watch", "dev"), allow, nil},
		{"list, not allowed by RBAC", rbac{}, on(as("zoe"), "list", ""), none, nil},
		{"deletecollection", rbac{allowed: everyone("deletecollection projects")}, on(as("olivia"), "deletecollection", ""), none, nil},
		{"deletecollection of one's own", rbac{allowed: everyone("deletecollection projects")}, on(as("olivia"), "deletecollection", "dev"), none, nil},
		{"deletecollection, administrator", rbac{allowed: everyone("deletecollection projects", "deletecollection projects/any")}, on(as("root"), "deletecollection", ""), allow, nil},
		{"create is left to RBAC", rbac{allowed: everyone("create projects")}, on(as("zoe"), "create", ""), allow, nil},
		{"create is not allowed", rbac{allowed: everyone()}, on(as("zoe"), "create", ""), none, nil},
		{"another custom verb is left to RBAC", rbac{allowed: everyone("manage-finalizers projects")}, on(as("zoe"), "manage-finalizers", "dev"), allow, nil},
		{"the cache cannot be read", rbac{allowed: everyone("get projects/any")}, on(as("vera"), "get", "broken"), none, errUnknown},
		{"RBAC is unavailable", rbac{allowed: everyone(), err: errUnknown}, on(as("zoe"), "get", "dev"), none, errUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := NewAuthorizer(test.rbac, lookup)
			got, _, err := a.Authorize(t.Context(), test.request)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %v, %v", got, err)
			}
			aware := a.ConditionsAwareAuthorize(t.Context(), test.request)
			if aware.IsAllow() != (test.want == allow) {
				t.Errorf("with conditions: got %v", aware)
			}
		})
	}
}

// Denials do not reveal whether a Project exists.
func TestDenialsAreTheSame(t *testing.T) {
	a := NewAuthorizer(rbac{allowed: everyone()}, lookup)
	for _, verb := range []string{"get", "update", "patch", "delete", "manage-members"} {
		decision, reason, err := a.Authorize(t.Context(), on(as("zoe"), verb, "dev"))
		other, otherReason, otherErr := a.Authorize(t.Context(), on(as("zoe"), verb, "missing"))
		if decision != other || reason != otherReason || err != nil || otherErr != nil {
			t.Errorf("%s: %v %q %v, and of one that does not exist %v %q %v", verb, decision, reason, err, other, otherReason, otherErr)
		}
	}
}

// TestStartingServer checks that a server without storage makes no decision.
func TestStartingServer(t *testing.T) {
	s := NewServer(true)
	if _, err := s.allowsAny(t.Context(), on(as("root"), "list", "")); err == nil {
		t.Error("a server without an authorizer decided")
	}
	a := s.Authorize(rbac{allowed: everyone("get projects/any")})
	if decision, _, err := a.Authorize(t.Context(), on(&user.DefaultInfo{Name: "vera"}, "get", "dev")); decision == authorizer.DecisionAllow || err == nil {
		t.Errorf("a server without projects decided: %v, %v", decision, err)
	}
	if err := s.Restrict(nil); err == nil {
		t.Error("nothing was restricted")
	}
}

// TestCollectionsAreRestricted checks that a user who is allowed to delete collections of Projects deletes none of others.
func TestCollectionsAreRestricted(t *testing.T) {
	server := NewServer(false)
	server.authorizer.Store(NewAuthorizer(rbac{allowed: everyone("deletecollection projects")}, lookup))
	ctx := genericapirequest.WithUser(t.Context(), as("olivia"))
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, Verb: "deletecollection"})
	if _, err := (&Storage{server: server}).DeleteCollection(ctx, nil, nil, nil); !apierrors.IsForbidden(err) {
		t.Errorf("error = %v, want that it is forbidden", err)
	}
}
