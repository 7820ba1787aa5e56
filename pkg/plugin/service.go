// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// serviceKind returns the kind of Services, of which "why" shows the way through the backend network.
func serviceKind() kind {
	return kind{title: "Services", names: []string{"service", "services", "svc"}, object: empty[corev1.Service],
		list: emptyList[corev1.ServiceList]}
}

const nodesTitle = "Nodes"

// nodeKind returns the kind of Nodes, whose chassis in OVN and whose local volumes "why" knows something about.
func nodeKind() kind {
	return kind{title: nodesTitle, names: []string{"node", "nodes", "no"}, global: true, object: empty[corev1.Node],
		list: emptyList[corev1.NodeList], other: nodeFindings}
}

func nodeFindings(node client.Object, _ time.Time) []report.Finding {
	if text := node.GetAnnotations()[midonetv1.AnnotationOVNChassisProblem]; text != "" {
		return []report.Finding{report.Found(report.Warning, "%s", text)}
	}
	return nil
}

// nodesOn adds the findings about the Nodes of the endpoints, whose switches have the names of the Nodes. Users of a namespace may not be
// allowed to read Nodes.
func (c *command) nodesOn(ctx context.Context, ways []report.Way, r *report.Report) error {
	var names []string
	for _, way := range ways {
		for _, e := range way.Endpoints {
			if e.Switch != "" {
				names = append(names, e.Switch)
			}
		}
	}
	slices.Sort(names)
	return c.nodesNamed(ctx, slices.Compact(names), r)
}

// nodesNamed adds the findings about Nodes.
func (c *command) nodesNamed(ctx context.Context, names []string, r *report.Report) error {
	checked := report.Checked{Name: nodesTitle}
	for _, name := range names {
		node := &corev1.Node{}
		err := c.client.Get(ctx, client.ObjectKey{Name: name}, node)
		switch {
		case apierrors.IsForbidden(err):
			r.Checked = append(r.Checked, report.Checked{Name: nodesTitle, Problem: err.Error()})
			return nil
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("get node %s: %w", name, err)
		}
		checked.Count++
		r.Add(nodesTitle, node, nodeFindings(node, c.clock.Now())...)
	}
	if checked.Count > 0 {
		r.Checked = append(r.Checked, checked)
	}
	return nil
}

// ways adds how connections to a Service go through the backend network, and what is wrong with its Translations.
func (c *command) ways(ctx context.Context, service *corev1.Service, idle report.Idle, r *report.Report) error {
	namespaces := slices.Compact([]string{service.Namespace, metav1.NamespaceDefault}) // those of Nodes are in default
	translations, err := c.translationsOf(ctx, service, namespaces, idle, r)
	if err != nil || len(translations) == 0 { // without any there is no backend
		return err
	}
	own := slices.ContainsFunc(translations, func(t midonetv1.Translation) bool { return isOf(&t, service) })
	if !own && service.Spec.ClusterIP != corev1.ClusterIPNone && service.Spec.Type != corev1.ServiceTypeExternalName {
		r.Add("Services", service, report.Found(report.Warning,
			"has no Translation: see its events; controllers.translation.serviceTypes may not have the type %s", service.Spec.Type))
	}
	r.Ways = waysOf(service, translations)
	var ends []*report.WayEnd
	for _, way := range r.Ways {
		for i := range way.Endpoints {
			ends = append(ends, &way.Endpoints[i])
		}
	}
	if err := c.isolate(ctx, service.Namespace, nil, ends, r); err != nil {
		return err
	}
	if slices.ContainsFunc(r.Ways, func(w report.Way) bool { return strings.HasPrefix(w.Address, gatewayAddress) }) &&
		!hasGateway(translations) {
		r.Add("Services", service, report.Found(report.Warning,
			"has node ports, which are served at gateways, and no Node is one: set annotation %s of a Node", midonetv1.AnnotationOVNGatewayNetwork))
	}
	for _, way := range r.Ways {
		for _, e := range way.Endpoints {
			problem := e.Problem
			if e.Port == "" {
				problem = "is not the address of a translated Pod"
			}
			if problem != "" {
				r.Add("Services", service, report.Found(report.Warning, "endpoint %s of %s %s", e.Address, way.Address, problem))
			}
		}
	}
	return c.nodesOn(ctx, r.Ways, r)
}

// translationsOf returns the Translations of some namespaces, and adds what is wrong with those of an object.
func (c *command) translationsOf(
	ctx context.Context, owner client.Object, namespaces []string, idle report.Idle, r *report.Report,
) (all []midonetv1.Translation, err error) {
	for _, namespace := range namespaces {
		list := &midonetv1.TranslationList{}
		err := c.client.List(ctx, list, client.InNamespace(namespace))
		switch {
		case meta.IsNoMatchError(err):
			return nil, nil
		case apierrors.IsForbidden(err):
			r.Checked = append(r.Checked, report.Checked{Name: translationsTitle, Problem: err.Error()})
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("list Translations in namespace %s: %w", namespace, err)
		}
		all = append(all, list.Items...)
	}
	if len(all) > 0 {
		r.Checked = append(r.Checked, report.Checked{Name: translationsTitle, Count: len(all)})
	}
	for i := range all {
		if t := &all[i]; isOf(t, owner) {
			r.Add(translationsTitle, t, report.Why(t, idle, c.clock.Now())...)
			if problem := unrealized(t); problem != "" {
				r.Add(translationsTitle, t, report.Found(report.Warning, "%s", problem))
			}
		}
	}
	return all, nil
}

// unrealized returns why the network has not applied a Translation that its backend has; empty if it has, or does not report it.
func unrealized(t *midonetv1.Translation) string {
	c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionRealized)
	if c == nil || c.Status != metav1.ConditionFalse || !meta.IsStatusConditionTrue(t.Status.Conditions, midonetv1.ConditionSynced) {
		return ""
	}
	return fmt.Sprintf("is not %s: %s: %s", c.Type, c.Reason, c.Message)
}

// gatewayAddress begins what is shown as the address of the gateway of each chassis.
const gatewayAddress = "gateway "

// shownAddress returns an address of a load balancer for display: "gateway (ipv4):30080" for a template variable.
func shownAddress(text string) string {
	if rest, ok := strings.CutPrefix(text, "^"+midonetv1.OVNGatewayVariable); ok {
		family, port, _ := strings.Cut(rest, ":")
		return gatewayAddress + "(" + family + "):" + port
	}
	return text
}

func hasGateway(translations []midonetv1.Translation) bool {
	return slices.ContainsFunc(translations, func(t midonetv1.Translation) bool {
		return slices.ContainsFunc(t.Resources, func(r midonetv1.BackendResource) bool { return r.Kind == "ChassisTemplateVar" })
	})
}

func isOf(t *midonetv1.Translation, owner client.Object) bool {
	namespace := cmp.Or(owner.GetNamespace(), metav1.NamespaceDefault)
	return owner.GetUID() != "" && t.Namespace == namespace && t.Labels[midonetv1.LabelOwnerUID] == string(owner.GetUID())
}
