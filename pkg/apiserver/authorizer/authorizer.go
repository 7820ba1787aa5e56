// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package authorizer saves subject access reviews.
//
// An aggregated server queries the kube-apiserver about each request and caches the responses, one per user, verb and object. A
// client that reads a thousand objects one by one therefore queries a thousand times, at the 200 reviews a second that the
// kube-apiserver lets one server send. AnyNameFirst requests permission to every object first, whose response is one for all of
// them.
//
// # Soundness
//
// Only an Allow of the wider question is final. Everything else (no opinion, a denial, an error) is followed by the original
// question, and that response counts. So a user whose role names objects (resourceNames) keeps exactly those, and an authorizer
// that denies the wide question and allows the narrow one is obeyed.
//
// An Allow of the wider question must imply an Allow of the narrower one. RBAC only ever adds permissions: a rule without
// resourceNames allows every name, and a rule with resourceNames allows the names it lists and no other. The wider question
// requests AnyName, which no object has and no rule lists, so that only a rule without resourceNames can allow it. It does not
// request the empty name: RBAC would match that with resourceNames [""], a rule that a template writes when its value is missing,
// and that allows no named object at all.
//
// A webhook authorizer that allows most names and denies some ("everything but prod-*") breaks the implication. With such a one the
// wider question must be disabled.
package authorizer

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// AnyName is the name in the wider question. No object of Groundskeeper can have it, because it is not a DNS label.
const AnyName = "(any name)"

// AnyNameFirst returns an authorizer that requests from delegate permission to the objects of every name before permission to the
// named one. Requests that name no object pass through.
func AnyNameFirst(delegate authorizer.Authorizer) authorizer.Authorizer {
	return anyNameFirst{delegate}
}

// anyNameFirst embeds its delegate for what it leaves alone: conditions are evaluated by their author.
type anyNameFirst struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (a anyNameFirst) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if allowed, reason := a.everyName(ctx, request); allowed {
		return authorizer.DecisionAllow, reason, nil
	}
	return a.Authorizer.Authorize(ctx, request)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer. The wider question has no conditions.
func (a anyNameFirst) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if allowed, reason := a.everyName(ctx, request); allowed {
		return authorizer.ConditionsAwareDecisionAllow(reason, nil)
	}
	return a.Authorizer.ConditionsAwareAuthorize(ctx, request)
}

// everyName reports whether the user is allowed to do this to objects of every name.
func (a anyNameFirst) everyName(ctx context.Context, request authorizer.Attributes) (bool, string) {
	if !request.IsResourceRequest() || request.GetName() == "" {
		return false, ""
	}
	decision, reason, err := a.Authorizer.Authorize(ctx, anyName{request})
	return err == nil && decision == authorizer.DecisionAllow, reason
}

// anyName is a request for the objects of every name, and with every label and field: a request that
// names its object by a field selector (a watch of one object) has a selector too.
type anyName struct{ authorizer.Attributes }

func (anyName) GetName() string                                { return AnyName }
func (anyName) GetFieldSelector() (fields.Requirements, error) { return nil, nil }
func (anyName) GetLabelSelector() (labels.Requirements, error) { return nil, nil }
