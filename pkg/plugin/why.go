// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

func newWhy(c *command) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Show what blocks an object, or the deletion of a namespace, and the way of a Service",
		Long: "Show what blocks an object, or the deletion of a namespace: the finding of status, and its details. Of a Project, " +
			"list the role bindings and the tokens of service accounts\n" +
			"in its namespace that are not of its members, as former members may have left them. Of a Service on OVN, show the way of\n" +
			"connections as well: its load balancers, and the port, the switch and the chassis of each endpoint; of a Pod and a Node, these of its\n" +
			"own; of Pods also the NetworkPolicies that may drop connections; of a Node, whether OVN has its chassis. Of a claim, a volume and a\n" +
			"Node, also of one that was deleted, show which local volumes are deleted and when, or why they are retained. Of a Pod, follow its\n" +
			"Translations, its Node and its claims; of a route, such as an HTTPProxy, an HTTPRoute and an Ingress, its Services and their backends;\n" +
			"of all of these the namespace and its Project.\n\n" +
			"It exits with 0 when nothing does, with 1 when there are findings, and with 2 when the object could not be read.",
		Example: "  kubectl groundskeeper why kluster/web -n garden-shop\n  kubectl groundskeeper why namespace/garden-shop\n" +
			"  kubectl groundskeeper why service/web -n shop\n  kubectl groundskeeper why node/worker-7",
		Args:              oneObject,
		ValidArgsFunction: c.completeObjects(whyKinds()...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.check(); err != nil {
				return err
			}
			k, name, err := parse(args)
			if err != nil {
				return err
			}
			return c.why(cmd.Context(), k, name, format)
		},
	}
	format.addTo(cmd)
	return cmd
}

// why prints everything that is known to block an object.
func (c *command) why(ctx context.Context, k kind, name string, format output) error {
	key := client.ObjectKey{Name: name}
	if !k.global {
		var err error
		if key.Namespace, err = c.namespace(); err != nil {
			return err
		}
	}
	object := k.object()
	missing := c.client.Get(ctx, key, object)
	if missing != nil && (k.title != nodesTitle || !apierrors.IsNotFound(missing)) {
		return c.elsewhere(ctx, k, key, missing)
	}
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	r, err := c.blocking(ctx, k, object, missing, idle(sync.OnceValues(func() (uninstall.Manager, error) { return c.published(ctx) })))
	if err != nil {
		return err
	}
	if err := format.write(c.out, r, func() { c.printWhy(nameOf(object), r) }); err != nil {
		return err
	}
	return result(r)
}

// blocking returns everything that is known to block an object, with the error if part of it could not be found out. missing is why the
// object could not be read.
func (c *command) blocking(ctx context.Context, k kind, object client.Object, missing error, idle report.Idle) (*report.Report, error) {
	r := &report.Report{Checked: []report.Checked{{Name: k.title, Count: 1}}, Findings: []report.Finding{}}
	if k.other != nil {
		r.Add(k.title, object, k.other(object, c.clock.Now())...)
	}
	r.Add(k.title, object, report.Why(object, idle, c.clock.Now())...)
	switch object.(type) {
	case *corev1.Node, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim:
		known, err := c.whyVolume(ctx, k, object, r)
		if err != nil {
			return r, err
		}
		if missing != nil && !known { // a Node that was deleted is known if it has local volumes
			return r, missing
		}
	}
	if namespace, ok := object.(*corev1.Namespace); ok {
		c.contents(ctx, namespace, idle, r)
	}
	if project, ok := object.(*gardenerv1beta1.Project); ok {
		if err := c.strangers(ctx, project, r); err != nil {
			return r, err
		}
	}
	if !slices.ContainsFunc(kinds(), func(own kind) bool { return own.title == k.title }) {
		if err := c.related(ctx, object, idle, r); err != nil {
			return r, err
		}
	}
	c.nameHosts(ctx, r)
	return r, nil
}

// printWhy prints the findings about an object, and about what it contains.
func (c *command) printWhy(name string, r *report.Report) {
	for _, f := range r.Findings {
		c.out.print("%s\n", c.line(f))
	}
	known := true
	for _, checked := range r.Checked {
		if checked.Problem != "" {
			known = false
			c.out.print("%s\n", c.line(report.Finding{Name: checked.Name, Level: report.Warning, Message: checked.Problem}))
		}
	}
	if report.OK(r.Findings) && known {
		c.out.print("%s: %s\n", name, c.out.in(green, "nothing blocks it"))
	}
	if r.Project != "" {
		c.out.print("%s is the namespace of Project %s\n", name, r.Project)
	}
	for _, port := range r.Ports {
		c.printEnd("", port)
	}
	c.printWays(r.Ways)
	if r.NotChecked != "" {
		c.out.print("Not checked: %s\n", r.NotChecked)
	}
}

// whyKinds returns the kinds that "why" knows something about: Groundskeeper's, and some of Kubernetes.
func whyKinds() []kind {
	return slices.Concat(kinds(), []kind{namespaceKind(), podKind(), serviceKind(), nodeKind()}, volumeKinds(), routeKinds())
}
