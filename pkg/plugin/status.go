// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// installationTitle is what status calls what serves the API.
const installationTitle = "Installation"

func newStatus(c *command) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is stale, draining, deorbiting, drifting or failing, in all namespaces or one",
		Long: "Show what is stale, draining, deorbiting, drifting or failing, in all namespaces or one.\n\n" +
			"An object is ok if Ready is True for its generation and it is not being deleted. ! marks what a user has to repair, ~ what the\n" +
			"controllers are working on, · what is worth knowing of an object that is ok.\n\n" +
			"It exits with 0 when every object is ok, with 1 when one is not, and with 2 when something could not be checked.",
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.status(cmd.Context(), cmd.Flags().Changed("namespace"), format)
		},
	}
	format.addTo(cmd)
	return cmd
}

// status prints a line for each kind and for each finding.
func (c *command) status(ctx context.Context, one bool, format output) error {
	if err := format.check(); err != nil {
		return err
	}
	namespace := ""
	if one {
		var err error
		if namespace, err = c.namespace(); err != nil {
			return err
		}
	}
	state, err := c.inspect(ctx, namespace)
	if err != nil {
		return err
	}
	if err := format.write(c.out, state, func() { c.printReport(state) }); err != nil {
		return err
	}
	return result(state)
}

// inspect finds out what there is to report in a namespace, "" for all.
func (c *command) inspect(ctx context.Context, namespace string) (*report.Report, error) {
	r := &report.Report{Findings: []report.Finding{}}
	served := false
	var missing error
	var projects map[string]types.UID // nil when they could not be listed
	manager := sync.OnceValues(func() (uninstall.Manager, error) { return c.published(ctx) })
	for _, k := range kinds() {
		if namespace != "" && k.global {
			continue
		}
		objects, err := report.All(ctx, c.client, k.list(), namespace)
		checked := report.Checked{Name: k.title, Count: len(objects)}
		if meta.IsNoMatchError(err) {
			missing = err
			continue // an installation may serve some of the kinds only
		}
		checked.Problem = c.unlisted(ctx, k, namespace, err)
		served = true
		r.Checked = append(r.Checked, checked)
		if _, ok := k.object().(*gardenerv1beta1.Project); ok && err == nil {
			projects = map[string]types.UID{}
		}
		for _, object := range objects {
			r.Add(k.title, object, report.Of(object, idle(manager), c.clock.Now())...)
			if projects != nil && k.global {
				projects[object.GetName()] = object.GetUID()
			}
		}
	}
	if !served && missing != nil {
		return nil, missing
	}
	c.nameHosts(ctx, r)
	if namespace != "" {
		return r, nil
	}
	return r, c.others(ctx, r, manager, projects)
}

// others adds what is about no object of Groundskeeper: what serves the API, the controller manager, local volumes, namespaces of Projects
// and admission policies. projects are the UIDs of all Projects, nil if they are unknown.
func (c *command) others(
	ctx context.Context, r *report.Report, manager func() (uninstall.Manager, error), projects map[string]types.UID,
) error {
	c.installation(ctx, r)
	if err := c.manager(r, manager); err != nil {
		return err
	}
	if err := c.localVolumes(ctx, r); err != nil {
		return err
	}
	if projects != nil {
		c.orphans(ctx, r, projects)
	}
	return c.policies(ctx, r)
}

// published returns how the controller manager runs. The Lease alone shows what the controllers found to who may not read the rest.
func (c *command) published(ctx context.Context) (uninstall.Manager, error) {
	m, err := uninstall.InspectManager(ctx, c.client, nil)
	if apierrors.IsForbidden(err) {
		return uninstall.Published(ctx, c.client)
	}
	return m, err
}

// idle returns why a controller does not run. How the manager runs takes seconds to find out, and is only read for an object that waits.
func idle(manager func() (uninstall.Manager, error)) report.Idle {
	return func(controller string) string {
		m, err := manager()
		if err != nil {
			return "" // it is unknown
		}
		return m.Idle(controller)
	}
}

// manager adds that no controller manager works, and what the controllers found that belongs to no object, or wait for.
func (c *command) manager(r *report.Report, inspect func() (uninstall.Manager, error)) error {
	m, err := inspect()
	switch {
	case apierrors.IsForbidden(err):
		r.Checked = append(r.Checked, report.Checked{Name: managerTitle,
			Problem: "you are not allowed to read its Lease in " + uninstall.SystemNamespace + "; select a namespace with -n"})
		return nil
	case err != nil:
		return fmt.Errorf("read the Lease of the controller manager: %w", err)
	}
	all := slices.Concat(m.Waiting(), m.Findings())
	if problem := silent(m); problem != "" {
		all = append(all, problem)
	}
	if len(all) == 0 {
		return nil
	}
	r.Checked = append(r.Checked, report.Checked{Name: managerTitle, Count: len(all)})
	for _, message := range all {
		r.Findings = append(r.Findings, report.Finding{Kind: managerTitle, Name: uninstall.ManagerName, Level: report.Warning,
			Message: report.OneLine(message)})
	}
	return nil
}

// installation adds what does not work of what serves the API. What the user may not read is for check to show.
func (c *command) installation(ctx context.Context, r *report.Report) {
	parts := &report.Report{}
	c.replicas(ctx, parts)
	c.endpoints(ctx, parts)
	c.certificates(ctx, parts)
	for _, f := range parts.Findings {
		f.Kind = installationTitle
		r.Findings = append(r.Findings, f)
	}
	if len(parts.Findings) > 0 {
		r.Checked = append(r.Checked, report.Checked{Name: installationTitle, Count: len(parts.Findings)})
	}
}

// unlisted is why the objects of a kind could not be listed, "" when they could. The other kinds may be served nevertheless.
func (c *command) unlisted(ctx context.Context, k kind, namespace string, err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsForbidden(err):
		return notAllowed(k, namespace)
	default:
		return report.OneLine(fmt.Sprintf("list %s: %s", k.title, c.explained(ctx, err)))
	}
}

// notAllowed names what the user is not allowed to do, and what works with fewer permissions.
func notAllowed(k kind, namespace string) string {
	switch {
	case namespace != "":
		return fmt.Sprintf("you are not allowed to list %s in namespace %s", k.title, namespace)
	case k.global:
		return fmt.Sprintf("you are not allowed to list %s; select a namespace with -n", k.title)
	default:
		return fmt.Sprintf("you are not allowed to list %s in all namespaces; select one with -n", k.title)
	}
}

// printReport prints how many objects of each kind there are, and the findings about them.
func (c *command) printReport(r *report.Report) {
	for _, checked := range r.Checked {
		var lines []string
		warnings, working := map[string]bool{}, false
		for _, f := range r.Findings {
			if f.Kind != checked.Name {
				continue
			}
			if f.Level == report.Warning {
				warnings[report.Name(f.Namespace, f.Name)] = true
			}
			working = working || f.Level == report.InProgress
			lines = append(lines, c.line(f))
		}
		c.out.print("%s\n", strings.TrimRight(fmt.Sprintf("%s %6d  %s", c.out.in(bold, fmt.Sprintf("%-18s", checked.Name)), checked.Count,
			c.summary(checked, len(warnings), working)), " "))
		for _, line := range lines {
			c.out.print("%s\n", line)
		}
	}
}

// summary returns the state of a kind in a few words.
func (c *command) summary(checked report.Checked, warnings int, working bool) string {
	switch {
	case checked.Problem != "":
		return c.out.in(red, checked.Problem)
	case warnings == 1:
		return c.out.in(red, "1 needs attention")
	case warnings > 0:
		return c.out.in(red, fmt.Sprintf("%d need attention", warnings))
	case working:
		return c.out.in(yellow, "in progress")
	case checked.Count > 0:
		return c.out.in(green, "ok")
	}
	return ""
}

// line returns a finding of an object.
func (c *command) line(f report.Finding) string {
	mark := map[report.Level]string{report.Warning: c.out.in(red, "!"), report.InProgress: c.out.in(yellow, "~"), report.Info: "·"}[f.Level]
	return fmt.Sprintf("  %s %-30s %s", mark, report.Name(f.Namespace, f.Name), f.Message)
}

func nameOf(object client.Object) string {
	return report.Name(object.GetNamespace(), object.GetName())
}
