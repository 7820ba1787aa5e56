// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func newWhy(c *command) *cobra.Command {
	return &cobra.Command{
		Use:     "why KIND/NAME",
		Short:   "Say what holds up an object",
		Example: "  kubectl groundskeeper why kluster/web -n garden-shop",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, name, err := parse(args)
			if err != nil {
				return err
			}
			return c.why(cmd.Context(), k, name)
		},
	}
}

// why prints everything that is known to hold up an object.
func (c *command) why(ctx context.Context, k kind, name string) error {
	key := client.ObjectKey{Name: name}
	if !k.global {
		var err error
		if key.Namespace, err = c.namespace(); err != nil {
			return err
		}
	}
	object := k.object()
	if err := c.client.Get(ctx, key, object); err != nil {
		return err
	}
	all := append(k.findings(object, c.clock.Now()), details(object)...)
	for _, f := range all {
		c.out.print("%s\n", c.line(nameOf(object), f))
	}
	if len(all) == 0 {
		c.out.print("%s: %s\n", nameOf(object), c.out.in(green, "nothing holds it up"))
	}
	return nil
}

// keepers are our finalizers, and who takes them.
var keepers = map[string]string{
	gardenerv1beta1.FinalizerName:           "the controller of Projects takes it, when the namespace is empty",
	kubernikusv1.DeorbiterFinalizer:         "Deorbit takes it, or the annotation " + kubernikusv1.DetachAnnotation + "=true has it taken, when controllers.kluster.enabled",
	kubernikusv1.ImportedDeorbiterFinalizer: "Deorbit takes it, as it takes " + kubernikusv1.DeorbiterFinalizer,
	midonetv1.FinalizerName:                 "the controller translation-push takes it, when the resources are gone from MidoNet; it runs when controllers.translation.midonet.url is set",
	gimbalv1.FinalizerName:                  "the operator takes it, when the copies and the references to them are gone",
}

// details are what the findings of a list leave out.
func details(object client.Object) (all []finding) {
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		for _, c := range o.Status.Conditions {
			if c.Type == gardenerv1beta1.ProjectDeletable && c.Status != gardenerv1beta1.ConditionTrue {
				all = append(all, found(busy, "cannot be deleted now: %s: %s", c.Reason, c.Message))
			}
		}
	case *kubernikusv1.Kluster:
		if d := o.Status.Deorbit; d != nil {
			all = append(all, objects(warning, "remains", d.Remaining)...)
			all = append(all, objects(busy, "stays on purpose", d.Retained)...)
		}
	case *midonetv1.Translation:
		for _, r := range o.Status.Resources {
			if r.State == midonetv1.BackendResourceFailed || r.State == midonetv1.BackendResourceDrifted || r.State == midonetv1.BackendResourceNotApplicable {
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
			who = "the garbage collector takes it, when what belongs to the object is gone"
		default:
			who = "it is of somebody else"
		}
		all = append(all, found(busy, "is kept by the finalizer %s: %s", name, who))
	}
	return all
}

// objects are what Deorbit has on its lists.
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
