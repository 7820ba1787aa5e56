// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

const (
	// managerTitle is what check calls the controller manager.
	managerTitle = "controller manager"
	// checkInterval is the pause between two checks of --wait.
	checkInterval = 2 * time.Second
)

func newCheck(c *command) *cobra.Command {
	var format output
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the API is served and the controller manager works",
		Long: "Check that the API is served and the controller manager works.\n\n" +
			"It exits with 0 when both do, with 1 when one does not, and with 2 when that could not be checked.",
		Example: "  kubectl groundskeeper check --wait=5m",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.check(cmd.Context(), wait, format) },
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait up to this long until everything works, such as 5m")
	format.addTo(cmd)
	return cmd
}

// check prints what works of the installation, after it has waited for all.
func (c *command) check(ctx context.Context, wait time.Duration, format output) error {
	if err := format.check(); err != nil {
		return err
	}
	if wait < 0 {
		return fmt.Errorf("--wait: %s is negative", wait)
	}
	var r *report.Report
	for deadline := time.Now().Add(wait); ; {
		r = c.checkOnce(ctx)
		if len(r.Findings) == 0 || ctx.Err() != nil || time.Now().Add(checkInterval).After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(checkInterval):
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := format.write(c.out, r, func() { c.printCheck(r) }); err != nil {
		return err
	}
	return result(r)
}

// checkOnce checks each API, the controller manager, and whether the brake stops the cleanup of local volumes. What cannot be known without
// a permission is a problem, what does not work is a finding.
func (c *command) checkOnce(ctx context.Context) *report.Report {
	r := &report.Report{Findings: []report.Finding{}}
	fails := func(name, message string) {
		r.Findings = append(r.Findings, report.Finding{Kind: name, Name: name, Level: warning.String(), Message: oneLine(message)})
	}
	for _, k := range kinds() {
		name := "API of " + k.title
		r.Checked = append(r.Checked, report.Checked{Name: name})
		err := c.client.List(ctx, k.list(), client.Limit(1))
		switch {
		case err == nil, apierrors.IsForbidden(err): // a denial is a response, too
		case meta.IsNoMatchError(err):
			fails(name, "it is not served: Groundskeeper is not installed, or its API is not registered (kubectl get apiservices)")
			c.client = c.reconnected() // else the client remembers that it is missing
		default:
			fails(name, explained(err).Error())
		}
	}
	checked := report.Checked{Name: managerTitle}
	manager, err := uninstall.InspectManager(ctx, c.client, nil)
	switch {
	case apierrors.IsForbidden(err):
		checked.Problem = "you are not allowed to read its Deployment, configuration and Lease in " + uninstall.SystemNamespace
	case err != nil:
		fails(managerTitle, explained(err).Error())
	case manager.Silent != "":
		fails(managerTitle, manager.Silent)
	}
	if problems := slices.Concat(manager.Waiting(), manager.Findings()); len(problems) > 0 {
		fails(managerTitle, strings.Join(problems, "; "))
	}
	r.Checked = append(r.Checked, checked)
	c.checkVolumes(ctx, r)
	return r
}

// reconnected returns a client without a cached discovery. If it cannot be created, the existing client is used.
func (c *command) reconnected() client.WithWatch {
	before := c.client
	if c.config == nil || c.connect() != nil {
		return before
	}
	return c.client
}

// printCheck prints a line for each part.
func (c *command) printCheck(r *report.Report) {
	for _, checked := range r.Checked {
		state := c.out.in(green, "ok")
		if checked.Note != "" {
			state += ", " + checked.Note
		}
		if i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Kind == checked.Name }); i >= 0 {
			state = c.out.in(red, r.Findings[i].Message)
		}
		if checked.Problem != "" {
			state = c.out.in(yellow, "unknown: "+checked.Problem)
		}
		c.out.print("%-26s %s\n", checked.Name, state)
	}
}
