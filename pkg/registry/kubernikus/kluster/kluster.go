// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kluster stores Klusters.
package kluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/kubernikus/validation"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// Kind describes Klusters to the registry.
func Kind() registry.Kind[*kubernikusv1.Kluster] {
	return registry.Kind[*kubernikusv1.Kluster]{
		GroupVersion:  kubernikusv1.SchemeGroupVersion,
		Resource:      "klusters",
		Singular:      "kluster",
		ShortNames:    []string{"kl"},
		Categories:    []string{"all", "groundskeeper"},
		Namespaced:    true,
		Finalizer:     kubernikusv1.DeorbiterFinalizer,
		AllOrNone:     true,
		DesiredFields: []string{"spec"},
		New:           func() *kubernikusv1.Kluster { return &kubernikusv1.Kluster{} },
		NewList:       func() runtime.Object { return &kubernikusv1.KlusterList{} },
		Desired:       func(k *kubernikusv1.Kluster) any { return &k.Spec },
		CopyStatus:    func(to, from *kubernikusv1.Kluster) { to.Status = from.Status },
		Assign:        func(to, from *kubernikusv1.Kluster) { *to = *from },
		Summarize:     conditions.SetKluster,
		Normalize:     kubernikusv1.NormalizeKluster,
		SelectableFields: func(k *kubernikusv1.Kluster) fields.Set {
			return fields.Set{kubernikusv1.KlusterPhaseField: string(k.Status.Phase), kubernikusv1.KlusterClusterField: k.ClusterID()}
		},
		IndexedFields: []string{kubernikusv1.KlusterClusterField},
		Columns: []registry.Column[*kubernikusv1.Kluster]{
			{Name: "Ready", Type: "string", Description: "Whether the object is as its spec requires.", Cell: func(k *kubernikusv1.Kluster) any { return registry.Condition(k.Status.Conditions, conditions.Ready) }},
			{Name: "Version", Type: "string", Description: "The desired version of Kubernetes.", Cell: func(k *kubernikusv1.Kluster) any { return k.Spec.Version }},
			{Name: "Phase", Type: "string", Description: "Pending, Creating, Running, Upgrading or Terminating.", Cell: func(k *kubernikusv1.Kluster) any { return string(k.Status.Phase) }},
			{Name: "Reachable", Type: "string", Description: "Whether the API server of the cluster and OpenStack respond.", Cell: reachable},
			{Name: "Routes Clean", Type: "string", Description: "Whether the router has no routes to nodes that do not exist.", Cell: func(k *kubernikusv1.Kluster) any {
				return registry.Condition(k.Status.Conditions, kubernikusv1.ConditionRoutesClean)
			}},
			{Name: "Stage", Type: "string", Description: "The current stage of Deorbit.", Cell: stage},
			{Name: "Leftovers", Type: "integer", Description: "Number of objects that Deorbit still has to delete.", Cell: leftovers},
			{Name: "Retained", Type: "integer", Description: "Number of objects that Deorbit retains intentionally.", Wide: true, Cell: retained},
			{Name: "Pods", Type: "string", Description: "The address range of the pods.", Wide: true, Cell: podRange},
			{Name: "Router", Type: "string", Description: "The router with the routes of the pods.", Wide: true, Cell: func(k *kubernikusv1.Kluster) any { return k.RouterID() }},
		},
		PrepareForCreate:     kubernikusv1.DefaultNames,
		PrepareForUpdate:     prepareForUpdate,
		Validate:             validation.ValidateKluster,
		ValidateUpdate:       validation.ValidateKlusterUpdate,
		ValidateStatusUpdate: validation.ValidateKlusterStatusUpdate,
	}
}

// reachable is True when all that was probed responds, False when something does not, "" before anything was probed. A Kluster
// without a cloud has no condition about OpenStack.
func reachable(k *kubernikusv1.Kluster) any {
	worst := ""
	for _, name := range []string{kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable} {
		condition := meta.FindStatusCondition(k.Status.Conditions, name)
		switch {
		case condition == nil:
		case condition.Status == metav1.ConditionFalse:
			return string(metav1.ConditionFalse)
		case condition.Status == metav1.ConditionUnknown, worst == "":
			worst = string(condition.Status)
		}
	}
	return worst
}

func stage(k *kubernikusv1.Kluster) any {
	if k.Status.Deorbit == nil {
		return ""
	}
	return string(k.Status.Deorbit.Stage)
}

// leftovers counts nothing before Deorbit has begun: 0 would report that it has nothing to do.
func leftovers(k *kubernikusv1.Kluster) any {
	if !deorbits(k) {
		return nil
	}
	return int64(len(k.Status.Deorbit.Remaining) + len(k.Status.Deorbit.Undecided))
}

func retained(k *kubernikusv1.Kluster) any {
	if !deorbits(k) {
		return nil
	}
	return int64(len(k.Status.Deorbit.Retained))
}

// deorbits reports whether Deorbit has begun. What was seen in a cluster may be in the status before.
func deorbits(k *kubernikusv1.Kluster) bool {
	return k.Status.Deorbit != nil && (k.Status.Deorbit.StartedAt != nil || k.Status.Deorbit.Stage != "")
}

func podRange(k *kubernikusv1.Kluster) any {
	if k.Spec.ClusterCIDR == nil {
		return ""
	}
	return *k.Spec.ClusterCIDR
}

// prepareForUpdate keeps the names that followed from the metadata at creation.
func prepareForUpdate(k, old *kubernikusv1.Kluster) {
	kubernikusv1.CarryOverNames(k, old)
	kubernikusv1.DefaultNames(k)
}
