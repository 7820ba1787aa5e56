// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/docs"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// Why returns the findings about an object with their details. A detail explains the state, and is at most as important.
func Why(object client.Object, idle Idle, now time.Time) []Finding {
	return explain(object, Of(object, idle, now))
}

// explain adds details to findings.
func explain(object client.Object, all []Finding) []Finding {
	worst := Info
	if !OK(all) {
		worst = Worst(all)
	}
	for _, f := range Details(object) {
		if f.Level.Rank() > worst.Rank() {
			f.Level = worst
		}
		all = append(all, f)
	}
	return all
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

// Details returns what the findings of a list leave out: the conditions that are not True, what remains of a deletion, and who keeps an
// object that is being deleted.
func Details(object client.Object) (all []Finding) {
	switch o := object.(type) {
	case *kubernikusv1.Kluster:
		all = append(untrue(o, o.Status.Conditions, kubernikusv1.ConditionDeorbited), remedies(o)...)
		if d := o.Status.Deorbit; d != nil {
			all = append(all, Objects(Warning, "remains", d.Remaining)...)
			all = append(all, Objects(Warning, "is left over, and nothing requests to keep it", d.Undecided)...)
			all = append(all, Objects(InProgress, "is kept as configured", d.Retained)...)
		}
	case *gimbalv1.DiscoveryBackend:
		all = untrue(o, o.Status.Conditions, gimbalv1.ConditionDrained, gimbalv1.ConditionAutomaticMaintenance)
		for _, e := range o.Status.Errors {
			all = append(all, Found(Warning, "%s: %s", e.Type, e.Message))
		}
	case *midonetv1.Translation:
		for _, r := range o.Status.Resources {
			if r.State == midonetv1.BackendResourceFailed || r.State == midonetv1.BackendResourceDrifted ||
				r.State == midonetv1.BackendResourceNotApplicable {
				name := strings.TrimSpace(r.Kind + " " + r.ID)
				if r.Kind == "HostInterfacePort" {
					name += " of host " + r.Parent
				}
				all = append(all, Found(Warning, "resource %s is %s: %s", name, r.State, r.Message))
			}
		}
	}
	return append(all, kept(object)...)
}

// kept returns which finalizers keep an object that is being deleted, and who removes them.
func kept(object client.Object) (all []Finding) {
	if object.GetDeletionTimestamp() == nil {
		return nil
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
		all = append(all, Found(InProgress, "is blocked by the finalizer %s: %s", name, who))
	}
	return all
}

// untrue returns the conditions that are False or conflict, except those of some types, and the one that the state of the object repeats.
func untrue(object client.Object, list []metav1.Condition, except ...string) (all []Finding) {
	s, _ := conditions.Of(object)
	for i := range list {
		c := &list[i]
		if conditions.IsSummary(c.Type) || slices.Contains(except, c.Type) || c.Reason == s.Reason && c.Message == s.Message ||
			c.Status != metav1.ConditionFalse && c.Reason != kubernikusv1.ReasonCIDRConflict {
			continue
		}
		all = append(all, Found(Info, "%s: %s: %s", c.Type, c.Reason, c.Message))
	}
	return all
}

// remedies returns what a user does about the Deorbit of a Kluster: about the reason of its condition, and about each kind of reason for
// which objects remain, once. The texts are those of docs/deorbit.md.
func remedies(k *kubernikusv1.Kluster) (all []Finding) {
	if k.DeletionTimestamp.IsZero() {
		return nil
	}
	add := func(reason, remedy string) {
		if remedy != "" {
			all = append(all, Found(InProgress, "about %q: %s", reason, commandsOf(k, remedy)))
		}
	}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited); c != nil {
		add(c.Reason, docs.DeorbitRemedy(c.Reason))
	}
	if d := k.Status.Deorbit; d != nil {
		var explained []string
		for _, o := range slices.Concat(d.Remaining, d.Undecided) {
			if pattern, remedy := docs.LeftoverRemedy(o.Reason); !slices.Contains(explained, pattern) {
				explained = append(explained, pattern)
				add(pattern, remedy)
			}
		}
	}
	return all
}

// commandsOf returns a text whose commands are those for a Kluster.
func commandsOf(k *kubernikusv1.Kluster, text string) string {
	return strings.ReplaceAll(text, "deorbit NAME", "deorbit "+k.Name+" -n "+k.Namespace)
}

// Objects returns findings about objects of a Deorbit.
func Objects(level Level, what string, list []kubernikusv1.DeorbitObject) (all []Finding) {
	for _, o := range list {
		text := o.Kind
		if o.Name != "" {
			text += " " + Name(o.Namespace, o.Name)
		}
		if o.ID != "" {
			text += fmt.Sprintf(" (%s)", o.ID)
		}
		all = append(all, Found(level, "%s: %s: %s", what, text, o.Reason))
	}
	return all
}
