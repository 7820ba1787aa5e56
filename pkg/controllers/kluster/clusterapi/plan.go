// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// plan is what to write, in the order of its fields. Each write leaves a state from which the next reconcile continues.
type plan struct {
	// create and update are the Kluster to create, or in its new state.
	create, update *kubernikusv1.Kluster
	// completed and prepared are conditions of the Cluster, of which it is never more than one: while it is deleted, and before.
	completed, prepared *desired.Condition
	// holds are what keeps the OpenStackCluster, and hooks the Machines whose hook is to be added (true) or removed.
	holds *holds
	hooks map[string]bool
	// deletes requests the deletion of the Kluster, and finishes removes the finalizer of this controller from it.
	deletes, finishes bool

	// synced is the condition of the Kluster; its reason is "" when there is nothing to report.
	synced metav1.Condition
	// rejection is why the Cluster has no Kluster, or would not be deorbited as configured.
	rejection desired.Rejection
	// again is when a reconcile is due that no event triggers; 0: none.
	again time.Duration
}

type holds struct{ finalizer, paused bool }

// writes reports whether a plan writes anything but the condition of the Kluster.
func (p *plan) writes() bool {
	return p.completed != nil || p.prepared != nil || p.create != nil || p.update != nil || p.holds != nil || len(p.hooks) > 0 || p.deletes || p.finishes
}

// change sets update if a function changes a Kluster.
func (p *plan) change(k *kubernikusv1.Kluster, change func(*kubernikusv1.Kluster)) {
	after := k.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	if change(after); !equality.Semantic.DeepEqual(k.ObjectMeta, after.ObjectMeta) || !equality.Semantic.DeepEqual(k.Spec, after.Spec) {
		p.update = after
	}
}

// complete sets the condition of the Cluster, if it differs.
func (p *plan) complete(o observed, completed bool, reason, message string) {
	status := metav1.ConditionFalse
	if completed {
		status = metav1.ConditionTrue
	}
	wanted := conditionOf(desired.ConditionCompleted, status, reason, message)
	if o.cluster.Completed == nil || *o.cluster.Completed != wanted {
		p.completed = &wanted
	}
}

// prepare sets the condition that reports why a Cluster would not be deorbited, or only in OpenStack. One that never had a reason gets none.
func (p *plan) prepare(o observed, s settings) {
	c, k := o.cluster, o.kluster
	if c == nil || c.Invalid != nil || c.Deleting || c.Moved || c.Paused {
		return
	}
	if p.rejection.Reason == "" && o.unregistered {
		p.rejection = desired.Rejection{Reason: reasonHookMissing, Message: "clusterAPI.runtimeExtension is true, and Cluster API has discovered " +
			"no ExtensionConfig with the handler of Groundskeeper, so that only hooks of the Machines retain the Cluster when it is deleted: " +
			"apply artifacts/capi/runtime-extension, and see the condition Discovered of the ExtensionConfig"}
	}
	if p.rejection.Reason == "" && s.selected(c) && !c.OnOpenStack() && c.Initialized && len(o.machines) == 0 && s.hooked(o) {
		p.rejection = desired.Rejection{Reason: reasonNoMachines, Message: "the cluster runs and has no Machines, so that no hook retains it when " +
			"the Cluster is deleted: use a ClusterClass and clusterAPI.runtimeExtension, or delete the Kluster, and wait, before the Cluster"}
	}
	status, reason, message := metav1.ConditionFalse, p.rejection.Reason, p.rejection.Message
	switch {
	case reason != "":
	case !s.selected(c):
		reason, message = reasonNotSelected, "the Cluster is not selected"
	case k != nil && isKubeconfigMissing(k):
		reason = reasonNoKubeconfig
		message = "Kluster " + k.Name + " exists, and the kubeconfig of its cluster does not: until it does, only OpenStack can be checked"
		if !c.NeverInitialized { // before, there is none yet: that is no event
			p.rejection = desired.Rejection{Reason: reason, Message: message}
		}
	default:
		status, reason, message = metav1.ConditionTrue, reasonPrepared, "Kluster "+c.Name+" is deorbited when the Cluster is deleted"
	}
	wanted := conditionOf(desired.ConditionPrepared, status, reason, message)
	switch {
	case c.Prepared == nil && (reason == reasonNotSelected || reason == reasonPrepared):
	case c.Prepared == nil, *c.Prepared != wanted:
		p.prepared = &wanted
	}
}

func isKubeconfigMissing(k *kubernikusv1.Kluster) bool {
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionAPIServerReachable)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == kluster.ReasonSecretMissing
}

// hold sets what keeps the OpenStackCluster of the Cluster, if that differs. An object that is being deleted takes no finalizer, and the
// pause of a user stays.
func (p *plan) hold(o observed, wanted holds) {
	i := o.infrastructure
	if i == nil || i.ClusterUID != o.cluster.UID {
		return
	}
	is := holds{finalizer: i.Finalized, paused: i.PausedForDeorbit}
	if wanted.finalizer && i.Deleting {
		wanted.finalizer = is.finalizer
	}
	if wanted.paused && i.Paused {
		wanted.paused = is.paused
	}
	if wanted != is {
		p.holds = &wanted
	}
}

func (p *plan) hook(m *desired.Machine, wanted bool) {
	if m.Held != wanted {
		if p.hooks == nil {
			p.hooks = map[string]bool{}
		}
		p.hooks[m.Name] = wanted
	}
}

// hookAll adds or removes the hooks of all Machines. While a Cluster is being deleted, that is also for one that the Runtime Extension
// retains: Cluster API passes its hook, for good, as soon as no ExtensionConfig registers it.
func (p *plan) hookAll(o observed, wanted bool) {
	for _, m := range o.machines {
		p.hook(m, wanted)
	}
}

// release removes everything that keeps the objects of a Cluster.
func (p *plan) release(o observed) {
	p.hold(o, holds{})
	p.hookAll(o, false)
}
