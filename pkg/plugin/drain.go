// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

func newDrain(c *command) *cobra.Command {
	var yes, undo, preview bool
	cmd := &cobra.Command{
		Use:               "drain [discoverybackend/]NAME",
		Short:             "Take a DiscoveryBackend out of service, and watch its traffic move away",
		Example:           "  kubectl groundskeeper drain us-east -n gimbal-discovery --dry-run",
		Args:              oneObject,
		ValidArgsFunction: c.completeNames(backendsTitle),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseAs(backendsTitle, args)
			if err != nil {
				return err
			}
			return c.drain(cmd.Context(), name, drainOptions{yes: yes, undo: undo, preview: preview})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	cmd.Flags().BoolVar(&undo, "undo", false, "bring the backend back to service")
	cmd.Flags().BoolVar(&preview, "dry-run", false, "show what would happen, and change nothing")
	return cmd
}

// enabled is the reason of the condition Drained when nothing is left to restore.
const enabled = "Enabled"

type drainOptions struct{ yes, undo, preview bool }

func (c *command) drain(ctx context.Context, name string, o drainOptions) error {
	namespace, err := c.namespace()
	if err != nil {
		return err
	}
	backend := &gimbalv1.DiscoveryBackend{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, backend); err != nil {
		return err
	}
	to := gimbalv1.ClusterMaintenance
	if o.undo {
		to = gimbalv1.ClusterEnabled
	}
	question, err := drainQuestion(backend, to)
	if err != nil {
		return err
	}
	c.out.print("%s", question.preview)
	if err := c.rehearse(ctx, backend, to); err != nil {
		return err
	}
	if o.preview {
		return nil
	}
	if backend.Cluster.ClusterStatus != to {
		if err := c.confirm(question.text, o.yes); err != nil {
			return err
		}
		if err := c.setClusterStatus(ctx, backend, to); err != nil {
			return err
		}
	}
	return c.watchDrain(ctx, backend, to)
}

// drainQuestion is what is confirmed before a backend is drained, or brought back.
func drainQuestion(backend *gimbalv1.DiscoveryBackend, to gimbalv1.ClusterStatus) (question, error) {
	if !backend.DeletionTimestamp.IsZero() {
		return question{}, fmt.Errorf("it is being deleted: kubectl groundskeeper why discoverybackend/%s -n %s", backend.Name, backend.Namespace)
	}
	if to == gimbalv1.ClusterEnabled {
		return question{text: fmt.Sprintf("Bring %s back to service?", nameOf(backend))}, nil
	}
	return question{preview(backend), fmt.Sprintf("Take %s out of service?", nameOf(backend))}, nil
}

// rehearse sends the change without effect, because the API server warns of what the status of the backend does not have, such as backends
// that may lead to the same cluster. A user who may not do it sees the rest of the preview.
func (c *command) rehearse(ctx context.Context, backend *gimbalv1.DiscoveryBackend, to gimbalv1.ClusterStatus) error {
	if backend.Cluster.ClusterStatus == to {
		return nil
	}
	after := backend.DeepCopy()
	after.Cluster.ClusterStatus = to
	err := c.client.Patch(ctx, after, client.MergeFrom(backend), client.DryRunAll)
	if apierrors.IsForbidden(err) {
		return nil // the drain itself reports it
	}
	return err
}

// setClusterStatus drains a backend, or brings it back, unless a user changed it meanwhile.
func (c *command) setClusterStatus(ctx context.Context, backend *gimbalv1.DiscoveryBackend, to gimbalv1.ClusterStatus) error {
	return change(ctx, c.client, backend, func() { backend.Cluster.ClusterStatus = to })
}

// preview describes what a drain does. The maintenance controller counts the routes of a backend that serves, too.
func preview(b *gimbalv1.DiscoveryBackend) string {
	r := b.Status.Routes
	if r == nil {
		return "The routes have not been counted yet: does the controller discovery-maintenance run?\n"
	}
	text := fmt.Sprintf("%d routes send traffic to %s: they stop, and start again with --undo.\n", r.Matching, nameOf(b))
	unique := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionClusterUnique)
	if unique != nil && unique.Reason == gimbalv1.ReasonSameCluster {
		text += report.OneLine(unique.Message) + "\n"
	}
	if alone := r.WithoutAlternative; alone != nil && alone.Count > 0 {
		what := "will RETURN ERRORS, because its endpoints are withheld"
		if b.Cluster.DrainPolicy == gimbalv1.DrainKeepSole {
			what = "keep sending traffic to it (cluster.drainPolicy is KeepSole)"
		}
		text += fmt.Sprintf("%d of them have no other backend, and %s:\n", alone.Count, what)
		for _, name := range alone.Names {
			text += "  " + name + "\n"
		}
		if more := int(alone.Count) - len(alone.Names); more > 0 {
			text += fmt.Sprintf("  and %d more\n", more)
		}
	}
	return text
}

// watchDrain shows how far the routes are, until all of them are.
func (c *command) watchDrain(ctx context.Context, backend *gimbalv1.DiscoveryBackend, to gimbalv1.ClusterStatus) error {
	p := &progress{to: c.out}
	done, deleted := errors.New("done"), errors.New("it has been deleted meanwhile")
	generation := backend.Generation
	err := follow(ctx, c.client, backend, &gimbalv1.DiscoveryBackendList{}, func(now *gimbalv1.DiscoveryBackend) error {
		line, reached := drainLine(now, to, generation)
		p.show(line)
		if reached {
			return done
		}
		if now.Cluster.ClusterStatus != to {
			return fmt.Errorf("another client has set its clusterStatus to %s meanwhile", now.Cluster.ClusterStatus)
		}
		return nil
	}, p.lost, deleted)
	if errors.Is(err, done) {
		c.out.print("%s: %s\n", nameOf(backend), c.out.in(green, map[gimbalv1.ClusterStatus]string{
			gimbalv1.ClusterMaintenance: "drained", gimbalv1.ClusterEnabled: "back in service",
		}[to]))
		return nil
	}
	return err
}

// drainLine is how far a backend is on its way, and whether it is there. Before the controller has seen the generation,
// its words are about what was before.
func drainLine(b *gimbalv1.DiscoveryBackend, to gimbalv1.ClusterStatus, generation int64) (line string, reached bool) {
	c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained)
	if c == nil || c.ObservedGeneration < generation {
		return "waiting for the maintenance controller", false
	}
	line = report.OneLine(c.Reason + ": " + c.Message)
	if r := b.Status.Routes; r != nil && r.Matching > 0 {
		line = bar(int(r.Drained), int(r.Matching)) + " routes  " + line
	}
	if to == gimbalv1.ClusterMaintenance {
		return line, c.Status == "True"
	}
	return line, c.Status == "False" && c.Reason == enabled
}
