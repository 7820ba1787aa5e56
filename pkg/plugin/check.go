// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
	"groundskeeper.io/groundskeeper/pkg/process"
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
		Long: "Check that the API is served and the controller manager works, and show what does not: the pods, endpoints and certificates of " +
			"the installation, and the controllers.\n\n" +
			"It exits with 0 when all works, with 1 when something does not, and with 2 when the API or the controller manager could not be " +
			"checked. What you are not allowed to read of the rest is marked with ?.",
		Example: "  kubectl groundskeeper check --wait=5m",
		Args:    process.NoArgs,
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

// checkOnce checks each API, what serves it, the controller manager with its controllers, and whether the brake stops the cleanup of local
// volumes. That an API or the manager cannot be checked is a problem, what does not work is a finding.
func (c *command) checkOnce(ctx context.Context) *report.Report {
	r := &report.Report{Findings: []report.Finding{}}
	for _, k := range kinds() {
		c.checkAPI(ctx, k, r)
	}
	c.replicas(ctx, r)
	c.endpoints(ctx, r)
	c.certificates(ctx, r)
	c.checkManager(ctx, r)
	c.checkVolumes(ctx, r)
	return r
}

// checkAPI checks whether a kind is served.
func (c *command) checkAPI(ctx context.Context, k kind, r *report.Report) {
	problem := ""
	err := c.client.List(ctx, k.list(), client.Limit(1))
	switch {
	case err == nil, apierrors.IsForbidden(err): // a denial is a response, too
	case meta.IsNoMatchError(err):
		problem = cmp.Or(c.unserved(ctx, groupOf(err)),
			"it is not served: Groundskeeper is not installed, or its API is not registered (kubectl get apiservices)")
		c.client = c.reconnected() // else the client remembers that it is missing
	default:
		problem = c.explained(ctx, err).Error()
	}
	addCheck(r, report.Checked{Name: "API of " + k.title}, problem)
}

// checkManager checks the controller manager, and each controller that is enabled.
func (c *command) checkManager(ctx context.Context, r *report.Report) {
	checked, problem := report.Checked{Name: managerTitle}, ""
	manager, err := uninstall.InspectManager(ctx, c.client, nil)
	switch {
	case apierrors.IsForbidden(err):
		checked.Problem = "you are not allowed to read its Deployment, configuration and Lease in " + uninstall.SystemNamespace
	case err != nil:
		problem = c.explained(ctx, err).Error()
	default:
		problem = silent(manager)
	}
	addCheck(r, checked, problem)
	for _, name := range slices.Sorted(maps.Keys(manager.Controllers)) {
		if state := manager.Controllers[name]; state.State != controllerstate.Disabled {
			addCheck(r, report.Checked{Name: "controller " + name}, controllerProblem(state))
		}
	}
}

// silent returns why no controller manager works, with what to do about it; "" when one does.
func silent(m uninstall.Manager) string {
	if m.Silent == "" {
		return ""
	}
	return m.Silent + ": kubectl logs -n " + uninstall.SystemNamespace + " deployment/" + uninstall.ManagerName
}

// controllerProblem returns why a controller does not work, or what it found that belongs to no object; "" if neither.
func controllerProblem(state controllerstate.State) string {
	switch state.State {
	case controllerstate.Waiting:
		return "waiting for permissions: " + state.Reason
	case controllerstate.Starting:
		return "starting: it fills its caches"
	}
	return strings.Join(state.Findings, "; ")
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
	width := 25 // most names fit
	for _, checked := range r.Checked {
		width = max(width, len(checked.Name))
	}
	for _, checked := range r.Checked {
		mark, state := c.out.in(green, "✓"), "ok"
		if checked.Note != "" {
			state += ", " + checked.Note
		}
		if checked.Unread != "" {
			mark, state = c.out.in(yellow, "?"), checked.Unread
		}
		if i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Kind == checked.Name }); i >= 0 {
			mark, state = c.out.in(red, "✗"), c.out.in(red, r.Findings[i].Message)
		}
		if checked.Problem != "" {
			mark, state = c.out.in(yellow, "?"), "unknown: "+checked.Problem
		}
		c.out.print("%s %-*s  %s\n", mark, width, checked.Name, state)
	}
}
