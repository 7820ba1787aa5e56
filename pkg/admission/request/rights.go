// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Rights asks the authorizer of the server what a user may do. A plugin that embeds it is given that authorizer before
// its first request.
type Rights struct {
	authorizer authorizer.UnconditionalAuthorizer
}

var (
	_ admission.InitializationValidator        = &Rights{}
	_ initializer.WantsUnconditionalAuthorizer = &Rights{}
)

// SetUnconditionalAuthorizer gives the plugin the authorizer of the server.
func (r *Rights) SetUnconditionalAuthorizer(authorizer authorizer.UnconditionalAuthorizer) {
	r.authorizer = authorizer
}

// ValidateInitialization complains when SetUnconditionalAuthorizer was not called.
func (r *Rights) ValidateInitialization() error {
	if r.authorizer == nil {
		return errors.New("no authorizer was set")
	}
	return nil
}

// Allowed says whether a user has a right. An allowance counts though it comes with an error.
func (r *Rights) Allowed(ctx context.Context, right authorizer.AttributesRecord) (bool, error) {
	decision, _, err := r.authorizer.Authorize(ctx, right)
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

// Has reports whether the user of a request has a verb on an object of the resource that the request is for.
func (r *Rights) Has(ctx context.Context, a admission.Attributes, name, verb string) (bool, error) {
	resource := a.GetResource()
	return r.Allowed(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		Namespace: a.GetNamespace(), Name: name, ResourceRequest: true,
	})
}
