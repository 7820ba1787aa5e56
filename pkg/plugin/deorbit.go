// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

func newDeorbit(c *command) *cobra.Command {
	var watch, yes bool
	var end ending
	cmd := &cobra.Command{
		Use:   "deorbit [kluster/]NAME",
		Short: "Delete a Kluster with all that it made in OpenStack, show the progress, or end it",
		Example: "  kubectl groundskeeper deorbit web -n garden-shop --watch\n  kubectl groundskeeper deorbit web -n garden-shop " +
			"--self-destruct",
		Args:              oneObject,
		ValidArgsFunction: c.completeNames(klustersTitle),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := parseAs(klustersTitle, args)
			if err != nil {
				return err
			}
			return c.deorbit(cmd.Context(), name, end, yes, watch)
		},
	}
	cmd.Flags().BoolVar(&end.selfDestruct, "self-destruct", false, "end the Deorbit of a Kluster that is being deleted: OpenStack is "+
		"cleaned up a last time, and what remains then is listed, and stays")
	cmd.Flags().BoolVar(&end.thaw, "thaw", false, "end the Deorbit of a Kluster that is being deleted, and keep everything that is left: "+
		"the freeze of its cluster is lifted, and the Kluster is released")
	cmd.MarkFlagsMutuallyExclusive("self-destruct", "thaw")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "wait until the Kluster has been deleted, and show its stages; of a Kluster that is "+
		"being deleted already, only show them")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	return cmd
}

// ending is how a Deorbit that has begun is ended; the zero value lets it continue.
type ending struct{ selfDestruct, thaw bool }

// endDeorbit sets the annotation that ends the Deorbit of a Kluster, once that was confirmed.
func (c *command) endDeorbit(ctx context.Context, k *kubernikusv1.Kluster, end ending, yes bool) error {
	if k.DeletionTimestamp.IsZero() || !k.HasDeorbiter() {
		return fmt.Errorf("no Deorbit of Kluster %s/%s has begun that could be ended. Nothing was changed", k.Namespace, k.Name)
	}
	key, value, question := kubernikusv1.SelfDestructAnnotation, kubernikusv1.SelfDestructNow, "End the Deorbit of Kluster %s/%s after a "+
		"last check, and leave what remains?"
	if end.thaw {
		key, value, question = kubernikusv1.DetachAnnotation, "true", "End the Deorbit of Kluster %s/%s, leave its cluster and OpenStack "+
			"unchanged, and lift the freeze?"
	}
	if err := c.confirm(fmt.Sprintf(question, k.Namespace, k.Name), yes); err != nil {
		return err
	}
	return change(ctx, c.client, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, key, value) })
}

func (c *command) deorbit(ctx context.Context, name string, end ending, yes, watch bool) error {
	namespace, err := c.namespace()
	if err != nil {
		return err
	}
	k := &kubernikusv1.Kluster{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, k); err != nil {
		return err
	}
	switch {
	case end != ending{}:
		if err := c.endDeorbit(ctx, k, end, yes); err != nil {
			return err
		}
	case k.DeletionTimestamp.IsZero():
		if err := c.deleteKluster(ctx, k, yes); err != nil {
			return err
		}
	}
	if !watch {
		c.out.print("Kluster %s/%s is being deleted: kubectl groundskeeper deorbit %s -n %s --watch shows how far it is\n", namespace, name, name,
			namespace)
		return nil
	}
	return c.watchDeorbit(ctx, k)
}

// deleteKluster shows what will be deleted, and deletes the Kluster once that was confirmed.
func (c *command) deleteKluster(ctx context.Context, k *kubernikusv1.Kluster, yes bool) error {
	question, err := c.deletionQuestion(ctx, k)
	if err != nil {
		return err
	}
	c.out.print("%s", question.preview)
	if err := c.confirm(question.text, yes); err != nil {
		return err
	}
	return c.confirmDeletion(ctx, k)
}

// deletionQuestion is what is confirmed before a Kluster is deleted.
func (c *command) deletionQuestion(ctx context.Context, k *kubernikusv1.Kluster) (question, error) {
	if k.TerminationProtected() {
		return question{}, fmt.Errorf("the annotation %s protects it: remove that first", kubernikusv1.TerminationProtectionAnnotation)
	}
	manager, err := c.published(ctx)
	if err != nil && !apierrors.IsForbidden(err) {
		return question{}, err
	}
	if reason := notTornDown(k, manager, err); reason != "" {
		return question{}, fmt.Errorf("no controller would deorbit Kluster %s/%s: %s. Nothing was changed", k.Namespace, k.Name, reason)
	}
	preview := intent(k) + "\n"
	if k.Detached() {
		preview = "It is detached: the Kluster is deleted, and nothing in its cluster or in OpenStack is touched.\n"
	}
	return question{preview, fmt.Sprintf("Delete Kluster %s/%s?", k.Namespace, k.Name)}, nil
}

// confirmDeletion deletes a Kluster, with the annotation that the API server requires, unless a user changed it meanwhile.
func (c *command) confirmDeletion(ctx context.Context, k *kubernikusv1.Kluster) error {
	err := change(ctx, c.client, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, gardenerv1beta1.AnnotationConfirmDeletion, "true") })
	if err != nil {
		return err
	}
	return c.client.Delete(ctx, k, client.Preconditions{UID: &k.UID})
}

// notTornDown returns why a Kluster would stay once it is deleted, "" when a controller takes it down. Where the caller may
// not read how the controller manager runs, or the manager runs outside of the cluster, the conditions of the Kluster are
// the evidence: only the controllers for Klusters write them.
func notTornDown(k *kubernikusv1.Kluster, manager uninstall.Manager, inspection error) string {
	runs, known, reason := manager.TearsDownKlusters()
	if inspection != nil {
		runs, known, reason = false, false, inspection.Error()
	}
	probed := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionOpenStackReachable) != nil
	switch {
	case runs, !known && probed:
		return ""
	case known:
		return reason
	default:
		return fmt.Sprintf("it was not probed by one yet, and it is unknown which controllers run (%s)", reason)
	}
}

// intent describes what a Deorbit of a Kluster removes and retains.
func intent(k *kubernikusv1.Kluster) string {
	d := k.Spec.Deorbit
	policyText := func(policy kubernikusv1.DeletionPolicy, what string) string {
		if policy == kubernikusv1.DeletionPolicyRetain {
			return "keeps  " + what
		}
		return "DELETES " + what
	}
	tag := "the tag of the Cinder CSI driver"
	if id := k.CSIClusterID(); id != "" {
		tag = "the tag " + id
	}
	unseen := "keeps  volumes with " + tag + " that no PersistentVolume of the cluster names"
	if d.UnseenVolumes == kubernikusv1.DeletionPolicyDelete {
		unseen = "DELETES volumes with " + tag + " that no PersistentVolume of the cluster names"
	}
	cluster := "with the --cluster-name that its cloud controller manager is seen to have"
	if name := k.ClusterName(); name != "" {
		cluster = fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("Deorbit of cluster %s:\n  %s\n  %s\n  %s\n  %s\n  %s\n  DELETES the routes of its pods",
		cluster, policyText(d.PersistentVolumes, "claims that Cinder backs, the pods that use them, and their volumes"),
		policyText(d.Snapshots, "volume snapshots"), policyText(d.LoadBalancers, "Services of type LoadBalancer, and their load balancers"),
		policyText(d.FloatingIPs, "floating IPs of these"), unseen)
}

// deorbitController is the name of the controller that tears down workload clusters.
const deorbitController = "kluster-deorbit"

// watchDeorbit shows the stages until the Kluster has been deleted.
func (c *command) watchDeorbit(ctx context.Context, k *kubernikusv1.Kluster) error {
	p := &progress{to: c.out}
	deleted := errors.New("gone")
	var last *kubernikusv1.Kluster
	err := follow(ctx, c.client, k, &kubernikusv1.KlusterList{}, func(now *kubernikusv1.Kluster) error {
		last = now
		p.show(stageLine(now, idle(func() (uninstall.Manager, error) { return c.published(ctx) }), c.clock.Now()))
		return nil
	}, p.lost, deleted)
	if err != nil && !errors.Is(err, deleted) {
		return err
	}
	c.out.print("Kluster %s/%s is %s\n", k.Namespace, k.Name, c.out.in(green, "deleted"))
	if last != nil && last.Status.Deorbit != nil {
		d := last.Status.Deorbit
		for _, f := range append(report.Objects(report.Warning, "left over", slices.Concat(d.Remaining, d.Undecided)),
			report.Objects(report.InProgress, "kept", d.Retained)...) {
			c.out.print("%s\n", c.line(f))
		}
	}
	return nil
}

// stageLine returns where a Deorbit is, and why it has not started: what holds it, or that no controller would start it.
func stageLine(k *kubernikusv1.Kluster, idle report.Idle, now time.Time) string {
	d, c := k.Status.Deorbit, meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	if d == nil || d.Stage == "" {
		line := "waiting for Deorbit to start"
		if c != nil {
			line += ": " + report.OneLine(report.DeorbitMessage(k, c))
		}
		if reason := idle(deorbitController); k.HasDeorbiter() && reason != "" {
			line += ": no controller starts it: " + reason
		}
		return line
	}
	stages := k.DeorbitStages()
	at := 0
	for i, stage := range stages {
		if stage == d.Stage {
			at = i
		}
	}
	line := fmt.Sprintf("%s  %-9s", bar(at, len(stages)), d.Stage)
	if c != nil {
		line += "  " + report.OneLine(report.DeorbitMessage(k, c))
	}
	if d.LastProgressAt != nil {
		line += "  (last progress " + report.Ago(d.LastProgressAt, now) + ")"
	}
	return line
}
