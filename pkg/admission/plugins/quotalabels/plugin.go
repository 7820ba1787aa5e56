// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package quotalabels is the admission plugin that guards the labels by which the quota of a Project is selected: otherwise, a
// user who may update a Project could give it a larger quota.
package quotalabels

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const (
	// PluginName names the plugin in --disable-admission-plugins.
	PluginName = "ProjectQuotaLabels"
	// Verb is the verb on a Project that a change of a guarded label needs.
	Verb = "modify-quota-labels"
	// Prefix is the prefix of labels that are always guarded, regardless of the flags.
	Prefix = "quota.groundskeeper.io/"
)

// New returns the plugin. It needs SetUnconditionalAuthorizer before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin queries the authorizer of the server for the verb when a guarded label of a Project is set, changed or removed.
type Plugin struct {
	*admission.Handler
	plugins.Permissions
	keys []string
}

var _ admission.ValidationInterface = &Plugin{}

// SetProjectQuotaLabels names the keys of labels that are guarded besides those with the prefix.
func (p *Plugin) SetProjectQuotaLabels(keys []string) { p.keys = slices.Clone(keys) }

// Validate rejects the change of a guarded label by a user without the verb. It compares what is stored with what would be
// stored, so that it does not matter how a request is written.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != gardenerv1beta1.Resource("projects") {
		return nil
	}
	project, old, err := plugins.Objects[gardenerv1beta1.Project](a)
	if err != nil {
		return err
	}
	var before map[string]string
	if old != nil {
		before = old.Labels
	}
	changed := p.changed(before, project.Labels)
	if len(changed) == 0 {
		return nil
	}
	allowed, err := p.Has(ctx, a, project.Name, Verb)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("check whether user %q has the verb %q on project %q: %w",
			a.GetUserInfo().GetName(), Verb, project.Name, err))
	}
	if allowed {
		return nil
	}
	return admission.NewForbidden(a, fmt.Errorf("user %q is not allowed to change the labels that select the quota of a project (%s): it "+
		"requires the verb %q on the project",
		a.GetUserInfo().GetName(), strings.Join(changed, ", "), Verb))
}

// changed returns the keys of guarded labels that differ, sorted.
func (p *Plugin) changed(before, after map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, before)
	maps.Copy(all, after)
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, had := before[key]
		is, has := after[key]
		if (was != is || had != has) && (strings.HasPrefix(key, Prefix) || slices.Contains(p.keys, key)) {
			keys = append(keys, key)
		}
	}
	return keys
}
