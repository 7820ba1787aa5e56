// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOutage checks which Nodes that exist count as lost, and since when.
func TestOutage(t *testing.T) {
	tainted := func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService}} }
	ready := func(status corev1.ConditionStatus, changed time.Duration) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionUnknown},
				{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(noon.Add(changed))}}
		}
	}
	reimaged := func(node *corev1.Node) { node.UID = "other" }
	node := func(changes ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "one"}}
		for _, change := range changes {
			change(n)
		}
		return n
	}
	both := outageRules{tainted: true, unready: time.Minute}
	before := func(o *corev1.Node) *outage { return &outage{node: o, since: noon.Add(-time.Minute)} }
	unknown, notReady := ready(corev1.ConditionUnknown, 0), ready(corev1.ConditionFalse, 0)
	for name, test := range map[string]struct {
		rules  outageRules
		before *outage
		now    metav1.Object
		// since is how long the outage lasts; negative: there is none.
		since time.Duration
		lost  bool
	}{
		"it works":                            {both, nil, node(ready(corev1.ConditionTrue, 0)), -1, false},
		"it works again":                      {both, before(node(unknown)), node(ready(corev1.ConditionTrue, 0)), -1, false},
		"it never reported anything":          {both, before(node()), node(), -1, false},
		"metadata alone":                      {both, before(node(unknown)), &metav1.PartialObjectMetadata{}, -1, false},
		"out of service":                      {both, nil, node(tainted), 0, true},
		"out of service, not enabled":         {outageRules{unready: time.Minute}, nil, node(tainted), -1, false},
		"another taint":                       {both, nil, node(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable}} }), -1, false},
		"unknown since now":                   {both, nil, node(unknown), 0, false},
		"unknown for the delay":               {both, before(node(unknown)), node(unknown), time.Minute, true},
		"not ready for the delay":             {both, before(node(notReady)), node(notReady), time.Minute, true},
		"unknown, not enabled":                {outageRules{tainted: true}, before(node(unknown)), node(unknown), -1, false},
		"unknown for less than the delay":     {outageRules{unready: time.Hour}, before(node(unknown)), node(unknown), time.Minute, false},
		"it was ready in between":             {both, before(node(unknown)), node(ready(corev1.ConditionUnknown, time.Second)), 0, false},
		"another node of that name":           {both, before(node(unknown)), node(unknown, reimaged), 0, false},
		"the taint is gone, still unknown":    {both, before(node(unknown, tainted)), node(unknown), time.Minute, true},
		"the taint is gone, unknown meanwile": {both, before(node(tainted)), node(unknown), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.rules.after(test.before, test.now, noon)
			if test.since < 0 {
				if got != nil {
					t.Errorf("the outage is %+v, want none", got)
				}
				return
			}
			if got == nil || noon.Sub(got.since) != test.since || got.lost != test.lost {
				t.Errorf("the outage is %+v, want one since %s, lost %t", got, test.since, test.lost)
			}
		})
	}
}
