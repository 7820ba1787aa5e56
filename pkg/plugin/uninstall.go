// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
	"groundskeeper.io/groundskeeper/pkg/process"
)

func newUninstall(c *command) *cobra.Command {
	o := uninstall.Options{Projects: uninstall.Keep, Klusters: uninstall.Detach, Timeout: 10 * time.Minute}
	var yes, preview, force bool
	var format output
	cmd := &cobra.Command{
		Use:     "uninstall",
		Short:   "Remove the installation in the only safe order",
		Example: "  kubectl groundskeeper uninstall --dry-run\n  kubectl groundskeeper uninstall --dry-run -o json",
		Args:    process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i, word := range o.Abandon {
				o.Abandon[i] = pluralOf(word)
			}
			if err := format.check(); err != nil {
				return err
			}
			if format != "" && !preview {
				return errors.New("--output: a removal shows its progress as text: add --dry-run")
			}
			if force {
				return c.unregister(cmd.Context(), o, yes, preview, format)
			}
			return c.uninstall(cmd.Context(), o, yes, preview, format)
		},
	}
	format.addTo(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	flags.BoolVar(&preview, "dry-run", false, "show the plan, and change nothing")
	flags.StringVar(&o.Projects, "projects", o.Projects, "keep: retain the namespaces of Projects; delete: delete them with their contents")
	flags.StringVar(&o.Klusters, "klusters", o.Klusters, "detach: retain clusters and their resources in OpenStack; deorbit: delete the "+
		"resources that clusters created in OpenStack")
	flags.StringSliceVar(&o.Abandon, "abandon", nil, "`kinds` whose finalizers are removed without cleanup: translations, klusters")
	flags.BoolVar(&o.KeepData, "keep-data", false, "retain the namespaces of the installation, including volumes")
	flags.StringVar(&o.ConfigFile, "config", "",
		"configuration `file` of the controller manager, if it does not run as the Deployment of the manifests")
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long a step may wait without any progress")
	flags.BoolVar(&force, "force-unregister", false, "delete only the APIServices whose server is unavailable, and then the webhooks: the "+
		"way back for a cluster that deletes no namespaces, when the API server is lost")
	for flag, values := range map[string][]string{
		"projects": {uninstall.Keep, uninstall.Delete}, "klusters": {uninstall.Detach, uninstall.Deorbit},
		"abandon": {uninstall.Translations, uninstall.Klusters},
	} {
		completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, other := range []string{"projects", "klusters", "abandon", "keep-data", "config"} {
		cmd.MarkFlagsMutuallyExclusive("force-unregister", other)
	}
	return cmd
}

// errBlocked ends a removal that would get stuck.
var errBlocked = errors.New("the removal does not start: see what blocks it. Nothing was changed")

func (c *command) uninstall(ctx context.Context, o uninstall.Options, yes, preview bool, format output) error {
	if err := o.Validate(); err != nil {
		return err
	}
	u, err := c.uninstaller(o)
	if err != nil {
		return err
	}
	found, err := u.Inspect(ctx)
	if err != nil {
		return err
	}
	plan := uninstall.NewPlan(found, o)
	nothing := plan.Nothing && len(plan.Blockers) == 0
	if err := format.write(c.out, plan, func() {
		if nothing {
			c.out.print("%s\n", c.out.in(green, "nothing of an installation is there"))
			return
		}
		c.out.print("%s", plan)
	}); err != nil {
		return err
	}
	switch {
	case len(plan.Blockers) > 0:
		return errBlocked
	case nothing || preview:
		return nil
	}
	if err := c.confirm("Remove Groundskeeper from this cluster?", yes); err != nil {
		return err
	}
	if err := u.Run(ctx, found); err != nil {
		return err
	}
	c.out.print("%s\n", c.out.in(green, "Groundskeeper has been removed"))
	return nil
}

// unregister frees a cluster whose namespaces cannot be deleted because the API server is lost.
func (c *command) unregister(ctx context.Context, o uninstall.Options, yes, preview bool, format output) error {
	u, err := c.uninstaller(o)
	if err != nil {
		return err
	}
	blocking, err := u.Blocking(ctx)
	if err != nil {
		return err
	}
	if format != "" {
		return format.write(c.out, uninstall.Plan{Sections: []uninstall.Section{{Title: "Registrations are deleted", Lines: blocking}}}, nil)
	}
	if len(blocking) == 0 {
		c.out.print("%s\n", c.out.in(green, "no APIService of Groundskeeper is unavailable: nothing to delete"))
		return nil
	}
	c.out.print("These registrations are deleted, and nothing else. Until they are applied again, objects of Groundskeeper cannot be read,\n"+
		"and the controllers do not work. Namespaces of Projects stay:\n     %s\n", strings.Join(blocking, "\n     "))
	if preview {
		return nil
	}
	if err := c.confirm("Unregister the API of Groundskeeper?", yes); err != nil {
		return err
	}
	return u.Unregister(ctx)
}

// uninstaller makes one that shows what it does here.
func (c *command) uninstaller(o uninstall.Options) (*uninstall.Uninstaller, error) {
	config, err := c.config.ClientConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	u := &uninstall.Uninstaller{Options: o, Client: c.client, Why: c.reason}
	if u.Metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	if u.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, err
	}
	p := &progress{to: c.out}
	u.Show = p.show
	u.Done = func(line string) {
		p.show(fmt.Sprintf("%s %s", c.out.in(green, "done:"), line))
		p.last = "" // it stays
	}
	return u, nil
}

// reason is why an object is blocked: what a user has to fix, or else which finalizer keeps it. It has no times in it,
// so that it stays the same while nothing happens. Of a Translation only the metadata may be there.
func (c *command) reason(ctx context.Context, object client.Object) string {
	if m, ok := object.(*metav1.PartialObjectMetadata); ok {
		full := &midonetv1.Translation{}
		if m.Kind != "Translation" || c.client.Get(ctx, client.ObjectKeyFromObject(m), full) != nil {
			return ""
		}
		object = full
	}
	if s, _ := conditions.Of(object); s.Stalled {
		return report.OneLine(s.Reason + ": " + s.Message)
	}
	known := report.Details(object)
	for _, f := range known {
		if f.Level == report.Warning {
			return f.Message
		}
	}
	if len(known) > 0 {
		return known[len(known)-1].Message
	}
	return ""
}
