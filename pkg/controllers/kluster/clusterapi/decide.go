// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

type settings struct {
	namespaces   []string
	drainTimeout time.Duration
	// extension reports that the Runtime Extension retains the machines of Clusters with a topology.
	extension bool
}

func (s settings) selected(c *desired.Cluster) bool {
	switch c.Selection {
	case desired.Selected:
		return true
	case desired.Deselected:
		return false
	default:
		return slices.Contains(s.namespaces, c.Namespace)
	}
}

// extended reports whether the Runtime Extension is to retain the machines of a Cluster.
func (s settings) extended(c *desired.Cluster) bool { return s.extension && c.HasTopology }

// hooked reports whether hooks retain the machines of a Cluster: where the Runtime Extension does not, or Cluster API does not call it.
func (s settings) hooked(o observed) bool { return !s.extended(o.cluster) || o.unregistered }

// decide returns what follows from the objects of a name. Nothing follows from an object that cannot be read.
func decide(o observed, s settings, now time.Time) plan {
	p := planFor(o, s, now)
	p.prepare(o, s)
	return p
}

// planFor returns what follows for the Kluster, and for what keeps the objects of its Cluster.
func planFor(o observed, s settings, now time.Time) plan {
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
	case c.Deleting && o.dismantled && (own == nil && !isCompleted(c) || own != nil && own.DeletionTimestamp.IsZero()):
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
	case clusterid.IsReleased(k):
		return plan{finishes: isKept(k)}
	}
	p := plan{deletes: k.DeletionTimestamp.IsZero(), synced: condition(metav1.ConditionFalse, reasonDetached, "its Cluster was moved, removed or deselected: the Kluster is released, and nothing of the cluster is changed")}
	p.change(k, func(k *kubernikusv1.Kluster) {
		unpause(k)
		delete(k.Annotations, kubernikusv1.MachinesAnnotation)
		delete(k.Annotations, kubernikusv1.ControlPlaneAnnotation)
		k.Annotations[kubernikusv1.DetachAnnotation] = "true"
		k.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] = "true"
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
	if kit.IsPaused(k) || clusterid.IsReleased(k) {
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
	case clusterid.IsReleased(own):
		p.finishes = isKept(own)
	case !own.DeletionTimestamp.IsZero():
		p.synced = condition(metav1.ConditionFalse, reasonDeleting, "the Kluster is being deleted, and its Cluster is not: it is created again")
	default:
		p.synced = condition(metav1.ConditionTrue, desired.ReasonSynced, "the Kluster corresponds to its Cluster")
		p.change(own, func(k *kubernikusv1.Kluster) {
			unpause(k)
			delete(k.Annotations, kubernikusv1.MachinesAnnotation)
			delete(k.Annotations, kubernikusv1.ControlPlaneAnnotation)
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
		p.hook(m, s.hooked(o) && !m.Deleting && (retains || m.Held))
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
		p.hookAll(o, true)
		return p
	case clusterid.IsReleased(own):
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
		switch _, had := own.Annotations[kubernikusv1.MachinesAnnotation]; {
		case len(o.machines) > 0:
			k.Annotations[kubernikusv1.MachinesAnnotation] = kubernikusv1.MachinesPresent
		case had, o.cluster.OnOpenStack(): // elsewhere, nodes may be no Machines
			k.Annotations[kubernikusv1.MachinesAnnotation] = kubernikusv1.MachinesDeleted
		}
		// Its Machines have no status any more when they have been deleted: what they reported before counts.
		switch {
		case !o.cluster.NeverInitialized:
			delete(k.Annotations, kubernikusv1.ControlPlaneAnnotation)
		case o.unjoined:
			k.Annotations[kubernikusv1.ControlPlaneAnnotation] = kubernikusv1.ControlPlaneNeverInitialized
		}
		k.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] = "true" // who deletes a Cluster has decided about it
	})
	over, wait := drained(own, s.drainTimeout, now)
	p.again = wait
	p.synced = condition(metav1.ConditionTrue, desired.ReasonSynced, "the Kluster is deleted with its Cluster")
	reason, message := progress(own)
	p.complete(o, false, reason, message)
	p.hold(o, holds{finalizer: true, paused: true})
	p.hookAll(o, !over)
	return p
}

func unpause(k *kubernikusv1.Kluster) {
	if _, withCluster := k.Annotations[kubernikusv1.PausedWithClusterAnnotation]; withCluster {
		delete(k.Annotations, kit.AnnotationPaused)
		delete(k.Annotations, kubernikusv1.PausedWithClusterAnnotation)
	}
}
