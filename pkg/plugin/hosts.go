// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// nameHosts adds the name of the Node to each id of a host of MidoNet in the findings about Translations. Nodes are only read when a
// finding has an id. The ids stay as they are for a user who may not read Nodes.
func (c *command) nameHosts(ctx context.Context, r *report.Report) {
	id := regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
	hasID := func(f report.Finding) bool { return f.Kind == translationsTitle && id.MatchString(f.Message) }
	nodes := &corev1.NodeList{}
	if !slices.ContainsFunc(r.Findings, hasID) || c.client.List(ctx, nodes) != nil {
		return
	}
	names := map[string]string{}
	for i := range nodes.Items {
		names[strings.ToLower(nodes.Items[i].Annotations[midonetv1.AnnotationHostID])] = nodes.Items[i].Name
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == translationsTitle {
			f.Message = id.ReplaceAllStringFunc(f.Message, func(text string) string {
				if name := names[strings.ToLower(text)]; name != "" {
					return text + " (Node " + name + ")"
				}
				return text
			})
		}
	}
}
