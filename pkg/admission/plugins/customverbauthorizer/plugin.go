// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package customverbauthorizer is the admission plugin that requires permissions in addition to updating a Project: to
// change its members, its owner, and the taints that its clusters may tolerate.
package customverbauthorizer

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "CustomVerbAuthorizer"

// Plugin queries the authorizer of the server for the verbs that a change of a Project needs.
type Plugin struct {
	*admission.Handler
	plugins.Permissions
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetUnconditionalAuthorizer before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Validate rejects a change that needs a verb which the user does not have. It compares what is stored with what would
// be stored: defaults, the spelling of roles and the owner's roles are settled by then, and a request in whatever
// representation, to whatever subresource, is judged by its effect. Every verb is reviewed, always: one change
// that is allowed must not carry another past.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != gardenerv1beta1.Resource("projects") {
		return nil
	}
	project, old, err := plugins.Objects[gardenerv1beta1.Project](a)
	if err != nil {
		return err
	}
	var rejected []string
	for _, need := range needs(old, project, a.GetUserInfo()) {
		allowed, err := p.Has(ctx, a, project.Name, need.verb)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("check whether user %q has the verb %q on project %q: %w",
				a.GetUserInfo().GetName(), need.verb, project.Name, err))
		}
		if !allowed {
			rejected = append(rejected, fmt.Sprintf("changing %s requires the verb %q", strings.Join(need.changes, " and "), need.verb))
		}
	}
	if len(rejected) == 0 {
		return nil
	}
	return admission.NewForbidden(a, fmt.Errorf("user %q lacks a permission on this project: %s", a.GetUserInfo().GetName(),
		strings.Join(rejected, "; ")))
}
