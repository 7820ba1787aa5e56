// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package protectedmetadata is the admission plugin that protects the metadata by which Groundskeeper's controllers are steered
// from those whom they restrain: finalizers, which keep an object until it is cleaned up, and annotations that stop a controller
// or make it skip its work. Each needs a dedicated verb in addition to the permission to update the object.
package protectedmetadata

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "ProtectedMetadata"

// Plugin queries the authorizer of the server for the verbs that a change of protected metadata needs.
type Plugin struct {
	*admission.Handler
	plugins.Permissions
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetUnconditionalAuthorizer before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Validate rejects a change of protected metadata without its verb. It compares what is stored with what would be stored, so
// that a request in whatever representation, to whatever subresource, is judged by its effect. Every verb is reviewed:
// one change that is allowed must not carry another past.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	own := finalizers(a.GetResource().GroupResource())
	if own == nil {
		return nil
	}
	object, old, err := plugins.Metadata(a)
	if err != nil {
		return err
	}
	var rejected []string
	for _, need := range needs(object, old, own) {
		allowed, err := p.Has(ctx, a, object.GetName(), need.verb)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("check whether user %q has the verb %q on %s %q: %w",
				a.GetUserInfo().GetName(), need.verb, a.GetResource().GroupResource(), object.GetName(), err))
		}
		if !allowed {
			rejected = append(rejected, fmt.Sprintf("%s without the verb %q", strings.Join(need.changes, " and "), need.verb))
		}
	}
	if len(rejected) == 0 {
		return nil
	}
	return admission.NewForbidden(a, fmt.Errorf("user %q cannot change %s on this object", a.GetUserInfo().GetName(),
		strings.Join(rejected, ", nor ")))
}
