// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	served "groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

func newRestore(c *command) *cobra.Command {
	var yes, preview bool
	cmd := &cobra.Command{
		Use:   "restore-references [discoverybackend/]NAME",
		Short: "Put the references back that routes lost when a DiscoveryBackend of this name was deleted",
		Long: "Put the references back that routes lost when a DiscoveryBackend of this name was deleted. Create the backend again first, " +
			"and wait until its Services exist. A rule that was changed since then is skipped.",
		Example:           "  kubectl groundskeeper restore-references us-east -n gimbal-discovery --dry-run",
		Args:              oneObject,
		ValidArgsFunction: c.completeNames(backendsTitle),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseAs(backendsTitle, args)
			if err != nil {
				return err
			}
			return c.restore(cmd.Context(), name, yes, preview)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation")
	cmd.Flags().BoolVar(&preview, "dry-run", false, "show what would be restored, and change nothing")
	return cmd
}

// restorer puts references back into routes.
type restorer interface {
	Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend, preview bool) ([]release.Restoration, error)
}

// references returns those of the cluster. Which backends reach all namespaces is for the controllers to know: here a Service
// counts wherever a discoverer wrote it.
func (c *command) references(backend *gimbalv1.DiscoveryBackend) (restorer, error) {
	config, err := c.config.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	routes, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &release.References{Live: c.client, Routes: routes, Find: served.NewFinder(found), AdminNamespaces: []string{backend.Namespace},
		Clock: c.clock}, nil
}

func (c *command) restore(ctx context.Context, name string, yes, preview bool) error {
	namespace, err := c.namespace()
	if err != nil {
		return err
	}
	backend := &gimbalv1.DiscoveryBackend{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, backend); err != nil {
		return err
	}
	references, err := c.references(backend)
	if err != nil {
		return err
	}
	return c.restoreWith(ctx, backend, references, yes, preview)
}

// restoreWith shows what is restored, prompts, and restores it.
func (c *command) restoreWith(ctx context.Context, backend *gimbalv1.DiscoveryBackend, references restorer, yes, preview bool) error {
	if !backend.DeletionTimestamp.IsZero() {
		return fmt.Errorf("DiscoveryBackend %s is being deleted: create it again when it has been deleted", nameOf(backend))
	}
	what := "restored"
	if status.IsInMaintenance(backend) {
		what = "restored drained, because the backend is in maintenance"
	}
	planned, err := references.Restore(ctx, backend, true)
	if err != nil {
		return err
	}
	count := c.showRestored(planned, "would be "+what)
	if count == 0 || preview {
		if len(planned) == 0 {
			c.out.print("No route has a record of references that were removed for a DiscoveryBackend %s.\n", backend.Name)
		}
		return failures(planned)
	}
	if err := c.confirm(fmt.Sprintf("Restore the references of %d routes to %s?", count, nameOf(backend)), yes); err != nil {
		return err
	}
	done, err := references.Restore(ctx, backend, false)
	c.showRestored(done, c.out.in(green, what))
	return errors.Join(err, failures(done))
}

// showRestored prints what became of each route, and counts those with something restored.
func (c *command) showRestored(routes []release.Restoration, what string) (count int) {
	for _, r := range routes {
		if len(r.Elements) > 0 && r.Err == nil {
			count++
		}
		for _, element := range r.Elements {
			c.out.print("%s %s: %s\n", r.Route, element, what)
		}
		for _, reason := range r.Skipped {
			c.out.print("%s %s\n", r.Route, c.out.in(yellow, "skipped: "+reason))
		}
	}
	return count
}

func failures(routes []release.Restoration) error {
	var errs []error
	for _, r := range routes {
		if r.Err != nil {
			errs = append(errs, r.Err)
		}
	}
	return errors.Join(errs...)
}
