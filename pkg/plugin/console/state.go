// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// Condition is a condition of any kind.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

func conditionsOf(object client.Object) (all []Condition) {
	var standard []metav1.Condition
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		for _, c := range o.Status.Conditions {
			all = append(all, Condition{string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime.Time})
		}
	case *kubernikusv1.Kluster:
		standard = o.Status.Conditions
	case *gimbalv1.DiscoveryBackend:
		standard = o.Status.Conditions
	case *midonetv1.Translation:
		standard = o.Status.Conditions
	}
	for _, c := range standard {
		all = append(all, Condition{c.Type, string(c.Status), c.Reason, c.Message, c.LastTransitionTime.Time})
	}
	return all
}

// changedAt is when an object changed its state last: when its deletion was requested, or the newest transition of a condition, or
// its creation. Summaries are left out, because they repeat the other conditions.
func changedAt(object client.Object) time.Time {
	last := object.GetCreationTimestamp().Time
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, c := range conditionsOf(object) {
		if !conditions.IsSummary(c.Type) {
			later(c.Since)
		}
	}
	if t := object.GetDeletionTimestamp(); t != nil {
		later(t.Time)
	}
	if p, ok := object.(*gardenerv1beta1.Project); ok && p.Status.StaleSinceTimestamp != nil {
		later(p.Status.StaleSinceTimestamp.Time)
	}
	return last
}

// stateOf returns the state of an object in a word or two.
func stateOf(object client.Object) string {
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		return string(o.Status.Phase)
	case *kubernikusv1.Kluster:
		return string(o.Status.Phase)
	case *gimbalv1.DiscoveryBackend:
		if r := o.Status.Routes; r != nil {
			return fmt.Sprintf("%s, %s", o.Cluster.ClusterStatus, counted(int(r.Matching), "route"))
		}
		return string(o.Cluster.ClusterStatus)
	case *midonetv1.Translation:
		return counted(len(o.Status.Resources), "resource")
	}
	return ""
}

// counted returns a number of things in words.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
