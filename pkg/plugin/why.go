// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

func newWhy(c *command) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Show what blocks an object, or the deletion of a namespace, and the way of a Service",
		Long: "Show what blocks an object, or the deletion of a namespace. Of a Project, " +
			"list the role bindings and the tokens of service accounts\n" +
			"in its namespace that are not of its members, as former members may have left them. Of a Service on OVN, show the way of\n" +
			"connections as well: its load balancers, and the port, the switch and the chassis of each endpoint; of a Node, whether OVN has its\n" +
			"chassis. Of a claim, a volume and a Node, also of one that was deleted, show which local volumes are deleted and when, or why they\n" +
			"are retained.\n\n" +
			"It exits with 0 when nothing does, with 1 when there are findings, and with 2 when the object could not be read.",
		Example: "  kubectl groundskeeper why kluster/web -n garden-shop\n  kubectl groundskeeper why namespace/garden-shop\n" +
			"  kubectl groundskeeper why service/web -n shop\n  kubectl groundskeeper why node/worker-7",
		Args:              cobra.RangeArgs(1, 2),
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
		return missing
	}
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	r := &report.Report{Checked: []report.Checked{{Name: k.title, Count: 1}}, Findings: []report.Finding{}}
	addFindings(r, k.title, object, append(k.findings(object, c.clock.Now()), details(object)...))
	if kluster, ok := object.(*kubernikusv1.Kluster); ok && kluster.Status.Deorbit == nil && kluster.DeletionTimestamp != nil &&
		kluster.HasDeorbiter() {
		manager, err := uninstall.InspectManager(ctx, c.client, nil)
		if reason := notTornDown(kluster, manager, err); reason != "" {
			addFindings(r, k.title, object, []finding{found(warning, "no controller deorbits it: %s", reason)})
		}
	}
	switch object.(type) {
	case *corev1.Node, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim:
		known, err := c.whyVolume(ctx, k, object, r)
		if err != nil {
			return err
		}
		if missing != nil && !known { // a Node that was deleted is known if it has local volumes
			return missing
		}
	}
	if namespace, ok := object.(*corev1.Namespace); ok {
		c.contents(ctx, namespace, r)
	}
	if project, ok := object.(*gardenerv1beta1.Project); ok {
		if err := c.strangers(ctx, project, r); err != nil {
			return err
		}
	}
	if service, ok := object.(*corev1.Service); ok {
		if err := c.ways(ctx, service, r); err != nil {
			return err
		}
		if err := c.endpointsOf(ctx, service, r); err != nil {
			return err
		}
	}
	if err := format.write(c.out, r, func() { c.printWhy(nameOf(object), r) }); err != nil {
		return err
	}
	return result(r)
}

// printWhy prints the findings about an object, and about what it contains.
func (c *command) printWhy(name string, r *report.Report) {
	for _, f := range r.Findings {
		level := inProgress
		if f.Level == warning.String() {
			level = warning
		}
		c.out.print("%s\n", c.line(strings.TrimPrefix(f.Namespace+"/"+f.Name, "/"), finding{level, f.Message}))
	}
	known := true
	for _, checked := range r.Checked {
		if checked.Problem != "" {
			known = false
			c.out.print("%s\n", c.line(checked.Name, finding{warning, checked.Problem}))
		}
	}
	if len(r.Findings) == 0 && known {
		c.out.print("%s: %s\n", name, c.out.in(green, "nothing blocks it"))
	}
	if r.Project != "" {
		c.out.print("%s is the namespace of Project %s\n", name, r.Project)
	}
	c.printWays(r.Ways)
}

// whyKinds returns the kinds that "why" knows something about: Groundskeeper's, and some of Kubernetes.
func whyKinds() []kind {
	return append(append(kinds(), namespaceKind(), serviceKind(), nodeKind()), volumeKinds()...)
}

// keepers are Groundskeeper's finalizers, and which controller removes them.
var keepers = map[string]string{
	gardenerv1beta1.FinalizerName: "the controller for Projects removes it when the namespace has been deleted",
	kubernikusv1.DeorbiterFinalizer: "Deorbit removes it, when controllers.kluster.enabled is true; annotation " +
		kubernikusv1.SelfDestructAnnotation + "=" + kubernikusv1.SelfDestructNow +
		" (kubectl groundskeeper deorbit --self-destruct) ends Deorbit after a last check",
	kubernikusv1.ClusterAPIFinalizer: "controller kluster-capi removes it when its Cluster has been informed, when " +
		"controllers.kluster.clusterAPI.enabled is true",
	kubernikusv1.ImportedDeorbiterFinalizer: "Deorbit removes it, as it removes " + kubernikusv1.DeorbiterFinalizer,
	midonetv1.FinalizerName: "the controller translation-push removes it when the resources have been deleted from the " +
		"backend; it runs when controllers.translation has one, midonet or ovn",
	gimbalv1.FinalizerName: "the controller discovery-operator removes it when the copies and the references to them have " +
		"been deleted",
}

// details returns what the findings of a list leave out.
func details(object client.Object) (all []finding) {
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		for _, c := range o.Status.Conditions {
			if c.Type == gardenerv1beta1.ProjectDeletable && c.Status != gardenerv1beta1.ConditionTrue {
				all = append(all, found(inProgress, "cannot be deleted now: %s: %s", c.Reason, c.Message))
			}
		}
	case *kubernikusv1.Kluster:
		all = append(all, remedies(o)...)
		if d := o.Status.Deorbit; d != nil {
			all = append(all, objects(warning, "remains", d.Remaining)...)
			all = append(all, objects(warning, "is left over, and nothing requests to keep it", d.Undecided)...)
			all = append(all, objects(inProgress, "is kept as configured", d.Retained)...)
		}
	case *midonetv1.Translation:
		for _, r := range o.Status.Resources {
			if r.State == midonetv1.BackendResourceFailed || r.State == midonetv1.BackendResourceDrifted ||
				r.State == midonetv1.BackendResourceNotApplicable {
				all = append(all, found(warning, "resource %s is %s: %s", strings.TrimSpace(r.Kind+" "+r.ID), r.State, r.Message))
			}
		}
	}
	if object.GetDeletionTimestamp() == nil {
		return all
	}
	for _, name := range object.GetFinalizers() {
		who := keepers[name]
		switch {
		case who != "":
		case name == metav1.FinalizerDeleteDependents:
			who = "the garbage collector removes it when the dependents of the object have been deleted"
		default:
			who = "it belongs to another controller"
		}
		all = append(all, found(inProgress, "is blocked by the finalizer %s: %s", name, who))
	}
	return all
}

func objects(level level, what string, list []kubernikusv1.DeorbitObject) (all []finding) {
	for _, o := range list {
		all = append(all, found(level, "%s: %s: %s", what, describe(o), o.Reason))
	}
	return all
}

func describe(o kubernikusv1.DeorbitObject) string {
	text := o.Kind
	if o.Name != "" {
		text += " " + nameIn(o.Namespace, o.Name)
	}
	if o.ID != "" {
		text += fmt.Sprintf(" (%s)", o.ID)
	}
	return text
}

func nameIn(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
