// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Permissions reviews the permissions of a user with the authorizer of the server. A plugin that embeds it gets that authorizer
// before its first request.
type Permissions struct {
	authorizer authorizer.UnconditionalAuthorizer
}

var (
	_ admission.InitializationValidator        = &Permissions{}
	_ initializer.WantsUnconditionalAuthorizer = &Permissions{}
)

// SetUnconditionalAuthorizer gives the plugin the authorizer of the server.
func (r *Permissions) SetUnconditionalAuthorizer(authorizer authorizer.UnconditionalAuthorizer) {
	r.authorizer = authorizer
}

// ValidateInitialization complains when SetUnconditionalAuthorizer was not called.
func (r *Permissions) ValidateInitialization() error {
	if r.authorizer == nil {
		return errors.New("no authorizer was set")
	}
	return nil
}

// Allowed reports whether a user has a permission. A permission is valid even if the review also returned an error.
func (r *Permissions) Allowed(ctx context.Context, permission authorizer.AttributesRecord) (bool, error) {
	decision, _, err := r.authorizer.Authorize(ctx, permission)
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

// Has reports whether the user of a request has a verb on an object of the resource that the request is for.
func (r *Permissions) Has(ctx context.Context, a admission.Attributes, name, verb string) (bool, error) {
	resource := a.GetResource()
	return r.Allowed(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		Namespace: a.GetNamespace(), Name: name, ResourceRequest: true,
	})
}
