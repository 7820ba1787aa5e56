// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// hosts names the Nodes that are hosts of MidoNet in the findings about Translations.
type hosts struct {
	id *regexp.Regexp
	// nodes are the names of Nodes by the ids of their hosts.
	nodes map[string]string
}

func newHosts() hosts {
	return hosts{id: regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)}
}

// in reports whether a finding may have the id of a host.
func (h hosts) in(findings []report.Finding) bool {
	return slices.ContainsFunc(findings, func(f report.Finding) bool { return f.Kind == translationsTitle && h.id.MatchString(f.Message) })
}

// name adds the name of the Node to each id. Other ids stay as they are.
func (h hosts) name(findings []report.Finding) {
	for i := range findings {
		if f := &findings[i]; f.Kind == translationsTitle {
			f.Message = h.id.ReplaceAllStringFunc(f.Message, func(text string) string {
				if name := h.nodes[strings.ToLower(text)]; name != "" {
					return text + " (Node " + name + ")"
				}
				return text
			})
		}
	}
}

// read reads the Nodes. All ids stay as they are for a user who may not do so.
func (h *hosts) read(ctx context.Context, c client.Reader) {
	nodes := &metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if c.List(ctx, nodes) != nil {
		return
	}
	h.nodes = map[string]string{}
	for i := range nodes.Items {
		if id := nodes.Items[i].Annotations[midonetv1.AnnotationHostID]; id != "" {
			h.nodes[strings.ToLower(id)] = nodes.Items[i].Name
		}
	}
}

// nameHosts names the hosts in the findings of a report. Nodes are only read when a finding has an id.
func (c *command) nameHosts(ctx context.Context, r *report.Report) {
	if h := newHosts(); h.in(r.Findings) {
		h.read(ctx, c.client)
		h.name(r.Findings)
	}
}
