// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reasons of the conditions, besides those of package desired and the stages of Deorbit.
const (
	reasonPaused       = "Paused"
	reasonNameTaken    = "NameTaken"
	reasonDetached     = "Detached"
	reasonDeleting     = "Deleting"
	reasonDeorbited    = "Deorbited"
	reasonNotDeorbited = "NotDeorbited"
	reasonDismantled   = "ClustersDismantled"
	reasonProtected    = "TerminationProtected"
	reasonRejected     = "KlusterRejected"
)

// settings are what the configuration specifies.
type settings struct {
	namespaces   []string
	drainTimeout time.Duration
	// extension reports that the Runtime Extension retains the machines of Clusters with a topology.
	extension bool
}

// observed are the objects of one name.
type observed struct {
	// cluster, infrastructure and kluster are nil when they do not exist.
	cluster        *desired.Cluster
	infrastructure *desired.Infrastructure
	machines       []*desired.Machine
	kluster        *kubernikusv1.Kluster
	names          desired.Names
	// dismantled reports that the CustomResourceDefinition of Clusters is being deleted, which deletes every Cluster.
	dismantled bool
}

// plan is what to write, in the order of its fields. Each write leaves a state from which the next reconcile continues.
type plan struct {
	// create and update are the Kluster to create, or in its new state.
	create, update *kubernikusv1.Kluster
	// completed is the condition of the Cluster.
	completed *desired.Condition
	// holds are what keeps the OpenStackCluster, and hooks the Machines whose hook is to be added (true) or removed.
	holds *holds
	hooks map[string]bool
	// deletes requests the deletion of the Kluster, and finishes removes the finalizer of this controller from it.
	deletes, finishes bool

	// synced is the condition of the Kluster; its reason is "" when there is nothing to report.
	synced metav1.Condition
	// rejection is why the Cluster has no Kluster.
	rejection desired.Rejection
	// again is when a reconcile is due that no event triggers; 0: none.
	again time.Duration
}

// holds are what keeps an OpenStackCluster.
type holds struct{ finalizer, paused bool }

// writes reports whether a plan writes anything but the condition of the Kluster.
func (p *plan) writes() bool {
	return p.completed != nil || p.create != nil || p.update != nil || p.holds != nil || len(p.hooks) > 0 || p.deletes || p.finishes
}

// selected reports whether a Cluster is to have a Kluster.
func (s settings) selected(c *desired.Cluster) bool {
	infrastructure := c.Infrastructure
	if infrastructure.Kind != "" && (infrastructure.Kind != desired.KindOpenStackCluster || infrastructure.Group != desired.InfrastructureGroup) {
		return false
	}
	switch c.Selection {
	case desired.Selected:
		return true
	case desired.Deselected:
		return false
	default:
		return slices.Contains(s.namespaces, c.Namespace)
	}
}

// hooked reports whether hooks retain the machines of a Cluster.
func (s settings) hooked(c *desired.Cluster) bool { return !s.extension || !c.HasTopology }

// decide returns what follows from the objects of a name. Nothing follows from an object that cannot be read.
func decide(o observed, s settings, now time.Time) plan {
	own := o.kluster
	if own != nil && desired.UIDOf(own) == "" {
		own = nil
	}
	switch c := o.cluster; {
	case c != nil && c.Invalid != nil:
		return plan{rejection: desired.Rejection{Reason: desired.ReasonUnreadable, Message: c.Invalid.Error()}}
	case o.infrastructure != nil && o.infrastructure.Invalid != nil:
		return plan{rejection: desired.Rejection{Reason: desired.ReasonUnreadable, Message: o.infrastructure.Invalid.Error()}}
	case c == nil, own != nil && desired.UIDOf(own) != c.UID, c.Moved:
		// Its Cluster was moved, or removed by force, or is another one of the same name: nothing of it may be deleted.
		return detach(own)
	case !s.selected(c):
		p := detach(own)
		p.release(o)
		return p
	case c.Paused:
		return pause(own)
	case own == nil && o.kluster != nil:
		p := plan{rejection: desired.Rejection{Reason: reasonNameTaken, Message: "a Kluster of this name exists that was not created for the Cluster: delete or detach it"}}
		if c.Deleting {
			p.complete(o, true, reasonNotDeorbited, p.rejection.Message)
		}
		p.release(o)
		return p
	case c.Deleting && o.dismantled && !isCompleted(c) && (own == nil || own.DeletionTimestamp.IsZero()):
		return dismantled()
	case c.Deleting:
		return teardown(o, own, s, now)
	default:
		return maintain(o, own, s)
	}
}

// detach releases a Kluster, and leaves everything of its cluster unchanged.
func detach(k *kubernikusv1.Kluster) plan {
	switch {
	case k == nil:
		return plan{}
	case isReleased(k):
		return plan{finishes: isKept(k)}
	}
	p := plan{deletes: k.DeletionTimestamp.IsZero(), synced: condition(metav1.ConditionFalse, reasonDetached, "its Cluster was moved, removed or deselected: the Kluster is released, and nothing of the cluster is changed")}
	p.change(k, func(k *kubernikusv1.Kluster) {
		unpause(k)
		delete(k.Annotations, kubernikusv1.MachinesAnnotation)
		k.Annotations[kubernikusv1.DetachAnnotation] = "true"
		confirm(k)
	})
	return p
}

// dismantled does nothing about a Cluster that is deleted with all others, because Cluster API is uninstalled: that is no decision about
// what is in its cluster, and admission did not see it. Its hooks and holds stay.
func dismantled() plan {
	message := "the CustomResourceDefinition of Clusters is being deleted, and all Clusters with it: nothing is deorbited"
	return plan{
		rejection: desired.Rejection{Reason: reasonDismantled, Message: message},
		synced:    condition(metav1.ConditionFalse, reasonDismantled, message),
	}
}

// pause pauses the Kluster of a Cluster that is paused, unless a user has paused it.
func pause(k *kubernikusv1.Kluster) plan {
	if k == nil {
		return plan{}
	}
	p := plan{synced: condition(metav1.ConditionUnknown, reasonPaused, "the Cluster is paused")}
	if kit.IsPaused(k) || isReleased(k) {
		return p
	}
	p.change(k, func(k *kubernikusv1.Kluster) {
		k.Annotations[kit.AnnotationPaused], k.Annotations[kubernikusv1.PausedWithClusterAnnotation] = "true", "true"
	})
	return p
}

// maintain keeps the Kluster of a Cluster that is not being deleted.
func maintain(o observed, own *kubernikusv1.Kluster, s settings) plan {
	source := desired.Source{Cluster: o.cluster, Infrastructure: o.infrastructure, Names: o.names}
	rejection := source.Reject()
	p := plan{rejection: rejection}
	switch {
	case own == nil && rejection.Reason != "":
		p.release(o)
		return p
	case own == nil:
		p.create = source.New()
	case isReleased(own):
		p.finishes = isKept(own)
	case !own.DeletionTimestamp.IsZero():
		p.synced = condition(metav1.ConditionFalse, reasonDeleting, "the Kluster is being deleted, and its Cluster is not: it is created again")
	default:
		p.synced = condition(metav1.ConditionTrue, desired.ReasonSynced, "the Kluster corresponds to its Cluster")
		p.change(own, func(k *kubernikusv1.Kluster) {
			unpause(k)
			delete(k.Annotations, kubernikusv1.MachinesAnnotation)
			if rejection.Reason != "" {
				p.synced = condition(metav1.ConditionFalse, rejection.Reason, rejection.Message)
				return
			}
			if fields := source.Update(k); len(fields) > 0 {
				p.synced = condition(metav1.ConditionFalse, desired.ReasonImmutable,
					"the Cluster has other values than these fields of the Kluster, which cannot be changed: "+strings.Join(fields, ", "))
			}
		})
	}
	retains := own == nil || own.DeletionTimestamp.IsZero()
	if retains {
		p.hold(o, holds{finalizer: true})
	}
	for _, m := range o.machines {
		p.hook(m, s.hooked(o.cluster) && !m.Deleting && (retains || m.Held))
	}
	return p
}

// teardown deorbits the Kluster of a Cluster that is being deleted, in two phases: the hooks retain the machines in the first one, and
// the holds the infrastructure until the second one is over.
func teardown(o observed, own *kubernikusv1.Kluster, s settings, now time.Time) plan {
	source := desired.Source{Cluster: o.cluster, Infrastructure: o.infrastructure, Names: o.names}
	rejection := source.Reject()
	p := plan{}
	switch {
	case own == nil && isCompleted(o.cluster):
		p.release(o)
		return p
	case own == nil && rejection.Reason != "":
		p.rejection = rejection
		p.complete(o, true, reasonNotDeorbited, "there is no Kluster: "+rejection.Message)
		p.release(o)
		return p
	case own == nil:
		p.create = source.New()
		p.hold(o, holds{finalizer: true, paused: true})
		p.hookAll(o, s.hooked(o.cluster))
		return p
	case isReleased(own):
		reason, message, known := outcome(own)
		if !known {
			return p // its condition follows, and everything is kept until then
		}
		p.complete(o, true, reason, message)
		p.release(o)
		p.finishes = isKept(own)
		return p
	}
	p.deletes = own.DeletionTimestamp.IsZero()
	p.change(own, func(k *kubernikusv1.Kluster) {
		unpause(k)
		if p.deletes && rejection.Reason == "" {
			source.Update(k)
		}
		k.Annotations[kubernikusv1.MachinesAnnotation] = kubernikusv1.MachinesPresent
		if len(o.machines) == 0 {
			k.Annotations[kubernikusv1.MachinesAnnotation] = kubernikusv1.MachinesDeleted
		}
		confirm(k)
	})
	over, wait := drained(own, s.drainTimeout, now)
	p.again = wait
	p.synced = condition(metav1.ConditionTrue, desired.ReasonSynced, "the Kluster is deleted with its Cluster")
	reason, message := progress(own)
	p.complete(o, false, reason, message)
	p.hold(o, holds{finalizer: true, paused: true})
	p.hookAll(o, !over && s.hooked(o.cluster))
	return p
}

// drained reports whether the first phase is over: the machines of the cluster are not needed any more, or have been retained for long
// enough. Otherwise it returns the time until then, 0 if nothing limits it.
func drained(k *kubernikusv1.Kluster, timeout time.Duration, now time.Time) (over bool, wait time.Duration) {
	if isReleased(k) {
		return true, 0
	}
	d := k.Status.Deorbit
	if d != nil {
		switch d.Stage {
		case kubernikusv1.DeorbitMachines, kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes, kubernikusv1.DeorbitRelease:
			return true, 0
		}
	}
	if k.DeletionTimestamp.IsZero() || kit.IsPaused(k) || k.TerminationProtected() {
		return false, 0
	}
	began := k.DeletionTimestamp
	if d != nil && d.StartedAt != nil {
		began = d.StartedAt
	}
	wait = began.Add(timeout).Sub(now)
	return wait <= 0, max(wait, 0)
}

// isCompleted reports whether the Deorbit of a Cluster is over.
func isCompleted(c *desired.Cluster) bool {
	return c.Completed != nil && c.Completed.Status == string(metav1.ConditionTrue)
}

// isReleased reports whether Deorbit is over, and only other finalizers keep a Kluster.
func isReleased(k *kubernikusv1.Kluster) bool {
	return !k.DeletionTimestamp.IsZero() && !k.HasDeorbiter()
}

// isKept reports whether the finalizer of this controller keeps a Kluster.
func isKept(k *kubernikusv1.Kluster) bool {
	return slices.Contains(k.Finalizers, kubernikusv1.ClusterAPIFinalizer)
}

// progress returns how far the Deorbit of a Kluster is, as the condition of its Cluster reports it.
func progress(k *kubernikusv1.Kluster) (reason, message string) {
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	if k.DeletionTimestamp.IsZero() && k.TerminationProtected() {
		return reasonProtected, "annotation " + kubernikusv1.TerminationProtectionAnnotation + " protects the Kluster: remove it there to delete the cluster"
	}
	if k.DeletionTimestamp.IsZero() || c == nil {
		return reasonDeleting, "the deletion of the Kluster is requested"
	}
	return c.Reason, c.Message
}

// outcome returns how the Deorbit of a Kluster ended. It is not known between the removal of the finalizer and the condition that lists
// what is left.
func outcome(k *kubernikusv1.Kluster) (reason, message string, known bool) {
	if k.Detached() {
		return reasonDetached, "the Kluster was detached: nothing of the cluster was deleted", true
	}
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	switch {
	case c != nil && c.Status == metav1.ConditionTrue:
		return c.Reason, c.Message, true
	case k.Status.Deorbit == nil:
		return reasonNotDeorbited, "the finalizer of the Kluster was removed before Deorbit began: what is left is not known", true
	default:
		return "", "", false
	}
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kubernikusv1.ConditionClusterAPI, Status: status, Reason: reason, Message: message}
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

// unpause resumes a Kluster that was paused with its Cluster.
func unpause(k *kubernikusv1.Kluster) {
	if _, withCluster := k.Annotations[kubernikusv1.PausedWithClusterAnnotation]; withCluster {
		delete(k.Annotations, kit.AnnotationPaused)
		delete(k.Annotations, kubernikusv1.PausedWithClusterAnnotation)
	}
}

// confirm confirms the deletion of a Kluster, unless a user did: who deletes a Cluster has decided about it.
func confirm(k *kubernikusv1.Kluster) {
	if k.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" {
		k.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] = "true"
	}
}

// complete sets the condition of the Cluster, if it differs.
func (p *plan) complete(o observed, completed bool, reason, message string) {
	status := metav1.ConditionFalse
	if completed {
		status = metav1.ConditionTrue
	}
	wanted := desired.Condition{Type: desired.ConditionCompleted, Status: string(status), Reason: reason, Message: kit.Bounded(message, kit.MaxEventMessage)}
	if o.cluster.Completed == nil || *o.cluster.Completed != wanted {
		p.completed = &wanted
	}
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

// hook sets whether a Machine has the hook, if that differs.
func (p *plan) hook(m *desired.Machine, wanted bool) {
	if m.Held != wanted {
		if p.hooks == nil {
			p.hooks = map[string]bool{}
		}
		p.hooks[m.Name] = wanted
	}
}

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

// hooked returns the names of the Machines in hooks, in their order.
func (p *plan) hooked() []string { return slices.Sorted(maps.Keys(p.hooks)) }
