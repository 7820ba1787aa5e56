// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Lookup returns a Project from the watch cache, or a NotFound error. The Project is not changed.
type Lookup func(ctx context.Context, name string) (*gardenerv1beta1.Project, error)

// Authorizer restricts what another authorizer allows to the members of Projects. It embeds the other one for what it leaves alone.
type Authorizer struct {
	authorizer.Authorizer
	lookup Lookup
}

var _ authorizer.Authorizer = &Authorizer{}

// NewAuthorizer returns an authorizer that allows nothing that rbac does not allow.
func NewAuthorizer(rbac authorizer.Authorizer, lookup Lookup) *Authorizer {
	return &Authorizer{Authorizer: rbac, lookup: lookup}
}

// Authorize implements authorizer.Authorizer. A list or a watch that RBAC allows is allowed: the storage filters it.
func (a *Authorizer) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := a.Authorizer.Authorize(ctx, request)
	if decision != authorizer.DecisionAllow || !IsRestricted(request) || isFiltered(request) {
		return decision, reason, err
	}
	project, isMember, err := a.isMember(ctx, request)
	switch {
	case err != nil:
		return authorizer.DecisionNoOpinion, "", err
	case isMember:
		return authorizer.DecisionAllow, "member of the project", nil
	case project == nil && isOfApply(request):
		if decision, _, err := a.Authorizer.Authorize(ctx, creation{request}); decision == authorizer.DecisionAllow || err != nil {
			return decision, "there is no such project, and the user may create it", err
		}
	}
	return a.Authorizer.Authorize(ctx, anyProject{request})
}

// isMember reports whether the members of the Project of a request allow it. It returns the Project, nil if there is none: the stored one
// while a change of it is validated, otherwise that of the watch cache.
func (a *Authorizer) isMember(ctx context.Context, request authorizer.Attributes) (*gardenerv1beta1.Project, bool, error) {
	if request.GetName() == "" {
		return nil, false, nil
	}
	project, ok := ctx.Value(storedKey{}).(*gardenerv1beta1.Project)
	if !ok || project.Name != request.GetName() {
		var err error
		if project, err = a.lookup(ctx, request.GetName()); err != nil && !apierrors.IsNotFound(err) {
			return nil, false, fmt.Errorf("look up the members of a project: %w", err)
		}
	}
	return project, Decide(request, project) == authorizer.DecisionAllow, nil
}

// storedKey is the key of the stored Project in a context.
type storedKey struct{}

// withStored returns the context in which a change of a stored Project is validated. Admission requires custom verbs for some changes, and
// the watch cache of this server may be outdated.
func withStored(ctx context.Context, stored runtime.Object) context.Context {
	return context.WithValue(ctx, storedKey{}, stored)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer. The membership has no conditions.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if !IsRestricted(request) {
		return a.Authorizer.ConditionsAwareAuthorize(ctx, request)
	}
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, request))
}

// AllowsAny reports whether RBAC lets the user do this with Projects of which the user is not a member. An error is no decision.
func (a *Authorizer) AllowsAny(ctx context.Context, request authorizer.Attributes) (bool, error) {
	decision, _, err := a.Authorizer.Authorize(ctx, anyProject{request})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

// isFiltered reports whether the response to a request has only what the user may get.
func isFiltered(request authorizer.Attributes) bool {
	return request.GetVerb() == "list" || request.GetVerb() == "watch"
}

// isOfApply reports whether a client that creates an object by applying it sends such a request before: kubectl gets it, and a server-side
// apply is a patch. The storage decides about a Project that exists nevertheless, and the server whether the user may create one.
func isOfApply(request authorizer.Attributes) bool {
	return request.GetName() != "" && request.GetSubresource() == "" && (request.GetVerb() == "get" || request.GetVerb() == "patch")
}

// creation is a request to create what another one is for.
type creation struct{ authorizer.Attributes }

func (creation) GetVerb() string { return "create" }

// anyProject is a request for the Projects of others.
type anyProject struct{ authorizer.Attributes }

func (anyProject) GetSubresource() string { return Any }
